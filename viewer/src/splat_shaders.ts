// SPDX-License-Identifier: Apache-2.0
// The shaders that draw Spark's Gaussians by Stipple's formulas, and the one that shows the result.
import language from "../../src/stipple/math/language.glsl";
import activation from "../../src/stipple/math/activation.glsl";
import covariance from "../../src/stipple/math/covariance.glsl";
import projection from "../../src/stipple/math/projection.glsl";
import footprint from "../../src/stipple/math/footprint.glsl";
import blending from "../../src/stipple/math/blending.glsl";
import noise from "../../src/stipple/math/noise.glsl";
import palette from "../../src/stipple/math/palette.glsl";
import splatFragment from "./shaders/splat_fragment.glsl";
import splatVertex from "./shaders/splat_vertex.glsl";
import present from "./shaders/present.glsl";
import shown from "./shaders/shown.glsl";

const kMaths = [
  "precision highp float;\nprecision highp int;",
  language, activation, covariance, projection, footprint, blending, noise, palette, shown,
];

export const kSplatVertexShader = [...kMaths, "#include <splatDefines>", splatVertex].join("\n");
export const kSplatFragmentShader = [...kMaths, splatFragment].join("\n");
export const kPresentShader = [...kMaths, present].join("\n");
