// SPDX-License-Identifier: Apache-2.0
#include "stipple/train/depth_samples.h"

#include <algorithm>

#include "stipple/core/quantile.h"
#include "stipple/scene/depth_range.h"
#include "stipple/scene/seen_points.h"

namespace stipple {

namespace {

constexpr std::size_t kMostSamples = 4096;  // per view

std::vector<DepthSample> visible_samples(const Points& points, const Camera& camera,
                                         const DepthRange& range) {
  std::vector<DepthSample> samples;
  for (const Vec3f p : visible_points(camera, points.position)) {
    if (p.z < range.near || p.z > range.far) continue;
    const auto x = static_cast<std::uint32_t>(p.x), y = static_cast<std::uint32_t>(p.y);
    samples.push_back({y * static_cast<std::uint32_t>(camera.width_px) + x, 1 / p.z});
  }
  return samples;
}

void keep_nearest_of_each_pixel(std::vector<DepthSample>& samples) {
  std::ranges::sort(samples, [](const DepthSample& a, const DepthSample& b) {
    return a.pixel != b.pixel ? a.pixel < b.pixel : a.inverse_depth > b.inverse_depth;
  });
  const auto rest = std::ranges::unique(samples, {}, &DepthSample::pixel);
  samples.erase(rest.begin(), rest.end());
}

void thin_out(std::vector<DepthSample>& samples) {
  const std::size_t count = samples.size();
  if (count <= kMostSamples) return;
  for (std::size_t i = 0; i < kMostSamples; ++i) samples[i] = samples[i * count / kMostSamples];
  samples.resize(kMostSamples);
}

// The median, so that the error of a typical sample is that of its depth in relation to the depth.
float typical_depth(const std::vector<DepthSample>& samples) {
  std::vector<float> depths;
  for (const DepthSample& s : samples) depths.push_back(1 / s.inverse_depth);
  return quantile_of(std::move(depths), 0.5f);
}

}  // namespace

KnownDepths known_depths(const Points& points, const Camera& camera) {
  KnownDepths known;
  const std::optional<DepthRange> range = depth_range(points, camera);
  if (!range) return known;
  known.samples = visible_samples(points, camera, *range);
  keep_nearest_of_each_pixel(known.samples);
  thin_out(known.samples);
  if (!known.samples.empty()) known.scale = typical_depth(known.samples);
  return known;
}

const DepthSamples* DepthSampleCache::get(std::size_t view) {
  if (!scene_.has_measured_points()) return nullptr;
  std::optional<DepthSamples>& kept = views_[view];
  if (!kept) {
    const KnownDepths known = known_depths(scene_.points, scene_.views[view].camera);
    DepthSamples samples;
    samples.samples.upload(backend_, known.samples);
    samples.scale = known.scale;
    kept = std::move(samples);
  }
  return &*kept;
}

}  // namespace stipple
