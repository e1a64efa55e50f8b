// SPDX-License-Identifier: Apache-2.0
#pragma once
// POST /save: writes a model without what a visitor has removed from it (docs/viewer.md).
#include <cstddef>
#include <filesystem>
#include <string_view>

#include "apps/stipple/server/server.h"

namespace stipple {

// The folder in which edits of this model are saved: that of a run, or else that in which the model is.
std::filesystem::path folder_for_edits(const std::filesystem::path& run_or_model);

// Answers the request. The edits refer to the Gaussians of `run_or_model`, of which there were `count` when
// visitors got them.
HttpResponse save_edits(std::string_view request, const std::filesystem::path& run_or_model,
                        std::size_t count);

}  // namespace stipple
