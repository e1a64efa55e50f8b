// SPDX-License-Identifier: Apache-2.0
// The reference renderer in double precision, forward and backward: slow, and the standard that the
// kernels are tested against.
#include "bindings/python/src/bindings.h"
#include "stipple/backend/render_settings.h"
#include "stipple/reference/reference_render.h"

namespace stipple {

namespace {

using Values = HostValues<double>;
using M64 = Math<double>;

// Converts the rows of an array to structs with that number of members, and back.
template <class T>
std::vector<T> rows_of(const Values& values) {
  std::vector<T> rows(static_cast<std::size_t>(values.size()) * sizeof(double) / sizeof(T));
  std::copy_n(values.data(), values.size(), reinterpret_cast<double*>(rows.data()));
  return rows;
}
template <class T>
Values values_of(const std::vector<T>& rows) {
  Values values(static_cast<py::ssize_t>(rows.size() * sizeof(T) / sizeof(double)));
  std::copy_n(reinterpret_cast<const double*>(rows.data()), values.size(), values.mutable_data());
  return values;
}

class Reference {
 public:
  // `camera` has 12 numbers of camera_from_world, 2 of the focal length and 2 of the principal point.
  Reference(const Values& mean, const Values& log_scale, const Values& rotation, const Values& logit_opacity,
            const Values& sh, int sh_degree, const Values& color, const Values& covariance,
            const Values& camera, const Values& background, const View& view) {
    s_.mean = rows_of<Vec3<double>>(mean);
    s_.log_scale = rows_of<Vec3<double>>(log_scale);
    s_.rotation = rows_of<Vec4<double>>(rotation);
    s_.logit_opacity = rows_of<double>(logit_opacity);
    s_.sh = rows_of<Vec3<double>>(sh);
    s_.sh_degree = sh_degree;
    s_.color = rows_of<Vec3<double>>(color);
    s_.covariance = rows_of<M64::PackedCovariance>(covariance);
    const double* c = camera.data();
    s_.camera.rotation = rotation_from(c);
    s_.camera.translation = translation_from(c);
    s_.camera.focal_px = {c[12], c[13]};
    s_.camera.center_px = {c[14], c[15]};
    s_.camera.size_px = {static_cast<double>(view.camera.width_px),
                         static_cast<double>(view.camera.height_px)};
    s_.background = {background.at(0), background.at(1), background.at(2)};
    s_.settings = render_settings<M64::RenderSettings>(view.options);
  }

  py::tuple forward() const {
    ReferencePicture<double> image;
    {
      const py::gil_scoped_release no_lock;
      image = reference_render(s_);
    }
    return py::make_tuple(values_of(image.channels), values_of(image.alpha));
  }

  // Rows with mean in pixels, half extent in pixels, depth, conic and opacity.
  Values splats() const {
    std::vector<double> rows;
    for (const auto& s : reference_project(s_)) {
      const auto& f = s.footprint;
      rows.insert(rows.end(), {f.mean_px.x, f.mean_px.y, f.half_extent_px.x, f.half_extent_px.y, f.depth,
                               f.conic.x, f.conic.y, f.conic.z, f.opacity});
    }
    return values_of(rows);
  }

  py::tuple backward(const Values& dL_dchannels, const Values& dL_dalpha) const {
    const ReferencePicture<double> dL_dpicture{rows_of<Vec4<double>>(dL_dchannels),
                                               rows_of<double>(dL_dalpha)};
    ReferenceScene<double> g;
    std::vector<M64::Splat> dL_dsplat;
    {
      const py::gil_scoped_release no_lock;
      g = reference_backward(s_, dL_dpicture);
      Vec3<double> background(0, 0, 0);
      dL_dsplat = reference_blend_backward(s_, reference_project(s_), dL_dpicture, background);
    }
    std::vector<double> mean_px;
    for (const auto& d : dL_dsplat) mean_px.insert(mean_px.end(), {d.mean_px.x, d.mean_px.y});
    const std::vector<double> camera =
        camera_numbers(g.camera.rotation, g.camera.translation, g.camera.focal_px, g.camera.center_px);
    return py::make_tuple(values_of(g.mean), values_of(g.log_scale), values_of(g.rotation),
                          values_of(g.logit_opacity), values_of(g.sh), values_of(g.color),
                          values_of(g.covariance), values_of(camera),
                          values_of(std::vector<Vec3<double>>{g.background}), values_of(mean_px));
  }

 private:
  ReferenceScene<double> s_;
};

}  // namespace

void bind_reference(py::module_& module) {
  py::class_<Reference>(module, "Reference")
      .def(py::init<const Values&, const Values&, const Values&, const Values&, const Values&, int,
                    const Values&, const Values&, const Values&, const Values&, const View&>())
      .def("forward", &Reference::forward)
      .def("splats", &Reference::splats)
      .def("backward", &Reference::backward);
}

}  // namespace stipple
