// SPDX-License-Identifier: Apache-2.0
#include "stipple/train/density_plan.h"

#include <algorithm>
#include <numeric>

namespace stipple {

namespace {

// Spreads the lowest 21 bits of x to every third bit.
std::uint64_t spread(std::uint64_t x) {
  x &= 0x1fffff;
  x = (x | x << 32) & 0x1f00000000ffff;
  x = (x | x << 16) & 0x1f0000ff0000ff;
  x = (x | x << 8) & 0x100f00f00f00f00f;
  x = (x | x << 4) & 0x10c30c30c30c30c3;
  return (x | x << 2) & 0x1249249249249249;
}

// Most of the Gaussians lie in a box that a few far ones would stretch out of all proportion.
struct Box {
  Vec3f low{0, 0, 0}, high{0, 0, 0};
};

Box bulk_of(const std::vector<Vec3f>& points) {
  Box box;
  const std::size_t n = points.size(), skip = n / 100;
  std::vector<float> values(n);
  for (int axis = 0; axis < 3; ++axis) {
    std::transform(points.begin(), points.end(), values.begin(), [axis](Vec3f p) { return p[axis]; });
    const auto at = [&](std::size_t k) { return values.begin() + static_cast<std::ptrdiff_t>(k); };
    std::nth_element(values.begin(), at(skip), values.end());
    box.low[axis] = values[skip];
    std::nth_element(values.begin(), at(n - 1 - skip), values.end());
    box.high[axis] = values[n - 1 - skip];
  }
  return box;
}

std::uint64_t morton_code(Vec3f p, const Box& box) {
  constexpr float kCells = 1 << 21;
  std::uint64_t code = 0;
  for (int axis = 0; axis < 3; ++axis) {
    const float size = box.high[axis] - box.low[axis];
    const float t = size > 0 ? (p[axis] - box.low[axis]) / size : 0.0f;
    const auto cell = static_cast<std::uint64_t>(std::clamp(t * kCells, 0.0f, kCells - 1));
    code |= spread(cell) << axis;
  }
  return code;
}

template <class T>
void reorder(std::vector<T>& values, const std::vector<std::uint32_t>& order) {
  std::vector<T> sorted(values.size());
  for (std::size_t i = 0; i < order.size(); ++i) sorted[i] = values[order[i]];
  values = std::move(sorted);
}

}  // namespace

DensityInput download_density_input(const Backend& backend, const DeviceGaussians& g,
                                    const DensityStatistics& statistics) {
  return {g.mean.download(backend), g.log_scale.download(backend), g.rotation.download(backend),
          g.logit_opacity.download(backend), statistics.sum.download(backend)};
}

void DensityPlan::keep(const DensityInput& from, std::size_t i) {
  source.push_back(static_cast<std::uint32_t>(i));
  keeps_moments.push_back(true);
  mean.push_back(from.mean[i]);
  log_scale.push_back(from.log_scale[i]);
  logit_opacity.push_back(from.logit_opacity[i]);
}

void DensityPlan::add(const DensityInput& from, std::size_t i) {
  keep(from, i);
  keeps_moments.back() = false;
}

void sort_along_curve(DensityPlan& plan) {
  if (plan.size() == 0) return;
  const Box box = bulk_of(plan.mean);
  std::vector<std::uint64_t> code(plan.size());
  for (std::size_t i = 0; i < plan.size(); ++i) code[i] = morton_code(plan.mean[i], box);
  std::vector<std::uint32_t> order(plan.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return code[a] != code[b] ? code[a] < code[b] : a < b; });
  reorder(plan.source, order);
  reorder(plan.keeps_moments, order);
  reorder(plan.mean, order);
  reorder(plan.log_scale, order);
  reorder(plan.logit_opacity, order);
}

void carry_out(Backend& backend, const DensityPlan& plan, DeviceGaussians& gaussians, AdamMoments& moments) {
  std::vector<std::uint32_t> rows = plan.source;
  DeviceArray<std::uint32_t> device_rows(backend, rows);
  gaussians = gather(backend, gaussians, device_rows);
  gaussians.mean.upload(backend, plan.mean);
  gaussians.log_scale.upload(backend, plan.log_scale);
  gaussians.logit_opacity.upload(backend, plan.logit_opacity);
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (!plan.keeps_moments[i]) rows[i] = Backend::kNoRow;
  device_rows.upload(backend, rows);
  moments.first = gather(backend, moments.first, device_rows);
  moments.second = gather(backend, moments.second, device_rows);
}

}  // namespace stipple
