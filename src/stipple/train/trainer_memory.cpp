// SPDX-License-Identifier: Apache-2.0
// The part of the trainer that keeps to the memory of the device and of the host (train/memory_plan.h).
#include <algorithm>

#include "stipple/core/error.h"
#include "stipple/core/host_memory.h"
#include "stipple/core/parallel.h"
#include "stipple/ranks/collectives.h"
#include "stipple/train/trainer_impl.h"

namespace stipple {

MemoryPlan Trainer::Impl::plan_for_device() const {
  if (backend_.own_memory_bytes() == 0) return {};
  const auto rank_count = static_cast<std::size_t>(ranks_.count());
  MemoryNeeds needs = memory_needs(scene_, all_views_);
  needs.sh_degree = options_.sh_degree;
  needs.wanted_gaussians = chunk_count(options_.max_gaussians, rank_count);  // of this rank
  needs.batch = options_.batch;
  needs.rank_count = rank_count;
  needs.has_depth = options_.depth_weight > 0 && scene_.has_measured_points();
  needs.has_absolute = options_.absolute_gradients;
  if (options_.offload == Offload::kAuto && backend_.reaches_host()) {  // all ranks may be on this machine
    const std::size_t photo_bytes = std::min(options_.max_photo_bytes, needs.photo_bytes);
    needs.most_on_host = most_harmonics_on_host(available_host_bytes(), rank_count * photo_bytes,
                                                options_.sh_degree, rank_count) /
                         rank_count;
  }
  MemoryPlan plan = plan_memory(backend_, needs);
  for (std::size_t* most : {&plan.max_on_device, &plan.max_with_host, &plan.most_on_host}) {
    const std::vector<std::size_t> fit = gather_value(ranks_, *most);
    *most = rank_count * *std::min_element(fit.begin(), fit.end());
  }
  return plan;
}

void Trainer::Impl::limit_to_memory() {
  if (memory_.max_gaussians() == 0)
    throw OutOfMemory("the device's memory cannot hold a single image of this scene",
                      {"max_resolution", "backend"});
  const std::size_t wanted = options_.max_gaussians;
  is_limited_by_memory_ = wanted == 0 || wanted > memory_.max_gaussians();
  if (is_limited_by_memory_) options_.max_gaussians = memory_.max_gaussians();
  // What the host has free changes from hour to hour: a model is not made smaller for it.
  const std::size_t possible = std::max(memory_.max_on_device, memory_.max_with_host);
  most_restored_ = wanted == 0 ? possible : std::min(wanted, possible);
}

bool Trainer::Impl::has_harmonics_on_host() const {
  bool has_some = false;
  for_each_harmonics_array([&](auto& array) { has_some = has_some || array.place() == Place::kHost; },
                           device_);
  return has_some;
}

// Where those of so many Gaussians are to lie.
Place Trainer::Impl::place_of_harmonics(std::size_t gaussians) {
  const Place place = memory_.harmonics_of(gaussians);
  if (place == Place::kHost) state_.visible_harmonics_only = true;
  return place;
}

// If this throws, every array still has its contents, wherever it lies.
void Trainer::Impl::place_harmonics(Place place) {
  for_each_harmonics_array([&](auto& array) { array.move_to(backend_, place); }, device_);
}

// Before the model grows to so many Gaussians. If the host of any rank has no memory for their harmonics,
// they stay on the device, whose memory then limits the model, and this returns false.
bool Trainer::Impl::make_room_for_harmonics(std::size_t gaussians) {
  if (memory_.harmonics_of(gaussians) == Place::kDevice) return true;
  bool has_failed = false;
  try {
    place_harmonics(Place::kHost);
  } catch (const OutOfMemory&) {
    has_failed = true;
  }
  if (!is_true_on_any(ranks_, has_failed)) {
    state_.visible_harmonics_only = true;
    return true;
  }
  memory_.max_with_host = 0;
  limit_to_memory();
  try_to_move_harmonics_back();
  return false;
}

// Although they should fit. False if they may not or are there, or if the host has no memory for them.
bool Trainer::Impl::move_harmonics_to_host() {
  bool are_there = true;
  for_each_harmonics_array([&](auto& array) { are_there = are_there && array.place() == Place::kHost; },
                           device_);
  const std::size_t count = gaussian_count();
  if (are_there || options_.offload == Offload::kOff || !backend_.reaches_host() ||
      count > most_harmonics_on_host(available_host_bytes(), 0, options_.sh_degree, 1))
    return false;
  release_buffers();
  try {
    place_harmonics(Place::kHost);
  } catch (const OutOfMemory&) {
    return false;
  }
  state_.visible_harmonics_only = true;
  // They stay there until the model is clearly smaller.
  memory_.max_on_device = std::min(memory_.max_on_device, count - count / 10 - 1);
  memory_.max_with_host = std::max(memory_.max_with_host, count);
  return true;
}

// To a device that has room for those of a smaller model. If it has not, they stay where they are.
void Trainer::Impl::try_to_move_harmonics_back() {
  std::size_t bytes = 0;
  for_each_harmonics_array(
      [&](auto& array) { bytes += array.place() == Place::kHost ? array.size() * array.kElementBytes : 0; },
      device_);
  try {
    require_room(backend_, {bytes, 0});
    place_harmonics(Place::kDevice);
  } catch (const OutOfMemory&) {
  }
}

bool Trainer::Impl::release_frame() {
  const bool had_one = picture_pass_.scratch != nullptr;
  picture_pass_ = {};
  return had_one;
}

// The buffers of a step are not needed while the model changes, and the next step makes new ones. Where they
// take none of a device's own memory, that would only cost time.
void Trainer::Impl::release_buffers() {
  if (backend_.own_memory_bytes() == 0) return;
  for (Pass* pass : {&buffers_.pass, &buffers_.projected, &buffers_.drawn}) backend_.release(*pass);
  buffers_.sum = {};
}

}  // namespace stipple
