// SPDX-License-Identifier: Apache-2.0
#pragma once
// The scene and the photos by which a model is judged.
#include <optional>
#include <string>
#include <vector>

#include "apps/stipple/run/run_folder.h"
#include "stipple/scene/scene.h"

namespace stipple {

// How the model was trained, and on which scene: the record of a run, with `scene` instead of its own if that
// is given. For a file, only the scene is known; nothing if it is not given either.
std::optional<RunRecord> record_of_model(const std::string& run_or_model, const std::string& scene);

// The views that the model was trained on, as far as that is known.
std::vector<std::size_t> trained_views(const Scene& scene, const RunRecord& record, bool is_run);

}  // namespace stipple
