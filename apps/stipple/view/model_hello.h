// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a page is told first about finished models.
#include <span>
#include <string>
#include <vector>

#include "apps/stipple/view/messages.h"
#include "apps/stipple/view/viewed_model.h"
#include "stipple/scene/scene.h"

namespace stipple {

// The views of the scene in this folder or, if none is given, of the run's scene. A file has no scene of its
// own. If that of the run is gone, a warning starts with `loss`, which says what is missed.
std::vector<SceneView> views_of_model(const std::string& run_or_model, const std::string& scene,
                                      const std::string& loss);

// The views tell where visitors start; they and the folder for edits are not in the message.
Hello hello_of_models(std::span<const ViewedModel> models, std::span<const SceneView> views);

}  // namespace stipple
