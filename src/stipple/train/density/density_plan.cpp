// SPDX-License-Identifier: Apache-2.0
#include "stipple/train/density/density_plan.h"

#include <numeric>

#include "stipple/core/curve_order.h"
#include "stipple/core/parallel.h"
#include "stipple/train/density/gather_in_place.h"
#include "stipple/train/memory_plan.h"

namespace stipple {

namespace {

constexpr std::size_t kChunk = 1 << 14;

// For every chunk of Gaussians, the number of entries before it; then the number of all entries.
std::vector<std::size_t> first_entries(const std::vector<std::uint32_t>& count) {
  std::vector<std::size_t> first(chunk_count(count.size(), kChunk) + 1, 0);
  parallel_chunks(count.size(), kChunk, [&](std::size_t chunk, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) first[chunk + 1] += count[i];
  });
  std::partial_sum(first.begin(), first.end(), first.begin());
  return first;
}

DensityPlan plan_of_size(std::size_t size) {
  DensityPlan plan;
  plan.source.resize(size);
  plan.moment_source.resize(size);
  plan.mean.resize(size);
  plan.log_scale.resize(size);
  plan.logit_opacity.resize(size);
  return plan;
}

void set(DensityPlan& plan, std::size_t at, const DensityInput& from, std::size_t i, bool keeps_moments) {
  plan.source[at] = static_cast<std::uint32_t>(i);
  plan.moment_source[at] = keeps_moments ? plan.source[at] : Backend::kNoRow;
  plan.mean[at] = from.mean[i];
  plan.log_scale[at] = from.log_scale[i];
  plan.logit_opacity[at] = from.logit_opacity[i];
}

template <class T>
void reorder(std::vector<T>& values, const std::vector<std::uint32_t>& order) {
  std::vector<T> sorted(values.size());
  parallel_for(
      order.size(), [&](std::size_t i) { sorted[i] = values[order[i]]; }, kChunk);
  values = std::move(sorted);
}

// The peak of the additional memory while a plan is carried out: the rows, the added Gaussians, and what it
// takes to gather the largest array.
PlacedBytes extra_bytes(const Device& device, std::size_t before, std::size_t after,
                        const DeviceGaussians& g) {
  const Place harmonics = g.sh.place();
  const std::size_t added = after > before ? after - before : 0;
  // Arrays that are resized where they are consist of pages.
  constexpr std::size_t kArrays = 14, kPageBytes = std::size_t{2} << 20;
  const std::size_t rounding =
      device.resizes_in_place(after * g.mean.kElementBytes, Place::kDevice) ? kArrays * kPageBytes : 0;
  return PlacedBytes{after * sizeof(std::uint32_t) + rounding, 0} +
         train_state_bytes(added, g.sh_degree, harmonics) +
         gathering_bytes(device, harmonics, before, after, g.sh_degree);
}

}  // namespace

DensityInput download_density_input(const Backend& backend, const TrainState& state) {
  const DeviceGaussians& g = state.gaussians;
  return {g.mean.download(backend),          g.log_scale.download(backend),      g.rotation.download(backend),
          g.logit_opacity.download(backend), state.statistics.download(backend), state.part};
}

DensityPlan plan_copies(const DensityInput& from, const std::vector<std::uint32_t>& count,
                        const EditCopies& edit) {
  const std::vector<std::size_t> first = first_entries(count);
  DensityPlan plan = plan_of_size(first.back());
  parallel_chunks(count.size(), kChunk, [&](std::size_t chunk, std::size_t begin, std::size_t end) {
    std::size_t at = first[chunk];
    for (std::size_t i = begin; i < end; ++i) {
      for (std::size_t k = 0; k < count[i]; ++k) set(plan, at + k, from, i, k == 0);
      if (count[i] > 1) edit(i, at, plan);
      at += count[i];
    }
  });
  return plan;
}

void sort_along_curve(DensityPlan& plan) {
  const std::vector<std::uint32_t> order = curve_order(plan.mean);
  reorder(plan.source, order);
  reorder(plan.moment_source, order);
  reorder(plan.mean, order);
  reorder(plan.log_scale, order);
  reorder(plan.logit_opacity, order);
}

void require_room_for(Backend& backend, const DensityPlan& plan, const TrainState& state) {
  require_room(backend, extra_bytes(backend, state.gaussians.size(), plan.size(), state.gaussians));
}

// The arrays change one by one, since copies of all of them would take half of the memory.
void carry_out(Backend& backend, const DensityPlan& plan, TrainState& state) {
  DeviceGaussians& g = state.gaussians;
  DeviceArray<std::uint32_t> rows(backend, plan.source);
  gather_in_place(backend, g.rotation, rows, 1);
  gather_in_place(backend, g.sh, rows, g.sh_count());
  replace(backend, plan.mean, g.mean);
  replace(backend, plan.log_scale, g.log_scale);
  replace(backend, plan.logit_opacity, g.logit_opacity);
  DeviceArray<float>& filter = state.precomputed.filter_variance;
  if (!plan.filter_variance.empty())
    replace(backend, plan.filter_variance, filter);
  else if (!filter.empty())
    gather_in_place(backend, filter, rows, 1);
  rows.upload(backend, plan.moment_source);
  for_each_moment([&](int per_gaussian, auto& array) { gather_in_place(backend, array, rows, per_gaussian); },
                  state.moments);
  state.statistics.resize_in_place(backend, plan.size());
  state.statistics.resize_zero(backend, plan.size());
}

}  // namespace stipple
