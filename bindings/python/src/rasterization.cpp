// SPDX-License-Identifier: Apache-2.0
// One picture forward and backward, over borrowed memory: parameters, pictures and gradients stay where they
// are, on the host or on a GPU. Only what the stages keep for the way back is ours.
#include "bindings/python/src/bindings.h"
#include "bindings/python/src/shared_backend.h"

namespace stipple {

namespace {

struct Addresses {  // one for each array of parameters, or of their gradients; scales and opacities as they
                    // are
  Address mean, scale, rotation, opacity, sh, color, covariance;
};

struct Parameters {
  DeviceGaussians gaussians;
  Precomputed precomputed;

  Parameters(Backend& backend, const Addresses& at, std::size_t count, int sh_degree) {
    gaussians.sh_degree = sh_degree;
    gaussians.mean = array_over<Vec3f>(backend, at.mean, count);
    gaussians.log_scale = array_over<Vec3f>(backend, at.scale, count);
    gaussians.rotation = array_over<Vec4f>(backend, at.rotation, count);
    gaussians.logit_opacity = array_over<float>(backend, at.opacity, count);
    gaussians.sh = array_over<Vec3f>(backend, at.sh, count * static_cast<std::size_t>(gaussians.sh_count()));
    precomputed.color = array_over<Vec3f>(backend, at.color, count);
    precomputed.covariance = array_over<PackedCovariance>(backend, at.covariance, count);
    precomputed.is_activated = true;
  }
};

class Rasterization {
 public:
  Rasterization(const std::string& backend, std::size_t count, int sh_degree, const Addresses& parameters,
                const View& view)
      : backend_(shared_backend(backend)),
        count_(count),
        sh_degree_(sh_degree),
        parameters_(parameters),
        view_(view) {}

  // `splat` has 16 floats a Gaussian (struct ProjectedSplat); pictures are planar. `features` has
  // feature_count floats a Gaussian, blended into as many planes.
  void forward(Address splat, Address color, Address transmittance, Address depth, Address features,
               int feature_count, Address planes, Address stream) {
    backend_->use([&](Backend& backend) {
      const OnStream order(backend, stream);
      const std::size_t pixels =
          static_cast<std::size_t>(view_.camera.width_px) * static_cast<std::size_t>(view_.camera.height_px);
      pass_.projection.splat = array_over<ProjectedSplat>(backend, splat, count_);
      pass_.frame.color = array_over<float>(backend, color, 3 * pixels);
      pass_.frame.transmittance = array_over<float>(backend, transmittance, pixels);
      pass_.frame.depth = array_over<float>(backend, depth, pixels);
      const Parameters in(backend, parameters_, count_, sh_degree_);
      stipple::forward(backend, in.gaussians, in.precomputed, view_, pass_);
      features_.count = feature_count;
      features_.value =
          array_over<float>(backend, features, count_ * static_cast<std::size_t>(feature_count));
      planes_ = array_over<float>(backend, planes, pixels * static_cast<std::size_t>(feature_count));
      if (feature_count > 0) backend.blend_channels(view_, features_, pass_, planes_);
    });
  }

  struct Outcome {
    CameraGradient camera;
    Vec3f background{0, 0, 0};
  };

