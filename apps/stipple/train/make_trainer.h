// SPDX-License-Identifier: Apache-2.0
#pragma once
// The trainer of a run: new, from a model, or from the run's checkpoint.
#include <filesystem>

#include "stipple/options/run_options.h"
#include "stipple/train/trainer.h"

namespace stipple {

// Makes the path of the model that a run starts from absolute, so that options.json says where it was, from
// whatever folder the run is repeated.
RunOptions with_whole_path(RunOptions options);

// Warns of what a user would not expect of it. `scene` and `backend` must outlive the trainer.
Trainer make_trainer(Backend& backend, const Scene& scene, const RunOptions& options,
                     const std::filesystem::path& folder, bool resume, Ranks& ranks);

// What keeps the number of Gaussians small, in the words of a message.
const char* limit_of_gaussians(const Trainer& trainer);

}  // namespace stipple
