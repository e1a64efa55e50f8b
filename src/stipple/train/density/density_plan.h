// SPDX-License-Identifier: Apache-2.0
#pragma once
// A plan says what the Gaussians will be after a refinement. The strategies make plans on the host; to carry
// one out, a backend needs only gather(). If several ranks train a model, each plans for its part; what has
// to be decided for the whole model, they decide together.
#include <functional>
#include <vector>

#include "stipple/backend/backend.h"

namespace stipple {

// The part of the training state that the strategies need, on the host.
struct DensityInput {
  std::vector<Vec3f> mean, log_scale;
  std::vector<Vec4f> rotation;
  std::vector<float> logit_opacity;
  std::vector<Vec2f> statistics;  // TrainState::statistics
  ModelPart part;                 // TrainState::part

  std::size_t size_of_model() const { return part.total_of(mean.size()); }
};

DensityInput download_density_input(const Backend& backend, const TrainState& state);

struct DensityPlan {
  // One entry per new Gaussian: the old Gaussian whose rotation and colour it inherits, the one whose moments
  // it inherits (kNoRow for zero moments), and its other parameters.
  std::vector<std::uint32_t> source, moment_source;
  std::vector<Vec3f> mean, log_scale;
  std::vector<float> logit_opacity;
  // Precomputed's. If it is empty, a Gaussian inherits that of its source, if there is a filter at all.
  std::vector<float> filter_variance;

  std::size_t size() const { return source.size(); }
};

// A plan with count[i] adjacent copies of each Gaussian i, in the order of the Gaussians. The first copy
// keeps the moments. For every Gaussian with more than one copy, `edit` is called, on any thread, to change
// the copies, which are the count[i] entries from `first` on.
using EditCopies = std::function<void(std::size_t i, std::size_t first, DensityPlan& plan)>;
DensityPlan plan_copies(const DensityInput& from, const std::vector<std::uint32_t>& count,
                        const EditCopies& edit);

// Sorts the plan by curve_order() of the means.
void sort_along_curve(DensityPlan& plan);

// Throws OutOfMemory if carry_out() would.
void require_room_for(Backend& backend, const DensityPlan& plan, const TrainState& state);

// Replaces the Gaussians and their moments, and clears the statistics. If this throws, some arrays have been
// changed and others have not.
void carry_out(Backend& backend, const DensityPlan& plan, TrainState& state);

}  // namespace stipple
