// SPDX-License-Identifier: Apache-2.0
#include "stipple/draw/shown_picture.h"

#include <cmath>
#include <vector>

#include "stipple/core/parallel.h"
#include "stipple/math/math.h"

namespace stipple {

namespace {

using M = Math<float>;

constexpr std::size_t kGrain = 1 << 14;  // pixels

// Gaussians are drawn smaller by this factor, with opacities so large that their alpha is still that of a
// surface at the same place: the smaller the factor, the sharper the surface.
constexpr float kSmaller = 0.25f;
constexpr float kSurfaceAlpha = 0.5f;

template <class ColorAt>
ByteImage picture_of(const Image& plane, const ColorAt& color_at) {
  Image picture(plane.width_px, plane.height_px, 3);
  parallel_for(
      picture.pixel_count(),
      [&](std::size_t i) {
        const Vec3f color = color_at(i);
        for (int c = 0; c < 3; ++c) picture.values[3 * i + static_cast<std::size_t>(c)] = color[c];
      },
      kGrain);
  return to_bytes(picture);
}

Vec3f depth_at(const RenderedImages& images, std::size_t i, const Appearance& appearance) {
  const float alpha = images.alpha.values[i], depth = images.depth.values[i];
  if (!(alpha > 0 && depth > 0)) return appearance.background;
  return M::depth_color(depth / alpha, appearance.middle_depth) * alpha + appearance.background * (1 - alpha);
}

float ellipsoid_opacity(float logit_opacity) {
  const float times_visible = M::sigmoid(logit_opacity) / kEllipsoidAlpha;
  return kSurfaceAlpha * std::pow(times_visible, 1 / (kSmaller * kSmaller));
}

Vec3f harmonic_of_color(Vec3f color) { return (color - Vec3f(0.5f, 0.5f, 0.5f)) * (1 / M::sh_0); }

}  // namespace

RenderOptions options_to_show(Shown shown, RenderOptions options) {
  if (shown == Shown::kDepth) options.depth = DepthOutput::kExpected;
  if (shown == Shown::kGaussians) {
    options.scale_modifier *= kSmaller;
    options.blur_px2 *= kSmaller * kSmaller;  // or small Gaussians would become larger
    options.antialiased = false;
    options.alpha_max = RenderOptions().alpha_max;
  }
  return options;
}

ByteImage shown_picture(const RenderedImages& images, const Appearance& appearance) {
  switch (appearance.shown) {
    case Shown::kDepth:
      return picture_of(images.depth, [&](std::size_t i) { return depth_at(images, i, appearance); });
    case Shown::kAlpha:
      return picture_of(images.alpha, [&](std::size_t i) { return Vec3f(1, 1, 1) * images.alpha.values[i]; });
    case Shown::kColor:
    case Shown::kGaussians:
      break;
  }
  return to_bytes(images.color);
}

Ellipsoids gaussians_as_ellipsoids(Backend& backend, const DeviceGaussians& from) {
  std::vector<Vec3f> scale = from.log_scale.download(backend), sh(scale.size());
  std::vector<float> opacity = from.logit_opacity.download(backend);
  parallel_for(
      scale.size(),
      [&](std::size_t i) {
        scale[i] = M::scale_from_log(scale[i], 1);
        opacity[i] = ellipsoid_opacity(opacity[i]);
        sh[i] = harmonic_of_color(M::gaussian_color(static_cast<std::uint32_t>(i)));
      },
      kGrain);
  Ellipsoids to;
  to.gaussians.mean = from.mean.copy(backend);
  to.gaussians.rotation = from.rotation.copy(backend);
  to.gaussians.log_scale.upload(backend, scale);
  to.gaussians.logit_opacity.upload(backend, opacity);
  to.gaussians.sh.upload(backend, sh);
  to.precomputed.is_activated = true;
  return to;
}

}  // namespace stipple
