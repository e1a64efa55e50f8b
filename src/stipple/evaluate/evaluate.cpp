// SPDX-License-Identifier: Apache-2.0
#include "stipple/evaluate/evaluate.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "stipple/backend/render.h"
#include "stipple/backend/sharded_step.h"
#include "stipple/image/ssim.h"
#include "stipple/ranks/collectives.h"

namespace stipple {

namespace {

double mean_over(const std::vector<ViewScore>& views, double ViewScore::*value) {
  double sum = 0, count = 0;
  for (const ViewScore& v : views)
    if (!std::isnan(v.*value)) sum += v.*value, ++count;
  return count > 0 ? sum / count : std::numeric_limits<double>::quiet_NaN();
}

Evaluation with_means(std::vector<ViewScore> views) {
  Evaluation evaluation;
  evaluation.views = std::move(views);
  evaluation.psnr = mean_over(evaluation.views, &ViewScore::psnr);
  evaluation.ssim = mean_over(evaluation.views, &ViewScore::ssim);
  return evaluation;
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
  std::vector<ViewScore> scores;
  photos.prefetch(which);
  for (const std::size_t i : which) {
    const Image picture = render(backend, gaussians, View{views[i].camera, options}).color;
    scores.push_back(score(views[i].name, picture, *photos.get(i), options.background));
    if (progress) progress(scores.size());
  }
  return with_means(std::move(scores));
}

Evaluation evaluate(Backend& backend, RankLink& link, const DeviceGaussians& part,
                    const std::vector<SceneView>& views, std::span<const std::size_t> which,
                    PhotoCache& photos, const RenderOptions& options, const EvaluationProgress& progress) {
  Ranks& ranks = link.ranks();
  if (ranks.count() == 1) return evaluate(backend, part, views, which, photos, options, progress);
  std::vector<View> wanted;
  std::vector<ViewScore> scores;
  std::vector<std::size_t> own;  // the photos that this rank needs
  for (std::size_t at = 0; at < which.size(); ++at) {
    wanted.push_back({views[which[at]].camera, options});
    scores.push_back({views[which[at]].name, 0, 0});
    if (draws_view(ranks, at)) own.push_back(which[at]);
  }
  photos.prefetch(own);
  render_sharded(backend, link, part, {}, wanted, [&](std::size_t at, Pass& pass) {
    const std::size_t i = which[at];
    scores[at] =
        score(views[i].name, download_frame(backend, pass.frame).color, *photos.get(i), options.background);
    if (progress) progress(at + 1);
  });
  for (double ViewScore::*value : {&ViewScore::psnr, &ViewScore::ssim}) {
    std::vector<double> values;
    for (const ViewScore& s : scores) values.push_back(s.*value);
    values = sum_by_element(ranks, values);  // each was measured on one rank
    for (std::size_t at = 0; at < scores.size(); ++at) scores[at].*value = values[at];
  }
  return with_means(std::move(scores));
}

}  // namespace stipple
