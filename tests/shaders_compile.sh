#!/usr/bin/env bash
# shaders_compile.sh MATH_FOLDER: checks that the shared maths is valid GLSL: it must compile as GLSL 4.60 (Vulkan) and as
# GLSL ES 3.00 (WebGL2). Exit status 77 means that the test was skipped because a compiler is missing.
set -euo pipefail
math=$1
for tool in glslc glslangValidator; do
  if ! command -v "$tool" >/dev/null; then
    echo "skipped: $tool is not installed (./setup --test installs it)"
    exit 77
  fi
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The files that all.glsl includes, in its order.
files=$(sed -n 's|^#include "stipple/math/\(.*\.glsl\)"|\1|p' "$math/all.glsl")
[ "$(echo "$files" | wc -w)" = "$(find "$math" -name '*.glsl' ! -name language.glsl ! -name all.glsl | wc -l)" ] ||
  { echo "all.glsl does not include every .glsl file of $math"; exit 1; }

maths() { for file in language.glsl $files; do cat "$math/$file"; done; }

# The result of every function contributes to an output, so that the compilers cannot discard any of them as unused.
body='
  Pinhole camera;
  camera.rotation = mat3(1.0); camera.translation = vec3(0.0); camera.focal_px = vec2(100.0);
  camera.center_px = vec2(50.0); camera.size_px = vec2(100.0);
  RenderSettings settings;
  settings.near_plane = default_near_plane; settings.blur_px2 = default_blur_px2; settings.scale_modifier = 1.0;
  settings.alpha_max = default_alpha_max; settings.antialiased = true; settings.inverse_depth = false;
  Shape shape; shape.scale = scale_from_log(vec3(x), 1.0); shape.rotation = vec4(1.0, x, x, x);
  Placed placed; placed.mean = vec3(x); placed.covariance = covariance(shape);
  Footprint f = footprint(placed, sigmoid(x), camera, settings);
  FootprintVjp d = footprint_vjp(placed, sigmoid(x), camera, settings, f);
  Placed dL_dplaced = project_vjp(placed, camera, d.dL_dprojected);
  Pinhole dL_dcamera = project_camera_vjp(placed, camera, d.dL_dprojected);
  Shape dL_dshape = covariance_vjp(shape, dL_dplaced.covariance);
  PackedCovariance packed = unpack_covariance_vjp(unpack_covariance(unpack_covariance_vjp(dL_dplaced.covariance)));
  vec3 v = view_offset(placed.mean, camera);
  HarmonicBasis h = harmonic_basis(3, view_direction(v));
  vec3 color = color_from_harmonics(vec3(h.b[15]));
  vec3 dL_dv = view_direction_vjp(v, harmonic_basis_vjp(3, view_direction(v), h));
  Splat s; s.mean_px = f.mean_px; s.conic = f.conic; s.opacity = f.opacity;
  s.channels = vec4(color, depth_channel(f.depth, settings.inverse_depth));
  Pixel pixel; pixel.channels = vec4(0.0); pixel.transmittance = 1.0;
  float alpha = alpha_at(s, vec2(x), settings.alpha_max);
  if (is_drawable_color(color) && !finishes_pixel(pixel.transmittance, alpha)) pixel = blend(pixel, s, alpha);
  Splat g = blend_vjp(1.0, x, s, vec2(x), settings.alpha_max, pixel.channels, 0.5);
  StoredGaussian stored;
  stored.mean = vec3(x); stored.log_scale = vec3(x); stored.rotation = vec4(1.0, x, x, x); stored.logit_opacity = x;
  stored.covariance = packed;
  GaussianForm form; form.has_covariance = x > 0.5; form.is_activated = x > 0.25; form.is_altered = x > 0.1;
  Dropout dropout;
  dropout.seed_low = 1u; dropout.seed_high = 2u; dropout.threshold = 3u; dropout.kept_factor = 1.25;
  Alteration alteration; alteration.filter_variance = x; alteration.opacity_factor = dropout_factor(7u, dropout);
  ActiveGaussian active_gaussian = activate(stored, alteration, form, 1.0);
  GaussianVjp gaussian = gaussian_vjp(active_gaussian, form, camera, settings, f.depth, splat_of(f, color, settings));
  ViewRay ray = view_ray(stored.mean, camera);
  Pinhole moved = gaussian_camera_vjp(placed, camera, gaussian.dL_dprojected,
      view_ray_vjp(2, ray, harmonic_basis(2, ray.direction)));
  FoldedSplat folded = fold(s.mean_px, s.conic, log2_of(s.opacity), log2_of(settings.alpha_max));
  SplatMoments moments = blend_moments(1.0, x, s, vec2(x), settings.alpha_max, pixel.channels, 0.5);
  float alpha_again = folded_exponent(folded, vec2(x)) < min_exponent ? 0.0 : folded.max_exponent;
  uint words = uint(x);
  vec3 noisy = perturbed_mean(vec3(x), vec3(x), vec4(1.0, x, x, x), x, 0.1, words, words ^ 1u, 3u);
  TileRange columns = tile_columns(f, splat_tau(log2_of(f.opacity)), tile_rows(f, 9).begin, 9);
  WindowMeans m; m.x = x; m.y = x; m.xx = x; m.yy = x; m.xy = ssim_window_weight(1);
  DepthPixel depth_pixel; depth_pixel.inverse_depth = x; depth_pixel.alpha = alpha;
  AdamRule rule; rule.rate = 0.1; rule.beta1 = 0.9; rule.beta2 = 0.999; rule.epsilon = 1e-8;
  rule.inverse_correction1 = 1.0; rule.inverse_correction2 = 1.0;
  AdamParameter p; p.value = x; p.first_moment = x; p.second_moment = x;
  float sum = scale_from_log_vjp(shape.scale, dL_dshape.scale).x + dL_dshape.rotation.x + packed.xx +
      dL_dcamera.focal_px.x + view_offset_camera_vjp(camera, dL_dv).translation.x + sigmoid_vjp(x, d.dL_dopacity) +
      color_from_harmonics_vjp(color, color, true).x + depth_channel_vjp(f.depth, true, x) + g.mean_px.x +
      float(columns.end + harmonic_count(2)) + ssim(m) + ssim_vjp(m, 1.0).xy + absolute_difference(x, 0.5) +
      absolute_difference_vjp(x, 0.5, 1.0) + adam(p, x, rule).value +
      gaussian.dL_dstored.mean.x + gaussian.dL_dstored.covariance.xy + moved.translation.x + alpha_again +
      unfold_conic(folded.curve).x + splat_gradient(s.conic, s.opacity, moments).opacity + noisy.x +
      density_statistic(g.mean_px, vec2(x)).x + over_background(x, alpha, 1.0) + depth_error(depth_pixel, 0.5) +
      depth_error_vjp(depth_pixel, 0.5, 1.0).alpha;
'
{ echo '#version 460'; maths
  echo 'layout(local_size_x = 1) in; layout(set = 0, binding = 0) buffer Data { float data[]; };'
  echo "void main() { float x = data[0]; $body data[1] = sum; }"
} >"$work/maths.comp"
{ echo '#version 300 es'; echo 'precision highp float; precision highp int;'; maths
  echo 'in float x; out vec4 result;'
  echo "void main() { $body result = vec4(sum); }"
} >"$work/maths.frag"

glslc --target-env=vulkan1.2 -Werror -O "$work/maths.comp" -o "$work/maths.spv"
echo "GLSL 4.60: compiles"
glslangValidator "$work/maths.frag" >"$work/es.log" 2>&1 || { cat "$work/es.log"; exit 1; }
echo "GLSL ES 3.00: compiles"
