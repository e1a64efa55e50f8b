// SPDX-License-Identifier: Apache-2.0
#pragma once
// What density control wants the Gaussians to be next. The strategies make such plans on the host; carrying
// them out takes nothing from a backend but gather().
#include <functional>
#include <vector>

#include "stipple/backend/backend.h"

namespace stipple {

// What the strategies look at, downloaded.
struct DensityInput {
  std::vector<Vec3f> mean, log_scale;
  std::vector<Vec4f> rotation;
  std::vector<float> logit_opacity;
  std::vector<Vec2f> statistics;  // as TrainState has them
};

DensityInput download_density_input(const Backend& backend, const TrainState& state);

struct DensityPlan {
  // One entry a Gaussian to be: whose rotation and colour it takes over, whose moments (kNoRow: they are
  // zero), and its other parameters.
  std::vector<std::uint32_t> source, moment_source;
  std::vector<Vec3f> mean, log_scale;
  std::vector<float> logit_opacity;

  std::size_t size() const { return source.size(); }
};

// Each Gaussian i count[i] times, beside each other and in their order; the first of them keeps its moments.
// `edit` is called for those that come more than once, to set what differs in the entries from `first` on; on
// any thread.
using EditCopies = std::function<void(std::size_t i, std::size_t first, DensityPlan& plan)>;
DensityPlan plan_copies(const DensityInput& from, const std::vector<std::uint32_t>& count,
                        const EditCopies& edit);

// Orders the plan along a curve through the means, so that what is near in space is near in memory.
void sort_along_curve(DensityPlan& plan);

// The statistics then start anew. Throws OutOfMemory before anything is changed.
void carry_out(Backend& backend, const DensityPlan& plan, TrainState& state);

}  // namespace stipple
