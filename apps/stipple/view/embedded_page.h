// SPDX-License-Identifier: Apache-2.0
#pragma once
// A page with a model in it, which needs no server (docs/viewer.md).
#include <cstdint>
#include <string_view>

#include "apps/stipple/view/messages.h"
#include "apps/stipple/view/served_model.h"
#include "stipple/io/byte_sink.h"

namespace stipple {

// Whether this page draws models itself; the one of a build without npm does not.
bool draws_models(std::string_view page);

// The size of such a page with a model of so many bytes.
std::uint64_t bytes_with_model(std::string_view page, std::uint64_t model_bytes);

// Hands over the page with the model of hello, the only one. `page` is viewer_page(), which draws models.
void write_embedded_page(std::string_view page, const Hello& hello, const ServedModel& model,
                         const ByteSink& sink);

}  // namespace stipple
