// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <string_view>

namespace stipple {

// The name that a mistyped one was most likely meant to be: the fewest insertions, deletions, substitutions
// and swaps of neighbouring letters away. Empty if every name differs in more than a third of its letters.
std::string nearest_name(std::string_view mistyped, std::span<const std::string> names);

}  // namespace stipple
