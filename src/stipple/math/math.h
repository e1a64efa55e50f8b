// SPDX-License-Identifier: Apache-2.0
#pragma once
// The maths of the renderer, written once in the common subset of C++ and GLSL (math/*.glsl) and instantiated
// here for any scalar: float for the backends, double and Dual for gradient checks.
//
// The dialect: `real(0.5) * x` and never `0.5 * x` (a bare literal is a double in C++); results are structs
// filled field by field; no out parameters, references, templates or braces; arrays live in structs; no name
// that GLSL reserves. A branch on data is select(condition, a, b), both sides evaluated, so that one source
// also serves vectors of Gaussians; `if` is for what is the same for all, such as the degree. A branch that
// changes a derivative is written so that the VJP can repeat its condition.
#include <cstdint>

#include "stipple/math/vec.h"

namespace stipple {

#include "stipple/math/math.inc"

}  // namespace stipple
