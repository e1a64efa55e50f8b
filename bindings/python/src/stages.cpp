// SPDX-License-Identifier: Apache-2.0
// The stages one by one, with what passes between them as arrays that can be read and written.
#include "bindings/python/src/bindings.h"
#include "bindings/python/src/shared_backend.h"

namespace stipple {

py::tuple to_numpy(const Gaussians& g);

namespace {

// What a stage left on a backend.
template <class T>
struct On {
  std::shared_ptr<SharedBackend> backend;
  T value{};
};

struct Moments {
  On<AdamMoments> on;
  std::size_t count = 0;
};

// Makes an array of T a property: floats or other numbers, `columns` to a row (0: one to a row, no columns).
template <class Number, class Class, class Get>
void def_array(py::class_<Class>& bound, const char* name, py::ssize_t columns, Get get) {
  bound.def_property(
      name,
      [columns, get](Class& c) {
        auto& array = get(c.value);
        using T = typename std::decay_t<decltype(array.download(std::declval<Backend&>()))>::value_type;
        std::vector<T> values;
        {
          const py::gil_scoped_release no_lock;
          values = c.backend->use([&](Backend& b) { return array.download(b); });
        }
        const auto numbers = static_cast<py::ssize_t>(values.size() * sizeof(T) / sizeof(Number));
        py::array_t<Number> out(columns == 0 ? std::vector<py::ssize_t>{numbers}
                                             : std::vector<py::ssize_t>{numbers / columns, columns});
        std::copy_n(reinterpret_cast<const Number*>(values.data()), numbers, out.mutable_data());
        return out;
      },
      [get](Class& c, const HostValues<Number>& values) {
        auto& array = get(c.value);
        using T = typename std::decay_t<decltype(array.download(std::declval<Backend&>()))>::value_type;
        const std::size_t size = static_cast<std::size_t>(values.size()) * sizeof(Number) / sizeof(T);
        if (size != array.size()) throw py::value_error("an array of a stage keeps its size");
        const std::span<const T> from(reinterpret_cast<const T*>(values.data()), size);
        c.backend->use([&](Backend& b) { array.upload(b, from); });
      });
}

using OnProjection = On<Projection>;
using OnBins = On<TileBins>;
using OnFrame = On<Frame>;
using OnFrameGradient = On<FrameGradient>;
using OnSplatGradient = On<SplatGradient>;

DeviceGaussians copy_to_device(Backend& b, const HostGaussians& g) {
  return upload(b, download(b, to_device(b, g)));
}

py::tuple stage_loss(const OnFrame& frame, const HostValues<std::uint8_t>& target,
                     const HostValues<float>& weight, float ssim_weight) {
  OnFrameGradient gradient{frame.backend, {}};
  const std::span<const std::uint8_t> color(target.data(), static_cast<std::size_t>(target.size()));
  const std::span<const float> weights(weight.data(), static_cast<std::size_t>(weight.size()));
  LossValue value;
  {
    const py::gil_scoped_release no_lock;
    value = frame.backend->use([&](Backend& b) {
      LossTarget t;
      t.color.upload(b, color);
      if (!weights.empty()) t.weight.upload(b, weights);
      return b.loss(frame.value, t, ssim_weight, gradient.value);
    });
  }
  return py::make_tuple(value.total, value.mean_squared_error, std::move(gradient));
}

py::tuple stage_project_backward(const HostGaussians& gaussians, const View& view,
                                 const OnProjection& projection, const OnSplatGradient& dL_dsplat) {
  CameraGradient camera;
  Gaussians gradients;
  {
    const py::gil_scoped_release no_lock;
    gradients = projection.backend->use([&](Backend& b) {
      DeviceGaussians out;
      Precomputed none;
      b.project_backward(to_device(b, gaussians), {}, view, projection.value, dL_dsplat.value, out, none,
                         &camera);
      return download(b, out);
    });
  }
  return py::make_tuple(to_numpy(gradients), camera_numbers(camera.camera_from_world.rotation,
                                                            camera.camera_from_world.translation,
                                                            camera.focal_px, camera.center_px));
}

// The Gaussians after one step of Adam; the moments go on.
py::tuple stage_optimize(const HostGaussians& gaussians, const HostGaussians& gradients,
                         const OnProjection& projection, Moments& moments, const std::vector<float>& rates,
                         int step, bool visible_only) {
  AdamOptions options{.mean = rates[0],
                      .log_scale = rates[1],
                      .rotation = rates[2],
                      .logit_opacity = rates[3],
                      .sh_base = rates[4],
                      .sh_rest = rates[5],
                      .step = step,
                      .visible_only = visible_only};
  Gaussians after;
  {
    const py::gil_scoped_release no_lock;
    after = projection.backend->use([&](Backend& b) {
      DeviceGaussians g = copy_to_device(b, gaussians);
      const DeviceGaussians d = copy_to_device(b, gradients);
      if (moments.on.value.first.size() == 0) moments.on.value = {zeros_like(b, g), zeros_like(b, g)};
      b.optimize(g, d, projection.value, moments.on.value, options);
      return download(b, g);
    });
  }
  return to_numpy(after);
}

}  // namespace

namespace {

void bind_objects(py::module_& module) {
  py::class_<OnProjection> projection(module, "Projection");
  def_array<float>(
      projection, "splat", 16, [](Projection & p) -> auto& { return p.splat; });
  py::class_<OnBins> bins(module, "TileBins");
  bins.def_property_readonly("column_count", [](const OnBins& b) { return b.value.column_count; });
  bins.def_property_readonly("row_count", [](const OnBins& b) { return b.value.row_count; });
  def_array<std::uint32_t>(
      bins, "slot_begin_from_tile", 0, [](TileBins & b) -> auto& { return b.slot_begin_from_tile; });
  def_array<std::uint32_t>(
      bins, "gaussian_from_slot", 0, [](TileBins & b) -> auto& { return b.gaussian_from_slot; });
  py::class_<OnFrame> frame(module, "Frame");
  frame.def_property_readonly("width", [](const OnFrame& f) { return f.value.width_px; });
  frame.def_property_readonly("height", [](const OnFrame& f) { return f.value.height_px; });
  def_array<float>(
      frame, "color", 0, [](Frame & f) -> auto& { return f.color; });
  def_array<float>(
      frame, "transmittance", 0, [](Frame & f) -> auto& { return f.transmittance; });
  def_array<float>(
      frame, "depth", 0, [](Frame & f) -> auto& { return f.depth; });
  py::class_<Moments>(module, "Moments").def(py::init<>());
}

OnFrameGradient make_frame_gradient(const OnFrame& frame, const HostValues<float>& color,
                                    const HostValues<float>& alpha, const HostValues<float>& depth) {
  OnFrameGradient made{frame.backend, {}};
  const auto span = [](const HostValues<float>& v) {
    return std::span<const float>(v.data(), static_cast<std::size_t>(v.size()));
  };
  const std::span<const float> of_color = span(color), of_alpha = span(alpha), of_depth = span(depth);
  const py::gil_scoped_release no_lock;
  frame.backend->use([&](Backend& b) {
    made.value.color.upload(b, of_color);
    if (!of_alpha.empty()) made.value.alpha.upload(b, of_alpha);
    if (!of_depth.empty()) made.value.depth.upload(b, of_depth);
  });
  return made;
}

void bind_gradients(py::module_& module) {
  py::class_<OnFrameGradient> dL_dframe(module, "FrameGradient");
  def_array<float>(
      dL_dframe, "color", 0, [](FrameGradient & f) -> auto& { return f.color; });
  dL_dframe.def(py::init(&make_frame_gradient));
  py::class_<OnSplatGradient> dL_dsplat(module, "SplatGradient");
  def_array<float>(
      dL_dsplat, "splat", 10, [](SplatGradient & s) -> auto& { return s.splat; });
  def_array<float>(
      dL_dsplat, "absolute_mean_px", 2, [](SplatGradient & s) -> auto& { return s.absolute_mean_px; });
  dL_dsplat.def_property_readonly("background", [](const OnSplatGradient& s) {
    const Vec3f b = s.value.background;
    return std::vector<float>{b.x, b.y, b.z};
  });
}

OnProjection stage_project(const std::string& name, const HostGaussians& gaussians, const View& view) {
  OnProjection out{shared_backend(name), {}};
  out.backend->use([&](Backend& b) { b.project(to_device(b, gaussians), {}, view, out.value); });
  return out;
}

OnBins stage_bin(const OnProjection& projection, const View& view) {
  OnBins out{projection.backend, {}};
  out.backend->use([&](Backend& b) { b.bin(projection.value, view, out.value); });
  return out;
}

OnFrame stage_blend(const OnProjection& projection, const OnBins& bins, const View& view) {
  OnFrame out{projection.backend, {}};
  out.backend->use([&](Backend& b) { b.blend(projection.value, bins.value, view, out.value); });
  return out;
}

OnSplatGradient stage_blend_backward(const OnProjection& projection, const OnBins& bins, const View& view,
                                     const OnFrame& frame, const OnFrameGradient& dL_dframe,
                                     bool wants_absolute) {
  OnSplatGradient out{projection.backend, {}};
  out.value.wants_absolute = wants_absolute;
  out.value.wants_background = true;
  out.backend->use([&](Backend& b) {
    b.blend_backward(projection.value, bins.value, view, frame.value, dL_dframe.value, out.value);
  });
  return out;
}

}  // namespace

void bind_stages(py::module_& module) {
  bind_objects(module);
  bind_gradients(module);
  module.def("stage_project", &stage_project, NoLock());
  module.def("stage_bin", &stage_bin, NoLock());
  module.def("stage_blend", &stage_blend, NoLock());
  module.def("stage_loss", &stage_loss);
  module.def("stage_blend_backward", &stage_blend_backward, NoLock());
  module.def("stage_project_backward", &stage_project_backward);
  module.def("stage_optimize", &stage_optimize);
}

}  // namespace stipple
