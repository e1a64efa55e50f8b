// SPDX-License-Identifier: Apache-2.0
#pragma once
// The shapes of letters on a grid of dots, for captions on pictures. Canvas::text draws them.
#include <string_view>

namespace stipple {

constexpr int kGlyphWidth = 5, kGlyphHeight = 9;  // in dots
constexpr int kCapitalHeight = 7;                 // what is below hangs under the line, as in g
constexpr int kGlyphAdvance = 6;                  // from one character to the next

// Whether a character has a dot there, counted from its top-left corner; outside of its grid it has none.
// What is not printable ASCII looks like a question mark.
bool has_dot(char character, int x, int y);

// How wide a text is when its capitals are size_px high.
float text_width_px(std::string_view text, float size_px);

}  // namespace stipple
