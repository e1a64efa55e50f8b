// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <vector>

#include "stipple/backend/backend.h"
#include "stipple/photo/photo_cache.h"

namespace stipple {

// Photos on the device, in the format of the loss. Photos stay there, first come, first served, until a
// budget is used up; the others are uploaded every time they are needed.
class TargetCache {
 public:
  struct Target {
    LossTarget pixels;
    float mean_weight = 1;  // over all pixels
  };

  // The backend and the photos must outlive the cache.
  TargetCache(Backend& backend, PhotoCache& photos, std::size_t view_count, std::size_t max_bytes)
      : backend_(backend), photos_(photos), kept_(view_count), max_bytes_(max_bytes) {}

  // Loads the photo only if it is not kept on the device.
  std::shared_ptr<const Target> get(std::size_t view);
  bool keeps(std::size_t view) const { return kept_[view] != nullptr; }

  // Releases the kept photos and keeps none from now on. Returns false if there were none.
  bool release();

 private:
  void upload(const Photo& photo, Target& to);
  std::shared_ptr<Target> spare();  // a target that is not in use

  Backend& backend_;
  PhotoCache& photos_;

  std::vector<std::shared_ptr<const Target>> kept_;  // by view
  std::vector<std::shared_ptr<Target>> spares_;      // for photos that are not kept; reused
  std::size_t max_bytes_;
  std::size_t kept_bytes_ = 0;
};

// The size of a photo on the device, in bytes.
std::size_t target_bytes(std::size_t pixel_count, bool has_weights, bool has_alpha);

}  // namespace stipple
