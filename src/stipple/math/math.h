// SPDX-License-Identifier: Apache-2.0
#pragma once
// The maths of the renderer, written once in the common subset of C++ and GLSL (math/*.glsl) and instantiated
// here for any scalar: float for the backends, double and Dual for gradient checks.
//
// The dialect: `real(0.5) * x` and never `0.5 * x` (a bare literal is a double in C++); results are structs
// filled field by field; no out parameters, references, templates or braces; arrays live in structs; no name
// that GLSL reserves. A branch that changes a derivative is written so that the VJP can repeat its condition.
#include "stipple/math/vec.h"

namespace stipple {

template <class real>
struct Math {
  using vec2 = Vec2<real>;
  using vec3 = Vec3<real>;
  using vec4 = Vec4<real>;
  using mat3 = Mat3<real>;

#define FN STIPPLE_HD static inline
#define CONST(type, name, value) static constexpr type name = type(value);
// The order matters to GLSL, where a name must be declared before its use. tests/shaders_compile.sh lists the
// same files in the same order.
// clang-format off
#include "stipple/math/activation.glsl"
#include "stipple/math/covariance.glsl"
#include "stipple/math/projection.glsl"
#include "stipple/math/footprint.glsl"
#include "stipple/math/harmonics.glsl"
#include "stipple/math/blending.glsl"
#include "stipple/math/tiles.glsl"
#include "stipple/math/similarity.glsl"
#include "stipple/math/adam.glsl"
// clang-format on
#undef FN
#undef CONST
};

}  // namespace stipple
