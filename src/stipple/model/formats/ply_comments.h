// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the comments of a .ply file say about a model.
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace stipple {

// Whether the model was trained for antialiased rendering: "SplatRenderMode: mip" (or default), as Brush
// writes it, or "antialiased 1" (or 0), as Postshot does.
std::optional<bool> antialiased_in(std::span<const std::string> comments);

// The line that says so.
inline constexpr std::string_view kAntialiasedComment = "SplatRenderMode: mip";

}  // namespace stipple
