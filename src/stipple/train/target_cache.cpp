// SPDX-License-Identifier: Apache-2.0
#include "stipple/train/target_cache.h"

#include <algorithm>
#include <numeric>

namespace stipple {

std::size_t target_bytes(std::size_t pixel_count, bool has_weights, bool has_alpha) {
  return pixel_count * (3 + (has_weights ? sizeof(float) : 0) + (has_alpha ? 1 : 0));
}

std::shared_ptr<const TargetCache::Target> TargetCache::get(std::size_t view) {
  if (keeps(view)) return kept_[view];
  const std::shared_ptr<const Photo> photo = photos_.get(view);
  const std::size_t bytes =
      target_bytes(photo->rgb.size() / 3, !photo->weight.empty(), !photo->alpha.empty());
  if (kept_bytes_ + bytes > max_bytes_) {
    std::shared_ptr<Target> target = spare();
    upload(*photo, *target);
    return target;
  }
  auto target = std::make_shared<Target>();
  upload(*photo, *target);
  kept_bytes_ += bytes;
  return kept_[view] = std::move(target);
}

std::shared_ptr<TargetCache::Target> TargetCache::spare() {
  for (const std::shared_ptr<Target>& target : spares_)
    if (target.use_count() == 1) return target;
  return spares_.emplace_back(std::make_shared<Target>());
}

bool TargetCache::release() {
  const bool had_some = kept_bytes_ > 0;
  for (std::shared_ptr<const Target>& target : kept_) target.reset();
  kept_bytes_ = max_bytes_ = 0;
  return had_some;
}

void TargetCache::upload(const Photo& photo, Target& to) {
  to.pixels.color.upload(backend_, photo.rgb);
  std::vector<float> weight(photo.weight.size());
  std::transform(photo.weight.begin(), photo.weight.end(), weight.begin(),
                 [](std::uint8_t w) { return static_cast<float>(w) / 255; });
  // A reused target may still hold the weights and the alpha of another photo.
  if (!weight.empty() || !to.pixels.weight.empty()) to.pixels.weight.upload(backend_, weight);
  if (!photo.alpha.empty() || !to.pixels.alpha.empty()) to.pixels.alpha.upload(backend_, photo.alpha);
  const double sum = std::accumulate(weight.begin(), weight.end(), 0.0);
  to.mean_weight =
      weight.empty() ? 1.0f : std::max(1e-6f, static_cast<float>(sum / static_cast<double>(weight.size())));
}

}  // namespace stipple
