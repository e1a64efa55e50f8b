// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <vector>

#include "stipple/backend/backend.h"
#include "stipple/photo/photo_cache.h"

namespace stipple {

// Photos on the device, as the loss wants them. Those that fit into a budget of bytes stay there, first come,
// first served; the others are uploaded each time they are asked for.
class TargetCache {
 public:
  struct Target {
    LossTarget pixels;
    float mean_weight = 1;  // of the pixels
  };

  // Both must outlive it.
  TargetCache(Backend& backend, PhotoCache& photos, std::size_t view_count, std::size_t max_bytes)
      : backend_(backend), photos_(photos), kept_(view_count), max_bytes_(max_bytes) {}

  // The photos are asked only for what is not kept.
  std::shared_ptr<const Target> get(std::size_t view);
  bool keeps(std::size_t view) const { return kept_[view] != nullptr; }

  // Gives the memory back, for good. False when there was none.
  bool release();

 private:
  void upload(const Photo& photo, Target& to);

  Backend& backend_;
  PhotoCache& photos_;
  std::shared_ptr<Target> spare();  // one that nobody uses

  std::vector<std::shared_ptr<const Target>> kept_;  // by view
  std::vector<std::shared_ptr<Target>> spares_;      // as many as were ever used at once
  std::size_t max_bytes_;
  std::size_t kept_bytes_ = 0;
};

// What a photo takes on the device.
std::size_t target_bytes(std::size_t pixel_count, bool has_weights);

}  // namespace stipple
