// SPDX-License-Identifier: Apache-2.0
#pragma once
// Running a backend in a test, and converting its inputs for the reference renderer.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "stipple/backend/backend.h"
#include "stipple/backend/render_settings.h"
#include "stipple/core/random.h"
#include "stipple/reference/reference_render.h"

namespace stipple {

using Reference = ReferenceScene<double>;
using Picture = ReferencePicture<double>;

inline Vec3<double> to_double(Vec3f v) { return {v.x, v.y, v.z}; }

inline Reference to_reference(const Gaussians& g, const View& view,
                              const std::vector<float>& filter_variance = {}) {
  Reference r;
  for (Vec3f v : g.mean) r.mean.push_back(to_double(v));
  for (Vec3f v : g.log_scale) r.log_scale.push_back(to_double(v));
  for (Vec4f v : g.rotation) r.rotation.push_back({v.x, v.y, v.z, v.w});
  for (float v : g.logit_opacity) r.logit_opacity.push_back(v);
  for (Vec3f v : g.sh) r.sh.push_back(to_double(v));
  r.sh_degree = g.sh_degree;
  r.filter_variance.assign(filter_variance.begin(), filter_variance.end());
  const Camera& c = view.camera;
  for (int k = 0; k < 3; ++k) r.camera.rotation[k] = to_double(c.camera_from_world.rotation[k]);
  r.camera.translation = to_double(c.camera_from_world.translation);
  r.camera.focal_px = {c.focal_px.x, c.focal_px.y};
  r.camera.center_px = {c.center_px.x, c.center_px.y};
  r.camera.size_px = {static_cast<double>(c.width_px), static_cast<double>(c.height_px)};
  const RenderOptions& o = view.options;
  r.background = to_double(o.background);
  r.settings = render_settings<Math<double>::RenderSettings>(o);
  r.dropout = dropout_of<Math<double>::Dropout>(view);
  return r;
}

// Tests name the backends of the build. A GPU's backend occurs several times, with what is different after an
// underscore: "deterministic" for sums in a fixed order, and the variants of vulkan_variants.h.
constexpr const char* kDeterministic = "_deterministic";

std::vector<std::string> test_backend_names();

inline std::string plain_name(const std::string& test_name) {
  return test_name.substr(0, test_name.find('_'));
}

inline bool is_deterministic(const std::string& test_name) {
  return test_name == "cpu" || test_name.ends_with(kDeterministic);
}

std::unique_ptr<Backend> make_test_backend(const std::string& test_name);

// For SetUp() of tests that take such a name: skips the test if this machine lacks the backend's device.
#define STIPPLE_SKIP_UNUSABLE(name)                                                           \
  if (const std::string why = stipple::why_unusable(stipple::plain_name(name)); !why.empty()) \
  GTEST_SKIP() << (name) << ": " << why

// Base class of test suites whose parameter is such a name.
class PerBackendTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { STIPPLE_SKIP_UNUSABLE(GetParam()); }
};

// For tests that compare a backend with the CPU backend.
inline std::vector<std::string> backends_besides_cpu() {
  std::vector<std::string> names = test_backend_names();
  std::erase(names, "cpu");
  return names;
}

inline std::vector<float> random_values(std::size_t n, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> values(n);
  for (float& v : values) v = random.uniform(-1, 1);
  return values;
}

inline FrameGradient random_gradient(Device& device, const View& view, bool with_alpha = true) {
  std::size_t n = static_cast<std::size_t>(view.camera.width_px) * view.camera.height_px;
  FrameGradient g;
  g.color.upload(device, random_values(3 * n, 1));
  if (with_alpha) g.alpha.upload(device, random_values(n, 2));
  if (view.options.depth != DepthOutput::kNone) g.depth.upload(device, random_values(n, 3));
  return g;
}

inline std::vector<std::uint8_t> random_picture(const Camera& camera, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::uint8_t> bytes(3u * camera.width_px * camera.height_px);
  for (auto& b : bytes) b = static_cast<std::uint8_t>(random.below(256));
  return bytes;
}

template <class T>
const float* floats(const std::vector<T>& v) {
  return reinterpret_cast<const float*>(v.data());
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

inline bool same_bits(const Gaussians& a, const Gaussians& b) {
  bool same = a.sh_degree == b.sh_degree;
  for_each_parameter([&](int, const auto& x, const auto& y) { same = same && same_bits(x, y); }, a, b);
  return same;
}

// |a - b| / |b|, over all numbers of the arrays.
template <class T>
double relative_difference(const std::vector<T>& a, const std::vector<T>& b) {
  EXPECT_EQ(a.size(), b.size());
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()) * sizeof(T) / sizeof(float); ++i) {
    const auto x = static_cast<double>(floats(a)[i]), y = static_cast<double>(floats(b)[i]);
    error += (x - y) * (x - y);
    norm += y * y;
  }
  return error == 0 ? 0 : std::sqrt(error / norm);
}

