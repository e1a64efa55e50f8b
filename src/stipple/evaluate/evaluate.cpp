// SPDX-License-Identifier: Apache-2.0
#include "stipple/evaluate/evaluate.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "stipple/backend/render.h"
#include "stipple/image/ssim.h"

namespace stipple {

namespace {

double mean_over(const std::vector<ViewScore>& views, double ViewScore::*value) {
  double sum = 0, count = 0;
  for (const ViewScore& v : views)
    if (!std::isnan(v.*value)) sum += v.*value, ++count;
  return count > 0 ? sum / count : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

Image image_of(const Photo& photo, Vec3f background) {
  Image image(photo.width_px, photo.height_px, 3);
  const auto fraction = [](std::uint8_t value) { return static_cast<float>(value) / 255; };
  std::transform(photo.rgb.begin(), photo.rgb.end(), image.values.begin(), fraction);
  for (std::size_t i = 0; i < 3 * photo.alpha.size(); ++i)
    image.values[i] = Math<float>::over_background(image.values[i], fraction(photo.alpha[i / 3]),
                                                   background[static_cast<int>(i % 3)]);
  return image;
}

ViewScore score(const std::string& name, const Image& render, const Photo& photo, Vec3f background) {
  const Image target = image_of(photo, background);
  return {name, psnr(render, target, photo.weight), ssim(render, target, photo.weight)};
}

Evaluation evaluate(Backend& backend, const DeviceGaussians& gaussians, const std::vector<SceneView>& views,
                    std::span<const std::size_t> which, PhotoCache& photos, const RenderOptions& options,
                    const EvaluationProgress& progress) {
  Evaluation evaluation;
  photos.prefetch(which);
  for (const std::size_t i : which) {
    const Image picture = render(backend, gaussians, View{views[i].camera, options}).color;
    evaluation.views.push_back(score(views[i].name, picture, *photos.get(i), options.background));
    if (progress) progress(evaluation.views.size());
  }
  evaluation.psnr = mean_over(evaluation.views, &ViewScore::psnr);
  evaluation.ssim = mean_over(evaluation.views, &ViewScore::ssim);
  return evaluation;
}

}  // namespace stipple
