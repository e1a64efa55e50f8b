// SPDX-License-Identifier: Apache-2.0
// Part of the public interface.
#pragma once
// The maths of the renderer. It is written once, in the common subset of C++ and GLSL (math/*.glsl), and
// instantiated here for any scalar: float for the backends, double and Dual for gradient checks.
//
// The rules of this dialect: write `real(0.5) * x`, never `0.5 * x` (a bare literal is a double in C++); fill
// result structs field by field; use no out parameters, references, templates or braced initialisers; put
// arrays into structs; use no name that GLSL reserves. A branch on data is select(condition, a, b), which
// evaluates both sides, so that the same source also serves vectors of Gaussians; `if` is only for conditions
// that all Gaussians share, such as the degree. A branch that changes a derivative is written so that the VJP
// can repeat its condition.
#include <cstdint>

#include "stipple/math/vec.h"

namespace stipple {

#include "stipple/math/math.inc"

}  // namespace stipple
