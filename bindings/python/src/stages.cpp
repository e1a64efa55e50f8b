// SPDX-License-Identifier: Apache-2.0
// The stages of the pipeline, with their intermediate results as arrays that can be read and written. Unlike
// in the rest of the module, arguments are checked here, where it is known which results belong together.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "bindings/python/src/bindings.h"
#include "bindings/python/src/shared_backend.h"

namespace stipple {

namespace {

// A pass on a backend, with its number of Gaussians and its resolution. The stages' objects share it, so that
// nothing is copied; if a stage is run a second time on the same input, it gets a copy of the pass, and the
// first result remains valid.
struct SharedPass {
  std::shared_ptr<SharedBackend> backend;
  std::size_t count = 0;
  int width = 0, height = 0;
  Pass pass;
  bool has_bins = false, has_frame = false;
};

// The result of a stage, in a pass.
struct OnPass {
  std::shared_ptr<SharedPass> on;
};
struct OnProjection : OnPass {
  Projection& value() const { return on->pass.projection; }
};
struct OnBins : OnPass {
  TileBins& value() const { return on->pass.bins; }
};
struct OnFrame : OnPass {
  Frame& value() const { return on->pass.frame; }
};
// Gradients belong to the objects, since there may be several for one frame. They are lent to the pass for
// the duration of a stage.
struct OnFrameGradient : OnPass {
  std::shared_ptr<FrameGradient> gradient = std::make_shared<FrameGradient>();
  FrameGradient& value() const { return *gradient; }
};
struct OnSplatGradient : OnPass {
  std::shared_ptr<SplatGradient> gradient = std::make_shared<SplatGradient>();
  Vec3f background{0, 0, 0};
  SplatGradient& value() const { return *gradient; }
};

std::shared_ptr<SharedPass> copy_of(Backend& backend, const SharedPass& from) {
  auto to = std::make_shared<SharedPass>();
  to->backend = from.backend;
  to->count = from.count;
  to->width = from.width;
  to->height = from.height;
  to->pass = backend.copy_of(from.pass);
  return to;
}

// Swaps `own` and `lent` during its lifetime.
template <class T>
class Lent {
 public:
  Lent(T& own, T& lent) : own_(own), lent_(lent) { std::swap(own_, lent_); }
  ~Lent() { std::swap(own_, lent_); }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;