  // `dL_dsplat` has 10 floats a Gaussian (struct Splat), of which the first two are those of its place.
  Outcome backward(Address dL_dcolor, Address dL_dalpha, Address dL_ddepth, Address dL_dsplat,
                   Address absolute, Address dL_dplanes, Address dL_dfeatures, const Addresses& gradients,
                   bool wants_camera, bool wants_background, Address stream) {
    return backend_->use([&](Backend& backend) {
      const OnStream order(backend, stream);
      const std::size_t pixels = pass_.frame.transmittance.size();
      pass_.dL_dframe.color = array_over<float>(backend, dL_dcolor, 3 * pixels);
      pass_.dL_dframe.alpha = array_over<float>(backend, dL_dalpha, pixels);
      pass_.dL_dframe.depth = array_over<float>(backend, dL_ddepth, pixels);
      pass_.dL_dsplat.splat = array_over<Splat>(backend, dL_dsplat, count_);
      pass_.dL_dsplat.absolute_mean_px = array_over<Vec2f>(backend, absolute, count_);
      const WantedGradients wanted{
          .absolute_mean = absolute != 0, .background = wants_background, .camera = wants_camera};
      backend.blend_backward(view_, wanted, pass_);
      if (dL_dplanes != 0) {
        auto of_features = array_over<float>(backend, dL_dfeatures, features_.value.size());
        backend.blend_channels_backward(view_, features_, planes_,
                                        array_over<float>(backend, dL_dplanes, planes_.size()), pass_,
                                        of_features);
      }
      const Parameters in(backend, parameters_, count_, sh_degree_);
      Parameters out(backend, gradients, count_, sh_degree_);
      GradientSum sum;
      sum.gaussians = std::move(out.gaussians);
      sum.precomputed = std::move(out.precomputed);
      backend.project_backward(in.gaussians, in.precomputed, view_, wanted, pass_, sum);
      Outcome outcome;
      if (!wants_camera && !wants_background) return outcome;  // and nobody waits
      const ViewResult result = backend.read(pass_).views.back();
      outcome.camera = result.camera;
      outcome.background = result.background;
      return outcome;
    });
  }

 private:
  std::shared_ptr<SharedBackend> backend_;
  std::size_t count_;
  int sh_degree_;
  Addresses parameters_;
  View view_;
  Pass pass_;
  Channels features_;
  DeviceArray<float> planes_;
};

DepthOutput depth_output(const std::string& name) {
  return name == "inverse"    ? DepthOutput::kInverse
         : name == "expected" ? DepthOutput::kExpected
                              : DepthOutput::kNone;
}

// camera_from_world is 12 numbers, row by row.
View make_view(const std::array<float, 12>& m, std::array<float, 2> focal, std::array<float, 2> center,
               int width, int height, std::array<float, 3> background, const std::string& depth,
               bool antialiased, float scale_modifier, float alpha_max, float near_plane) {
  View view;
  view.camera.camera_from_world = {rotation_from(m.data()), translation_from(m.data())};
  view.camera.focal_px = {focal[0], focal[1]};
  view.camera.center_px = {center[0], center[1]};
  view.camera.width_px = width;
  view.camera.height_px = height;
  view.options.background = {background[0], background[1], background[2]};
  view.options.depth = depth_output(depth);
  view.options.antialiased = antialiased;
  view.options.scale_modifier = scale_modifier;
  view.options.alpha_max = alpha_max;
  view.options.near_plane = near_plane;
  return view;
}

}  // namespace

void bind_rasterization(py::module_& module) {
  // As the decimal numbers that they are written as: 0.99, not the float's 0.9900000095.
  module.attr("ALPHA_MAX") = Math<double>::default_alpha_max;
  module.attr("NEAR_PLANE") = Math<double>::default_near_plane;
  py::class_<View>(module, "View").def(py::init(&make_view));
  py::class_<Addresses>(module, "Addresses")
      .def(py::init([](Address mean, Address scale, Address rotation, Address opacity, Address sh,
                       Address color, Address covariance) {
        return Addresses{mean, scale, rotation, opacity, sh, color, covariance};
      }));
  py::class_<Rasterization>(module, "Rasterization")
      .def(py::init<const std::string&, std::size_t, int, const Addresses&, const View&>(), NoLock())
      .def("forward", &Rasterization::forward, NoLock())
      .def("backward",
           [](Rasterization& r, Address dL_dcolor, Address dL_dalpha, Address dL_ddepth, Address dL_dsplat,
              Address absolute, Address dL_dplanes, Address dL_dfeatures, const Addresses& gradients,
              bool wants_camera, bool wants_background, Address stream) {
             const Rasterization::Outcome outcome = without_lock([&] {
               return r.backward(dL_dcolor, dL_dalpha, dL_ddepth, dL_dsplat, absolute, dL_dplanes,
                                 dL_dfeatures, gradients, wants_camera, wants_background, stream);
             });
             const Vec3f b = outcome.background;
             const CameraGradient& c = outcome.camera;
             return py::make_tuple(camera_numbers(c.camera_from_world.rotation,
                                                  c.camera_from_world.translation, c.focal_px, c.center_px),
                                   std::vector<float>{b.x, b.y, b.z});
           });
}

}  // namespace stipple
