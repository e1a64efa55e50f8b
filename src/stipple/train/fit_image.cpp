// SPDX-License-Identifier: Apache-2.0
#include "stipple/train/fit_image.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "stipple/backend/render.h"
#include "stipple/core/random.h"

namespace stipple {

namespace {

// Looks at the plane z = 0 from a distance of one scene unit; the longer side of the image is one unit wide.
Camera camera_for(const Image& image) {
  Camera camera;
  float focal = static_cast<float>(std::max(image.width_px, image.height_px));
  camera.camera_from_world.translation = {0, 0, 1};
  camera.focal_px = {focal, focal};
  camera.center_px = {static_cast<float>(image.width_px) / 2, static_cast<float>(image.height_px) / 2};
  camera.width_px = image.width_px;
  camera.height_px = image.height_px;
  return camera;
}

std::vector<std::uint8_t> to_bytes(const Image& image) {
  std::vector<std::uint8_t> bytes;
  for (float v : image.values)
    bytes.push_back(static_cast<std::uint8_t>(std::clamp(v, 0.0f, 1.0f) * 255 + 0.5f));
  return bytes;
}

// The difference of each pixel from its right and lower neighbours, summed over the channels.
std::vector<float> detail_of(const Image& p) {
  std::vector<float> detail(p.pixel_count(), 0);
  for (int y = 0; y + 1 < p.height_px; ++y)
    for (int x = 0; x + 1 < p.width_px; ++x)
      for (int c = 0; c < 3; ++c)
        detail[static_cast<std::size_t>(y) * p.width_px + x] +=
            std::abs(p.at(x + 1, y, c) - p.at(x, y, c)) + std::abs(p.at(x, y + 1, c) - p.at(x, y, c));
  return detail;
}

// Places half of the Gaussians evenly and half where there is detail. They are smaller where they are denser.
Gaussians initial_gaussians(const Image& image, const Camera& camera, const FitOptions& options) {
  Random random(options.seed);
  std::size_t count = static_cast<std::size_t>(options.gaussian_count);
  std::vector<double> cumulative;
  double total = 0, mean_detail = 0;
  std::vector<float> detail = detail_of(image);
  for (float d : detail) mean_detail += d / static_cast<double>(detail.size());
  for (float d : detail) cumulative.push_back(total += d + mean_detail + 1e-9);

  Gaussians g = make_gaussians(count, 0);
  double pixels_each = static_cast<double>(image.pixel_count()) / static_cast<double>(count);
  for (std::size_t i = 0; i < count; ++i) {
    double pick = random.uniform() * total;
    auto at = std::lower_bound(cumulative.begin(), cumulative.end() - 1, pick) - cumulative.begin();
    int x = static_cast<int>(at % image.width_px), y = static_cast<int>(at / image.width_px);
    float u = static_cast<float>(x) + random.uniform(), v = static_cast<float>(y) + random.uniform();
    g.mean[i] = {(u - camera.center_px.x) / camera.focal_px.x, (v - camera.center_px.y) / camera.focal_px.y,
                 0};
    double density = (detail[at] + mean_detail + 1e-9) * static_cast<double>(image.pixel_count()) / total;
    float sigma_px = static_cast<float>(0.6 * std::sqrt(pixels_each / std::min(density, 16.0)));
    float log_scale = std::log(std::max(sigma_px, 0.3f) / camera.focal_px.x);
    g.log_scale[i] = {log_scale, log_scale, log_scale};
    g.rotation[i] = {1, 0, 0, 0};
    g.logit_opacity[i] = 0.5f;
    for (int c = 0; c < 3; ++c) g.sh[i][c] = (image.at(x, y, c) - 0.5f) / Math<float>::sh_0;
  }
  return g;
}

}  // namespace

ImageFit::ImageFit(Backend& backend, const Image& image, const FitOptions& options)
    : backend_(backend), options_(options) {
  assert(image.channel_count == 3);
  view_.camera = camera_for(image);
  target_.color.upload(backend_, to_bytes(image));
  view_.id = 0;
  state_ = make_train_state(backend_, initial_gaussians(image, view_.camera, options));
}

float ImageFit::step() {
  ++step_;
  TrainStep step;
  step.loss = {.l1_weight = 1 - options_.ssim_weight, .ssim_weight = options_.ssim_weight};
  step.adam = rates();
  const TrainView view{view_, &target_};
  const PassResult result = backend_.train_step(state_, {&view, 1}, step, buffers_);
  keep_on_plane();
  return result.views[0].loss.total;
}

// All learning rates decay to a twentieth over the run.
AdamOptions ImageFit::rates() const {
  float pixel = 1 / view_.camera.focal_px.x;
  float fall = std::pow(0.05f, static_cast<float>(step_) / static_cast<float>(options_.steps));
  AdamOptions rates;
  rates.mean = 0.6f * pixel * fall;
  rates.log_scale = 0.03f * fall;
  rates.rotation = 0.03f * fall;
  rates.logit_opacity = 0.05f * fall;
  rates.sh_base = 0.03f * fall;
  rates.step = step_;
  return rates;
}

// The Gaussians must stay on the plane, since a single image does not determine their depth.
void ImageFit::keep_on_plane() {
  std::vector<Vec3f> mean = state_.gaussians.mean.download(backend_);
  for (Vec3f& m : mean) m.z = 0;
  state_.gaussians.mean.upload(backend_, mean);
}

Image ImageFit::render() { return stipple::render(backend_, state_.gaussians, view_, buffers_.pass).color; }

}  // namespace stipple