 private:
  T &own_, &lent_;
};

struct Moments {
  AdamMoments value;
  std::shared_ptr<SharedBackend> backend;
};

// Throws ValueError unless the pass has the resolution of this view.
void check_view(const OnPass& made, const View& view) {
  const SharedPass& p = *made.on;
  if (p.width != view.camera.width_px || p.height != view.camera.height_px)
    throw py::value_error(fmt::format("projection was made for {}x{} pixels, but the camera has {}x{}",
                                      p.width, p.height, view.camera.width_px, view.camera.height_px));
}

// Throws ValueError unless both have the same backend, number of Gaussians, resolution and number of splats.
void check_origin(const char* name, const OnPass& made, const OnPass& wanted) {
  const SharedPass &a = *made.on, &b = *wanted.on;
  if (a.backend != b.backend)
    throw py::value_error(fmt::format("{} was made on another backend, or by another thread", name));
  if (a.count != b.count)
    throw py::value_error(
        fmt::format("{} was made for {} Gaussians, but projection has {}", name, a.count, b.count));
  if (a.width != b.width || a.height != b.height)
    throw py::value_error(fmt::format("{} was made for {}x{} pixels, but projection has {}x{}", name, a.width,
                                      a.height, b.width, b.height));
  if (a.pass.projection.splat.size() != b.pass.projection.splat.size())
    throw py::value_error(fmt::format("{} was made from another projection", name));
}

void check_count(const char* name, std::size_t count, const OnPass& projection) {
  if (count != projection.on->count)
    throw py::value_error(
        fmt::format("{} has {} Gaussians, but projection has {}", name, count, projection.on->count));
}

// Checks the type and shape of values that are assigned to an array.
template <class Number>
HostValues<Number> check_values(const char* name, const py::array& values, py::ssize_t numbers,
                                py::ssize_t columns) {
  if (!py::isinstance<py::array_t<Number>>(values))
    throw py::type_error(
        fmt::format("{} must be {}", name, std::is_same_v<Number, float> ? "float32" : "uint32"));
  const bool fits = columns == 0 ? values.ndim() == 1 : values.ndim() == 2 && values.shape(1) == columns;
  if (!fits || values.size() != numbers)
    throw py::value_error(fmt::format("{} cannot change its shape: assign an array of the same shape", name));
  return HostValues<Number>(values);
}

struct NoCheck {
  template <class... Any>
  void operator()(const Any&...) const {}
};

// Defines an array property with `columns` numbers per row (0 means one-dimensional). `check` validates
// assigned values.
template <class Number, class Class, class Get, class Check = NoCheck>
void def_array(py::class_<Class>& bound, const char* name, py::ssize_t columns, const char* help, Get get,
               Check check = {}) {
  using T = typename decltype(get(std::declval<Class&>().value())
                                  .download(std::declval<const Backend&>()))::value_type;
  bound.def_property(
      name,
      [columns, get](Class& c) {
        const std::vector<T> values = without_lock(
            [&] { return c.on->backend->use([&](Backend& b) { return get(c.value()).download(b); }); });
        const auto numbers = static_cast<py::ssize_t>(values.size() * sizeof(T) / sizeof(Number));
        return rows_to_numpy<Number>(values, columns == 0
                                                 ? std::vector<py::ssize_t>{numbers}
                                                 : std::vector<py::ssize_t>{numbers / columns, columns});
      },
      [name, columns, get, check](Class& c, const py::array& given) {
        auto& array = get(c.value());
        const auto numbers = static_cast<py::ssize_t>(array.size() * sizeof(T) / sizeof(Number));
        const HostValues<Number> values = check_values<Number>(name, given, numbers, columns);
        const std::span<const Number> from(values.data(), static_cast<std::size_t>(numbers));
        check(c, from);
        const py::gil_scoped_release no_lock;
        c.on->backend->use([&](Backend& b) {
          array.upload(b, {reinterpret_cast<const T*>(from.data()), array.size()});
        });
      },
      help);
}

// The Gaussians that the pass's view shows, in the order of the rows.
std::vector<std::uint32_t> shown_in(const SharedPass& on) {
  return on.backend->use(
      [&](Backend& b) { return gaussians_of_rows(on.pass.projection.visible.download(b)); });
}

// Defines a property of an array that has rows for the Gaussians that are shown. In Python it has a row for
// every Gaussian: zeros for the others, which cannot be changed.
template <class Class, class Get>
void def_rows(py::class_<Class>& bound, const char* name, py::ssize_t columns, const char* help, Get get) {
  using T = typename decltype(get(std::declval<Class&>().value())
                                  .download(std::declval<const Backend&>()))::value_type;
  constexpr std::size_t kFloats = sizeof(T) / sizeof(float);
  bound.def_property(
      name,
      [columns, get](Class& c) {
        const std::vector<T> values = without_lock([&] {
          const std::vector<T> rows =
              c.on->backend->use([&](Backend& b) { return get(c.value()).download(b); });
          const std::vector<std::uint32_t> shown = shown_in(*c.on);
          if (rows.empty() && !shown.empty()) return rows;  // not wanted
          std::vector<T> all(c.on->count, T{});
          for (std::size_t row = 0; row < shown.size(); ++row) all[shown[row]] = rows[row];
          return all;
        });
        return rows_to_numpy<float>(
            values, std::vector<py::ssize_t>{static_cast<py::ssize_t>(values.size()), columns});
      },
      [name, columns, get](Class& c, const py::array& given) {
        auto& array = get(c.value());
        const std::vector<std::uint32_t> shown = without_lock([&] { return shown_in(*c.on); });
        const std::size_t count = array.empty() && !shown.empty() ? 0 : c.on->count;
        const HostValues<float> values =
            check_values<float>(name, given, static_cast<py::ssize_t>(count * kFloats), columns);
        std::vector<T> rows(array.empty() ? 0 : shown.size());
        for (std::size_t row = 0; row < rows.size(); ++row)
          std::memcpy(&rows[row], values.data() + shown[row] * kFloats, sizeof(T));
        const py::gil_scoped_release no_lock;
        c.on->backend->use([&](Backend& b) { array.upload(b, rows); });
      },
      help);
}

// TileBins::splat_from_slot in terms of Gaussians.
py::array gaussian_from_slot(OnBins& bins) {
  const std::vector<std::uint32_t> slots = without_lock([&] {
    const std::vector<std::uint32_t> shown = shown_in(*bins.on);
    std::vector<std::uint32_t> values =
        bins.on->backend->use([&](Backend& b) { return bins.value().splat_from_slot.download(b); });
    for (std::uint32_t& slot : values) slot = shown.at(slot);
    return values;
  });
  return rows_to_numpy<std::uint32_t>(slots,
                                      std::vector<py::ssize_t>{static_cast<py::ssize_t>(slots.size())});
}

void set_gaussian_from_slot(OnBins& bins, const py::array& given) {
  auto& array = bins.value().splat_from_slot;
  const HostValues<std::uint32_t> values =
      check_values<std::uint32_t>("gaussian_from_slot", given, static_cast<py::ssize_t>(array.size()), 0);
  std::vector<std::uint32_t> slots(values.data(), values.data() + array.size());
  if (std::any_of(slots.begin(), slots.end(), [&](std::uint32_t g) { return g >= bins.on->count; }))
    throw py::value_error(
        fmt::format("gaussian_from_slot must hold indices from 0 to {}", bins.on->count - 1));
  const std::vector<std::uint32_t> shown = without_lock([&] { return shown_in(*bins.on); });
  for (std::uint32_t& slot : slots) {
    const auto row = std::lower_bound(shown.begin(), shown.end(), slot);
    if (row == shown.end() || *row != slot)
      throw py::value_error(fmt::format("gaussian_from_slot holds {}, which the view does not show", slot));
    slot = static_cast<std::uint32_t>(row - shown.begin());
  }
  const py::gil_scoped_release no_lock;
  bins.on->backend->use([&](Backend& b) { array.upload(b, slots); });
}

void check_begins(const OnBins& bins, std::span<const std::uint32_t> begin) {
  if (begin.front() != 0 || !std::is_sorted(begin.begin(), begin.end()) ||
      begin.back() != bins.value().splat_from_slot.size())
    throw py::value_error("slot_begin_from_tile must increase from 0 to the number of slots");
}

py::tuple stage_loss(const OnFrame& frame, const HostValues<std::uint8_t>& target,
                     const HostValues<float>& weight, float ssim_weight) {
  OnFrameGradient gradient{{frame.on}};
  const std::span<const std::uint8_t> color(target.data(), static_cast<std::size_t>(target.size()));
  const std::span<const float> weights(weight.data(), static_cast<std::size_t>(weight.size()));
  const LossValue value = without_lock([&] {
    return frame.on->backend->use([&](Backend& b) {
      LossTarget t;
      t.color.upload(b, color);
      if (!weights.empty()) t.weight.upload(b, weights);
      const Lent lent(frame.on->pass.dL_dframe, gradient.value());
      b.loss(View{}, t, {.l1_weight = 1 - ssim_weight, .ssim_weight = ssim_weight}, frame.on->pass);
      return b.read(frame.on->pass).views.back().loss;
    });
  });
  return py::make_tuple(value.total, value.mean_squared_error, std::move(gradient));
}

OnFrameGradient make_frame_gradient(const OnFrame& frame, const HostValues<float>& color,
                                    const HostValues<float>& alpha, const HostValues<float>& depth) {
  OnFrameGradient made{{frame.on}};
  const auto span = [](const HostValues<float>& v) {
    return std::span<const float>(v.data(), static_cast<std::size_t>(v.size()));
  };
  const std::span<const float> of_color = span(color), of_alpha = span(alpha), of_depth = span(depth);
  if (!of_depth.empty() && frame.value().depth.empty())
    throw py::value_error("a depth gradient was given, but the frame has no depth");
  const py::gil_scoped_release no_lock;
  frame.on->backend->use([&](Backend& b) {
    made.value().color.upload(b, of_color);
    if (!of_alpha.empty()) made.value().alpha.upload(b, of_alpha);
    if (!of_depth.empty()) made.value().depth.upload(b, of_depth);
  });
  return made;
}

OnProjection stage_project(const std::string& name, const HostGaussians& gaussians, const View& view) {
  auto on = std::make_shared<SharedPass>();
  on->backend = shared_backend(name);
  on->count = gaussians.count;
  on->width = view.camera.width_px;
  on->height = view.camera.height_px;
  on->backend->use([&](Backend& b) { b.project(to_device(b, gaussians), {}, view, on->pass); });
  return {{on}};
}

OnBins stage_bin(const OnProjection& projection, const View& view) {
  check_view(projection, view);
  return projection.on->backend->use([&](Backend& b) {
    const auto on = std::exchange(projection.on->has_bins, true) ? copy_of(b, *projection.on) : projection.on;
    on->has_bins = true;
    b.bin(view, on->pass);
    return OnBins{{on}};
  });
}

// Copies the splats of `projection`, which may have been assigned to, if `to` is another pass.
void take_splats(Backend& backend, const OnProjection& projection, SharedPass& to) {
  if (projection.on.get() != &to) to.pass.projection.splat = projection.value().splat.copy(backend);
}

// Likewise for the lists of `bins`, which must be as long as those that the frame was blended with.
void take_bins(Backend& backend, const OnBins& bins, SharedPass& to) {
  if (bins.on.get() == &to) return;
  if (bins.value().splat_from_slot.size() != to.pass.bins.splat_from_slot.size())
    throw py::value_error("frame was blended from other bins");
  to.pass.bins.splat_from_slot = bins.value().splat_from_slot.copy(backend);
  to.pass.bins.slot_begin_from_tile = bins.value().slot_begin_from_tile.copy(backend);
}

OnFrame stage_blend(const OnProjection& projection, const OnBins& bins, const View& view) {
  check_view(projection, view);
  check_origin("bins", bins, projection);
  return bins.on->backend->use([&](Backend& b) {
    const auto on = std::exchange(bins.on->has_frame, true) ? copy_of(b, *bins.on) : bins.on;
    on->has_bins = on->has_frame = true;
    take_splats(b, projection, *on);
    b.blend(view, on->pass);
    return OnFrame{{on}};
  });
}

OnSplatGradient stage_blend_backward(const OnProjection& projection, const OnBins& bins, const View& view,
                                     const OnFrame& frame, const OnFrameGradient& dL_dframe,
                                     bool wants_absolute) {
  check_view(projection, view);
  check_origin("bins", bins, projection);
  check_origin("frame", frame, projection);
  check_origin("dL_dframe", dL_dframe, projection);
  SharedPass& on = *frame.on;
  OnSplatGradient out{{projection.on}};
  on.backend->use([&](Backend& b) {
    take_splats(b, projection, on);
    take_bins(b, bins, on);
    const Lent lent_frame(on.pass.dL_dframe, dL_dframe.value());
    const Lent lent_splats(on.pass.dL_dsplat, out.value());
    b.blend_backward(view, {.absolute_mean = wants_absolute, .background = true}, on.pass);
    out.background = b.read(on.pass).views.back().background;
  });
  return out;
}

py::tuple stage_project_backward(const HostGaussians& gaussians, const View& view,
                                 const OnProjection& projection, const OnSplatGradient& dL_dsplat) {
  check_view(projection, view);
  check_origin("dL_dsplat", dL_dsplat, projection);
  check_count("gaussians", gaussians.count, projection);
  CameraGradient camera;
  const Gaussians gradients = without_lock([&] {
    SharedPass& on = *projection.on;
    return on.backend->use([&](Backend& b) {
      GradientSum sum;
      const Lent lent(on.pass.dL_dsplat, dL_dsplat.value());
      b.project_backward(to_device(b, gaussians), {}, view, {.camera = true}, on.pass, sum);
      camera = b.read(on.pass).views.back().camera;
      return download(b, sum.gaussians);
    });
  });
  return py::make_tuple(to_numpy(gradients), camera_numbers(camera.camera_from_world.rotation,
                                                            camera.camera_from_world.translation,
                                                            camera.focal_px, camera.center_px));
}

void check_moments(const Moments& moments, const HostGaussians& gaussians, const OnProjection& projection) {
  if (!moments.backend) return;  // empty before the first step
  if (moments.backend != projection.on->backend)
    throw py::value_error("moments were made on another backend, or by another thread");
  if (moments.value.size() != gaussians.count || moments.value.sh_degree != gaussians.sh_degree)
    throw py::value_error(fmt::format("moments were made for {} Gaussians of degree {}, not for these",
                                      moments.value.size(), moments.value.sh_degree));
}

// The visible Gaussians of the projection, in the format of GradientSum::view_statistics.
std::vector<Vec2f> seen_in(const Backend& backend, const OnProjection& projection) {
  std::vector<Vec2f> seen(projection.on->count, Vec2f(0, 0));
  const std::vector<ProjectedSplat> splats = projection.value().splat.download(backend);
  const std::vector<std::uint32_t> shown = gaussians_of_rows(projection.value().visible.download(backend));
  for (std::size_t row = 0; row < shown.size(); ++row)
    if (splats[row].splat.opacity > 0) seen[shown[row]] = {0, 1};
  return seen;
}

// Returns the Gaussians after one step of Adam, and updates the moments.
py::tuple stage_optimize(const HostGaussians& gaussians, const HostGaussians& gradients,
                         const OnProjection& projection, Moments& moments,
                         const std::vector<float>& learning_rates, int step, bool visible_only) {
  check_count("gaussians", gaussians.count, projection);
  check_moments(moments, gaussians, projection);
  AdamOptions options{.mean = learning_rates[0],
                      .log_scale = learning_rates[1],
                      .rotation = learning_rates[2],
                      .logit_opacity = learning_rates[3],
                      .sh_base = learning_rates[4],
                      .sh_rest = learning_rates[5],
                      .step = step,
                      .visible_only = visible_only};
  return to_numpy(without_lock([&] {
    return projection.on->backend->use([&](Backend& b) {
      // Copies, since Adam overwrites them and reads whole vectors: only owned arrays are padded for that.
      TrainState state;
      state.gaussians = upload(b, to_host(gaussians));
      GradientSum sum;
      sum.gaussians = upload(b, to_host(gradients));
      sum.is_empty = false;
      if (visible_only) sum.view_statistics.upload(b, seen_in(b, projection));
      if (!moments.backend)
        moments.value = zero_moments(b, state.gaussians.size(), state.gaussians.sh_degree);
      moments.backend = projection.on->backend;
      const Lent lent(state.moments, moments.value);
      Pass pass;
      b.optimize(state, sum, options, {}, pass);
      return download(b, state.gaussians);
    });
  }));
}

std::string size_text(const OnPass& made) { return fmt::format("{}x{}", made.on->width, made.on->height); }

// Defines the repr Name(...), with the text that `get` returns in the parentheses.
template <class Class, class Get>
void def_repr(py::class_<Class>& bound, const char* name, Get get) {
  bound.def("__repr__", [name, get](const Class& c) { return fmt::format("{}({})", name, get(c)); });
}

void bind_objects(py::module_& module) {
  py::class_<OnProjection> projection(module, "Projection", "Splats on the screen: project -> bin, blend.");
  def_rows(
      projection, "splat", 16, "(N, 16): see stages.SPLAT", [](Projection & p) -> auto& { return p.splat; });
  def_repr(projection, "Projection",
           [](const OnProjection& p) { return fmt::format("{} Gaussians, {}", p.on->count, size_text(p)); });
  py::class_<OnBins> bins(module, "TileBins", "The splats of every tile: bin -> blend.");
  def_repr(bins, "TileBins", [](const OnBins& b) {
    return fmt::format("{}x{} tiles, {} slots", b.value().column_count, b.value().row_count,
                       b.value().splat_from_slot.size());
  });
  bins.def_property_readonly("column_count", [](const OnBins& b) { return b.value().column_count; });
  bins.def_property_readonly("row_count", [](const OnBins& b) { return b.value().row_count; });
  def_array<std::uint32_t>(
      bins, "slot_begin_from_tile", 0, "(tiles + 1,): tile t has the slots begin[t] to begin[t + 1] - 1",
      [](TileBins & b) -> auto& { return b.slot_begin_from_tile; }, check_begins);
  bins.def_property("gaussian_from_slot", &gaussian_from_slot, &set_gaussian_from_slot,
                    "(slots,): the Gaussians of each tile, nearest first");
  py::class_<OnFrame> frame(module, "Frame", "The image, in planes: blend -> loss, blend_backward.");
  def_repr(frame, "Frame", [](const OnFrame& f) {
    return fmt::format("{}, color{}", size_text(f), f.value().depth.empty() ? "" : ", depth");
  });
  frame.def_property_readonly("width", [](const OnFrame& f) { return f.on->width; });
  frame.def_property_readonly("height", [](const OnFrame& f) { return f.on->height; });
  def_array<float>(
      frame, "color", 0, "(3 * height * width,), over the background",
      [](Frame & f) -> auto& { return f.color; });
  def_array<float>(
      frame, "transmittance", 0, "(height * width,): 1 - alpha",
      [](Frame & f) -> auto& { return f.transmittance; });
  def_array<float>(
      frame, "depth", 0, "(height * width,), or empty unless requested",
      [](Frame & f) -> auto& { return f.depth; });
  py::class_<Moments> moments(module, "Moments", "Moments of Adam; empty before the first step.");
  moments.def(py::init<>());
  def_repr(moments, "Moments", [](const Moments& m) {
    return m.backend ? fmt::format("{} Gaussians", m.value.size()) : std::string();
  });
}

void bind_gradients(py::module_& module) {
  py::class_<OnFrameGradient> dL_dframe(module, "FrameGradient",
                                        "Gradient of the frame: loss -> blend_backward.");
  def_array<float>(
      dL_dframe, "color", 0, "(3 * height * width,)", [](FrameGradient & f) -> auto& { return f.color; });
  dL_dframe.def(py::init(&make_frame_gradient));
  def_repr(dL_dframe, "FrameGradient", [](const OnFrameGradient& f) { return size_text(f); });
  py::class_<OnSplatGradient> dL_dsplat(module, "SplatGradient",
                                        "Gradients of the splats: blend_backward -> project_backward.");
  def_rows(
      dL_dsplat, "splat", 10, "(N, 10): the first ten columns of stages.SPLAT",
      [](SplatGradient & s) -> auto& { return s.splat; });
  def_rows(
      dL_dsplat, "absolute_mean_px", 2, "(N, 2), sums of absolute values; or empty",
      [](SplatGradient & s) -> auto& { return s.absolute_mean_px; });
  def_repr(dL_dsplat, "SplatGradient",
           [](const OnSplatGradient& s) { return fmt::format("{} Gaussians", s.on->count); });
  dL_dsplat.def_property_readonly("background", [](const OnSplatGradient& s) {
    const Vec3f b = s.background;
    return std::vector<float>{b.x, b.y, b.z};
  });
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
