// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/view/model_on_device.h"

#include <algorithm>

#include "stipple/edit/sh_degree.h"

namespace stipple {

ModelOnDevice::ModelOnDevice(Backend& backend, const Gaussians& gaussians, const RenderOptions& options,
                             float middle_depth)
    : backend_(backend),
      options_(options),
      middle_depth_(middle_depth),
      full_degree_(gaussians.sh_degree),
      gaussians_(upload(backend, gaussians)) {}

ByteImage ModelOnDevice::picture(const CameraMessage& wanted) {
  RenderOptions options = options_to_show(wanted.shown, options_);
  options.background = wanted.background;
  options.scale_modifier *= wanted.scale_modifier;
  const View view{wanted.camera, options};
  if (wanted.shown == Shown::kGaussians)
    render_frame(backend_, ellipsoids().gaussians, ellipsoids().precomputed, view, pass_);
  else
    render_frame(backend_, of_degree(wanted.sh_degree), {}, view, pass_);
  return shown_picture(download_frame(backend_, pass_.frame),
                       {wanted.shown, wanted.background, middle_depth_});
}

Image ModelOnDevice::render_as_trained(const Camera& camera) {
  render_frame(backend_, of_degree(full_degree_), {}, {camera, options_}, pass_);
  return download_frame(backend_, pass_.frame).color;
}

const DeviceGaussians& ModelOnDevice::of_degree(int wanted) {
  const int degree = std::min(wanted, full_degree_);
  if (degree == gaussians_.sh_degree) return gaussians_;
  if (gaussians_.sh_degree != full_degree_) {  // so that the other ones are all of them
    std::swap(gaussians_.sh, other_sh_->second);
    std::swap(gaussians_.sh_degree, other_sh_->first);
  }
  if (degree == full_degree_) return gaussians_;
  if (!other_sh_ || other_sh_->first != degree) {
    Gaussians g;
    g.mean.resize(gaussians_.size());
    g.sh = gaussians_.sh.download(backend_);
    g.sh_degree = full_degree_;
    set_sh_degree(g, degree);
    other_sh_.emplace(degree, DeviceArray<Vec3f>(backend_, g.sh));
  }
  std::swap(gaussians_.sh, other_sh_->second);
  std::swap(gaussians_.sh_degree, other_sh_->first);
  return gaussians_;
}

const Ellipsoids& ModelOnDevice::ellipsoids() {
  if (!ellipsoids_) ellipsoids_ = gaussians_as_ellipsoids(backend_, gaussians_);
  return *ellipsoids_;
}

}  // namespace stipple
