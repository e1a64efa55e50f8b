// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a training step in one process and one over several ranks have in common.
#include "stipple/backend/backend.h"

namespace stipple {

WantedGradients wanted_for(const TrainStep& step);

// The view as it is rendered. Depth costs time, so it is rendered only if it is used.
View rendered_view(const TrainView& view, const TrainStep& step);

// Computes the frame's gradient with the built-in losses, the caller's own loss, or both.
void differentiate_frame(Backend& backend, const TrainView& train_view, const View& view,
                         const TrainStep& step, Pass& pass);

}  // namespace stipple
