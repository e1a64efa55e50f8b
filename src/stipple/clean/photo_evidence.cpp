// SPDX-License-Identifier: Apache-2.0
#include "stipple/clean/photo_evidence.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "stipple/clean/blend_weight.h"
#include "stipple/clean/near_depth.h"
#include "stipple/core/parallel.h"
#include "stipple/core/random.h"
#include "stipple/evaluate/evaluate.h"
#include "stipple/math/math.h"

namespace stipple {

namespace {

constexpr float kSeenAreaPx = 0.5f;
constexpr int kSignSamples = 4;  // with fewer, the estimate is so noisy that good Gaussians are lost
constexpr float kFade = 0.1f;    // of the opacity of suspects

float weight_of(const Photo& photo, std::size_t pixel) {
  return photo.weight.empty() ? 1.0f : static_cast<float>(photo.weight[pixel]) / 255;
}

// The errors of the frame, weighted as the squared error, in the layout of Frame::color.
struct Errors {
  std::vector<float> gradient;  // of the sum of squared errors
  double squared = 0;           // that sum
};

Errors errors_of(const std::vector<float>& color, const Photo& photo, Vec3f background) {
  const std::size_t n = photo.pixel_count();
  const Image target = image_of(photo, background);
  Errors errors;
  errors.gradient.resize(3 * n);
  for (std::size_t c = 0; c < 3; ++c)
    for (std::size_t i = 0; i < n; ++i) {
      const float weight = weight_of(photo, i);
      const float error = std::clamp(color[c * n + i], 0.0f, 1.0f) - target.values[3 * i + c];
      errors.gradient[c * n + i] = 2 * weight * error;
      errors.squared += static_cast<double>(weight * error * error);
    }
  return errors;
}

// The square of a sum with these signs is on average the sum of the squares, weighted by the photo.
std::vector<float> random_signs(const Photo& photo, std::uint64_t seed) {
  const std::size_t n = photo.pixel_count();
  std::vector<float> signs(3 * n);
  Random random(seed);
  for (std::size_t i = 0; i < signs.size(); ++i) {
    const float size = std::sqrt(weight_of(photo, i % n));
    signs[i] = random.uniform() < 0.5f ? -size : size;
  }
  return signs;
}

Gaussians with_faded(Gaussians gaussians, std::span<const char> is_suspect) {
  for (std::size_t i = 0; i < gaussians.size(); ++i)
    if (is_suspect[i] != 0)
      gaussians.logit_opacity[i] =
          Math<float>::logit(kFade * Math<float>::sigmoid(gaussians.logit_opacity[i]));
  return gaussians;
}

struct ViewEvidence {  // of one view, for every Gaussian that it shows
  std::vector<std::uint32_t> gaussian;
  std::vector<ProjectedSplat> splat;
  std::vector<float> area_px;
  // If the Gaussian were removed, the frame would change by d and the errors e would become e + d:
  std::vector<float> linear;  // sum of 2 e d over the pixels
  std::vector<float> square;  // sum of d^2, estimated with random signs since no stage computes it
  double squared_error = 0;   // sum of e^2
};

ViewEvidence examine(Backend& backend, const View& view, const Photo& photo, std::uint64_t seed, Pass& pass) {
  ViewEvidence evidence;
  evidence.gaussian = gaussians_of_rows(pass.projection.visible.download(backend));
  evidence.splat = pass.projection.splat.download(backend);
  evidence.area_px = blend_weights(backend, view, std::vector<float>(photo.pixel_count(), 1.0f), pass);
  const Errors errors = errors_of(pass.frame.color.download(backend), photo, view.options.background);
  evidence.squared_error = errors.squared;
  evidence.linear = removal_changes(backend, view, errors.gradient, pass);
  evidence.square.assign(evidence.splat.size(), 0.0f);
  for (int sample = 0; sample < kSignSamples; ++sample) {
    const std::vector<float> sum = removal_changes(
        backend, view, random_signs(photo, kSignSamples * seed + static_cast<std::uint64_t>(sample)), pass);
    for (std::size_t i = 0; i < sum.size(); ++i) evidence.square[i] += sum[i] * sum[i] / kSignSamples;
  }
  return evidence;
}

// The need for a Gaussian that is drawn with the share f of its opacity. In full it would change the frame
// by D = -d / f. Without it the errors are e + d, with it e + d + D: the squares differ by
// -2 (e + d) D - D^2 = 2 e d / f + (2 f - 1) d^2 / f^2.
float need_of(float linear, float square, float f) { return linear / f + (2 * f - 1) * square / (f * f); }

bool is_inside(const Camera& camera, Vec2f p) {
  return 0 <= p.x && p.x < static_cast<float>(camera.width_px) && 0 <= p.y &&
         p.y < static_cast<float>(camera.height_px);
}

void add(const ViewEvidence& view, const Camera& camera, float near_depth, std::span<const char> is_suspect,
         std::vector<Evidence>& total) {
  const auto side_px = static_cast<float>(std::max(camera.width_px, camera.height_px));
  parallel_for(
      view.splat.size(),
      [&](std::size_t row) {
        const std::uint32_t gaussian = view.gaussian[row];
        Evidence& e = total[gaussian];
        const ProjectedSplat& s = view.splat[row];
        if (!(s.splat.opacity > 0)) return;  // not drawn
        e.framed += is_inside(camera, s.splat.mean_px) ? 1 : 0;
        const float f = is_suspect[gaussian] != 0 ? kFade : 1.0f, area_px = view.area_px[row] / f;
        e.area_px += area_px;
        e.area2_px2 += area_px * area_px;
        e.need += need_of(view.linear[row], view.square[row], f);
        e.effect += view.square[row] / (f * f);
        if (area_px < kSeenAreaPx) return;
        e.nearness = std::max(e.nearness, near_depth / s.depth);
        e.screen_share = std::max(e.screen_share, std::max(s.half_extent_px.x, s.half_extent_px.y) / side_px);
      },
      1024);
}

}  // namespace

PhotoEvidence photo_evidence(Backend& backend, const Gaussians& gaussians, std::span<const char> is_suspect,
                             const Scene& scene, std::span<const std::size_t> which, PhotoCache& photos,
                             const RenderOptions& options, const std::function<void()>& progress) {
  assert(is_suspect.size() == gaussians.size());
  const DeviceGaussians model = upload(backend, with_faded(gaussians, is_suspect));
  PhotoEvidence total;
  total.gaussians.resize(gaussians.size());
  Pass pass;
  photos.prefetch(which);
  for (const std::size_t i : which) {
    const Camera& camera = scene.views[i].camera;
    const View view{camera, options};
    forward(backend, model, {}, view, pass);
    const ViewEvidence evidence = examine(backend, view, *photos.get(i), i, pass);
    add(evidence, camera, near_depth(scene, camera, evidence.splat, evidence.area_px), is_suspect,
        total.gaussians);
    total.squared_error += evidence.squared_error;
    if (progress) progress();
  }
  return total;
}

}  // namespace stipple
