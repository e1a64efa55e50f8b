// SPDX-License-Identifier: Apache-2.0
#pragma once
// A dot-matrix font for captions on images. Canvas::text draws it.
#include <string_view>

namespace stipple {

constexpr int kGlyphWidth = 5, kGlyphHeight = 9;  // in dots
constexpr int kCapitalHeight = 7;                 // in dots; the rows below hold descenders, as in g
constexpr int kGlyphAdvance = 6;                  // in dots, from one character to the next

// Whether a character has a dot at (x, y), counted from its top-left corner; there are none outside its grid.
// Characters other than printable ASCII look like a question mark.
bool has_dot(char character, int x, int y);

// The width of a text whose capitals are size_px high.
float text_width_px(std::string_view text, float size_px);

}  // namespace stipple
