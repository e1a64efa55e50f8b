// SPDX-License-Identifier: Apache-2.0
#include "stipple/scene/formats/lens_terms.h"

#include <fmt/format.h>

#include <cmath>

namespace stipple {

namespace {

constexpr double kMostShift = 1.0 / 2000;  // two pixels of a photo with 4,000 columns

}  // namespace

void leave_out(const char* term, double shift, LensWithTerms& lens) {
  if (shift == 0) return;
  lens.shift += std::abs(shift);
  lens.terms += fmt::format("{}{}", lens.terms.empty() ? "" : ", ", term);
}

void judge(LensWithTerms& lens) {
  if (lens.shift <= kMostShift) return;  // NaN is not
  lens.lens.unsupported = fmt::format(
      "the terms {} of its lens are not supported; fit the cameras without them, or export undistorted "
      "photos",
      lens.terms);
}

}  // namespace stipple
