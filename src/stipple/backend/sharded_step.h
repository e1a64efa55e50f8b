// SPDX-License-Identifier: Apache-2.0
#pragma once
// Training and rendering with a model of which every rank has a part: the whole model's Gaussians in order of
// rank. Every rank calls these functions, with the same views. The bits of the results are those of one rank
// that has the whole model, if the backend is deterministic.
#include <functional>
#include <span>

#include "stipple/backend/backend.h"
#include "stipple/ranks/ranks.h"

namespace stipple {

// The step of Backend::train_step() over several ranks. Of the views, a rank needs the targets of those that
// it draws (draws_view), and the depths of all. `state` is its part, and the result is that of all views.
// Throws Error if the gradients of the cameras are wanted. An exception on one rank leaves the others
// waiting: the run has to end.
PassResult sharded_step(Backend& backend, RankLink& link, TrainState& state, std::span<const TrainView> views,
                        const TrainStep& step, TrainBuffers& buffers);

// Whether this rank draws view number `at` of a batch.
bool draws_view(const Ranks& ranks, std::size_t at);

// Renders the views, and calls f(index of the view, pass with its frame) on the rank that draws it.
using UseFrame = std::function<void(std::size_t at, Pass& pass)>;
void render_sharded(Backend& backend, RankLink& link, const DeviceGaussians& part,
                    const Precomputed& precomputed, std::span<const View> views, const UseFrame& use);

}  // namespace stipple
