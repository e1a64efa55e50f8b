// SPDX-License-Identifier: Apache-2.0
// Forward and backward pass of one view in borrowed memory: parameters, images and gradients stay in the
// caller's memory, on the host or on a GPU. Only the state kept for the backward pass is allocated here.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "bindings/python/src/bindings.h"
#include "bindings/python/src/shared_backend.h"
#include "stipple/options/option_text.h"

namespace stipple {

namespace {

// The arrays of parameters, or of their gradients. Scales and opacities are activated, not logarithms and
// logits.
struct Addresses {
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

  // `splat` has room for 16 floats per Gaussian (struct ProjectedSplat), and `visible` for 2 words per 32
  // Gaussians (struct VisibleBlock), which say which Gaussian has which row; images are planar. `features`
  // has feature_count floats per Gaussian, which are blended into feature_count planes.
  void forward(Address splat, Address visible, Address color, Address transmittance, Address depth,
               Address features, int feature_count, Address planes, Address stream) {
    backend_->use([&](Backend& backend) {
      const OnStream order(backend, stream);
      const std::size_t pixels =
          static_cast<std::size_t>(view_.camera.width_px) * static_cast<std::size_t>(view_.camera.height_px);
      pass_.projection.splat = array_over<ProjectedSplat>(backend, splat, count_);
      pass_.projection.visible = array_over<VisibleBlock>(backend, visible, visible_block_count(count_));
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

  // `dL_dsplat` has room for 10 floats per Gaussian (struct Splat), in the rows of the splats; the first two
  // belong to the screen position. So has `absolute` for 2.
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
      if (!wants_camera && !wants_background) return outcome;  // without waiting for the device
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

void set(const std::string&, const py::handle& given, bool& value) {
  const int truth = PyObject_IsTrue(given.ptr());
  if (truth < 0) throw py::error_already_set();
  value = truth != 0;
}

void set(const std::string& name, const py::handle& given, float& value) {
  const double number = PyFloat_AsDouble(given.ptr());
  if (PyErr_Occurred()) {
    PyErr_Clear();
    throw py::type_error(
        fmt::format("{} must be a number, not {}", name, py::repr(given).cast<std::string>()));
  }
  value = static_cast<float>(number);
}

void set(const std::string& name, const py::handle& given, Vec3f& value) {
  const auto numbers = py::array_t<float, py::array::c_style | py::array::forcecast>::ensure(given);
  if (!numbers) {
    PyErr_Clear();
    throw py::type_error(fmt::format("{} must hold numbers", name));
  }
  if (numbers.ndim() != 1 || numbers.size() != 3) {
    const std::string shape = py::str(numbers.attr("shape")).cast<std::string>();
    throw py::value_error(fmt::format("{} must have the shape (3,), not {}", name, shape));
  }
  value = {numbers.at(0), numbers.at(1), numbers.at(2)};
}

// Render options by their names in Python. Raises TypeError for an unknown name.
RenderOptions render_options_from(const py::dict& given) {
  RenderOptions options;
  std::size_t taken = 0;
  for_each_render_option(options, [&](const char* name, auto& value, OptionRange range, const char*) {
    if (!given.contains(name)) return;
    ++taken;
    set(name, given[name], value);
    if (const char* problem = range_problem(range, value))
      throw py::value_error(
          fmt::format("{} {}, not {}", name, problem, py::repr(given[name]).cast<std::string>()));
  });
  if (taken == given.size()) return options;
  std::set<std::string> known;
  for_each_render_option(options,
                         [&](const char* name, auto&, OptionRange, const char*) { known.insert(name); });
  for (const auto& item : given)
    if (const auto name = item.first.cast<std::string>(); !known.contains(name))
      throw py::type_error(
          fmt::format("unknown render option '{}'; the options are: {}", name, fmt::join(known, ", ")));
  return options;
}

// The name in Python, the default value and the description of every option.
std::vector<std::tuple<std::string, std::string, std::string>> list_render_options() {
  std::vector<std::tuple<std::string, std::string, std::string>> rows;
  const RenderOptions defaults;
  for_each_render_option(defaults, [&](const char* name, const auto& value, OptionRange, const char* help) {
    rows.emplace_back(name, to_text(value), help);
  });
  return rows;
}

// camera_from_world has 12 numbers, row-major.
View make_view(const std::array<float, 12>& m, std::array<float, 2> focal, std::array<float, 2> center,
               int width, int height, const std::string& depth, const py::dict& options) {
  View view;
  view.camera.camera_from_world = {rotation_from(m.data()), translation_from(m.data())};
  view.camera.focal_px = {focal[0], focal[1]};
  view.camera.center_px = {center[0], center[1]};
  view.camera.width_px = width;
  view.camera.height_px = height;
  view.options = render_options_from(options);
  view.options.depth = depth_output(depth);
  return view;
}

}  // namespace

void bind_rasterization(py::module_& module) {
  // In double precision, so that Python prints it as the decimal number in the source.
  module.attr("NEAR_PLANE") = Math<double>::default_near_plane;
  module.def("render_options", &list_render_options);
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