// For tests that compare bits: skips a backend whose sums have no fixed order.
#define STIPPLE_SKIP_UNORDERED(name) \
  if (!stipple::is_deterministic(name)) GTEST_SKIP() << "the order of its sums is not fixed"

constexpr WantedGradients kAllGradients{.splats = true, .background = true, .camera = true};

struct Gradients {
  GradientSum sum;
  CameraGradient camera;
  Vec3f background{0, 0, 0};
};

constexpr Splat kNoGradient{{0, 0}, {0, 0, 0}, 0, {0, 0, 0, 0}};

// The values of a view's rows (VisibleBlock), with `hidden` for Gaussians that it does not show.
template <class Rendering, class T>
std::vector<T> by_gaussian(const Rendering& run, const std::vector<T>& of_rows, T hidden = {}) {
  const std::vector<std::uint32_t> shown = run.shown();
  EXPECT_LE(shown.size(), of_rows.size());
  std::vector<T> values(run.gaussians.size(), hidden);
  for (std::size_t row = 0; row < shown.size(); ++row) values.at(shown[row]) = of_rows.at(row);
  return values;
}

// A rendered frame with the outputs of every stage, for tests to inspect.
struct Rendering {
  std::unique_ptr<Backend> backend;
  DeviceGaussians gaussians;
  Precomputed precomputed;
  Pass pass;
  // Shorthands for the outputs that most tests inspect.
  Projection& projection = pass.projection;
  TileBins& bins = pass.bins;
  Frame& frame = pass.frame;

  Rendering(const std::string& name, const Gaussians& g, const View& view,
            const std::vector<float>& filter_variance = {})
      : backend(make_test_backend(name)) {
    gaussians = upload(*backend, g);
    if (!filter_variance.empty()) precomputed.filter_variance.upload(*backend, filter_variance);
    render(view);
  }
  Rendering(const std::string& name, const Gaussians& g, const std::vector<Vec3f>& color,
            const std::vector<PackedCovariance>& covariance, const View& view)
      : backend(make_test_backend(name)) {
    gaussians = upload(*backend, g);
    precomputed.color.upload(*backend, color);
    precomputed.covariance.upload(*backend, covariance);
    render(view);
  }
  Rendering(const Rendering&) = delete;
  Rendering& operator=(const Rendering&) = delete;

  void render(const View& view) { forward(*backend, gaussians, precomputed, view, pass); }

  std::vector<std::uint32_t> shown() const {  // the Gaussian of every row
    return gaussians_of_rows(projection.visible.download(*backend));
  }
  // The splat of every Gaussian, with opacity 0 for those that are not shown.
  std::vector<ProjectedSplat> splats() const {
    return by_gaussian(*this, projection.splat.download(*backend), ProjectedSplat{});
  }
  std::vector<Splat> splat_gradients() const {  // of every Gaussian
    return by_gaussian(*this, pass.dL_dsplat.splat.download(*backend), kNoGradient);
  }
  // The Gaussians of each tile.
  std::vector<std::uint32_t> gaussian_from_slot() const {
    const std::vector<std::uint32_t> gaussian = shown();
    std::vector<std::uint32_t> slots = bins.splat_from_slot.download(*backend);
    for (std::uint32_t& slot : slots) slot = gaussian.at(slot);
    return slots;
  }

  // Computes only the gradients of the splats, in pass.dL_dsplat.
  void blend_backward(const View& view, FrameGradient dL_dframe, WantedGradients wanted = {}) {
    pass.dL_dframe = std::move(dL_dframe);
    backend->blend_backward(view, wanted, pass);
  }
  void backward(const View& view, FrameGradient dL_dframe, Gradients& out) {
    blend_backward(view, std::move(dL_dframe), kAllGradients);
    backend->project_backward(gaussians, precomputed, view, kAllGradients, pass, out.sum);
    const PassResult result = backend->read(pass);
    out.camera = result.views.back().camera;
    out.background = result.views.back().background;
  }
};

// One training step on a single view.
inline PassResult step_on(Backend& backend, TrainState& state, const View& view, const LossTarget& target,
                          const TrainStep& step, TrainBuffers& buffers) {
  const TrainView one{view, &target};
  return backend.train_step(state, {&one, 1}, step, buffers);
}

// Learning rates at which a few steps change every parameter a little.
constexpr AdamOptions kTestRates{.mean = 1e-3f,
                                 .log_scale = 5e-3f,
                                 .rotation = 1e-3f,
                                 .logit_opacity = 0.05f,
                                 .sh_base = 2.5e-3f,
                                 .sh_rest = 1e-4f};

}  // namespace stipple
