// SPDX-License-Identifier: Apache-2.0
// The whole computation from stored parameters to a splat: its VJP against dual numbers and against finite
// differences, for every form in which parameters can be stored.
#include "stipple/backend/render_settings.h"
#include "tests/helpers/expect_vjp.h"

namespace stipple {
namespace {

using M = Math<double>;

// Everything that a splat depends on. Failure messages number the inputs in this order.
template <class T>
struct Inputs {
  typename Math<T>::StoredGaussian gaussian;
  Vec3<T> sh[16];
  typename Math<T>::Pinhole camera;
};

struct Kind {
  int sh_degree;
  M::GaussianForm form;
  bool antialiased, inverse_depth;
};

constexpr int kFlagSets = 32;

Kind kind_of(int sh_degree, int flags) {
  const auto flag = [&](int bit) { return (flags >> bit & 1) != 0; };
  return {sh_degree, {flag(0), flag(1), flag(4)}, flag(2), flag(3)};
}

template <class T>
typename Math<T>::GaussianForm form_of(const Kind& kind) {
  return {kind.form.has_covariance, kind.form.is_activated, kind.form.is_altered};
}

template <class T>
typename Math<T>::RenderSettings settings_of(const Kind& kind) {
  auto s = render_settings<typename Math<T>::RenderSettings>({});
  s.scale_modifier = T(1.3);
  s.antialiased = kind.antialiased;
  s.inverse_depth = kind.inverse_depth;
  return s;
}

// A filter as wide as a typical Gaussian, and a factor of dropout.
template <class T>
typename Math<T>::Alteration some_alteration() {
  return {T(0.04), T(1.1)};
}

template <class T>
typename Math<T>::Splat splat(const Inputs<T>& in, const Kind& kind) {
  auto settings = settings_of<T>(kind);
  auto active =
      Math<T>::activate(in.gaussian, some_alteration<T>(), form_of<T>(kind), settings.scale_modifier);
  auto footprint = Math<T>::footprint(active.placed, active.opacity, in.camera, settings);
  auto basis =
      Math<T>::harmonic_basis(kind.sh_degree, Math<T>::view_ray(in.gaussian.mean, in.camera).direction);
  Vec3<T> sum(T(0), T(0), T(0));
  for (int k = 0; k < Math<T>::harmonic_count(kind.sh_degree); ++k) sum = sum + in.sh[k] * basis.b[k];
  return Math<T>::splat_of(footprint, Math<T>::color_from_harmonics(sum), settings);
}

Inputs<double> splat_vjp(const Inputs<double>& in, const Kind& kind, const M::Splat& dL_dsplat) {
  auto settings = settings_of<double>(kind);
  auto active = M::activate(in.gaussian, some_alteration<double>(), kind.form, settings.scale_modifier);
  auto footprint = M::footprint(active.placed, active.opacity, in.camera, settings);
  auto vjp = M::gaussian_vjp(active, kind.form, in.camera, settings, footprint.depth, dL_dsplat);

  Vec4<double> seen = splat(in, kind).channels, d = dL_dsplat.channels;
  auto ray = M::view_ray(in.gaussian.mean, in.camera);
  auto basis = M::harmonic_basis(kind.sh_degree, ray.direction);
  Vec3<double> dL_dsum = M::color_from_harmonics_vjp({seen.x, seen.y, seen.z}, {d.x, d.y, d.z}, false);
  Inputs<double> g{};
  M::HarmonicBasis dL_dbasis{};
  for (int k = 0; k < M::harmonic_count(kind.sh_degree); ++k) {
    g.sh[k] = dL_dsum * basis.b[k];
    dL_dbasis.b[k] = dot(in.sh[k], dL_dsum);
  }
  Vec3<double> dL_doffset = M::view_ray_vjp(kind.sh_degree, ray, dL_dbasis);
  g.gaussian = vjp.dL_dstored;
  g.gaussian.mean = g.gaussian.mean + dL_doffset;
  g.camera = M::gaussian_camera_vjp(active.placed, in.camera, vjp.dL_dprojected, dL_doffset);
  return g;
}

Inputs<double> any_inputs(std::mt19937& rng, const Kind& kind) {
  Inputs<double> in;
  M::StoredGaussian& g = in.gaussian;
  g.mean = {uniform(rng, -0.5, 0.5), uniform(rng, -0.5, 0.5), uniform(rng, 1, 4)};
  Vec3<double> scale = random_struct<Vec3<double>>(rng, 0.05, 0.5);
  g.log_scale =
      kind.form.is_activated ? scale : Vec3<double>(std::log(scale.x), std::log(scale.y), std::log(scale.z));
  g.rotation = random_struct<Vec4<double>>(rng, 0.1, 1);
  double opacity = uniform(rng, 0.3, 0.95);
  g.logit_opacity = kind.form.is_activated ? opacity : M::logit(opacity);
  g.covariance = pack(g.mean, M::covariance({scale, g.rotation})).covariance;
  for (Vec3<double>& c : in.sh) c = random_struct<Vec3<double>>(rng, -0.5, 0.5);
  in.sh[0] = random_struct<Vec3<double>>(rng, -3.5, 1);  // about half of the colours are clamped
  in.camera.rotation =
      M::rotation_from_quaternion({1, uniform(rng, -0.1, 0.1), uniform(rng, -0.1, 0.1), uniform(rng, -1, 1)});
  in.camera.translation = random_struct<Vec3<double>>(rng, -0.2, 0.2);
  in.camera.focal_px = {uniform(rng, 80, 120), uniform(rng, 80, 120)};
  in.camera.center_px = {uniform(rng, 45, 55), uniform(rng, 40, 50)};
  in.camera.size_px = {100, 90};
  return in;
}

// The inputs of a Gaussian that is not culled.
Inputs<double> random_inputs(std::mt19937& rng, const Kind& kind) {
  Inputs<double> in = any_inputs(rng, kind);
  while (splat(in, kind).opacity == 0) in = any_inputs(rng, kind);
  return in;
}

TEST(Gaussian, VjpIsExactForEveryForm) {
  std::mt19937 rng(60);
  int clamped = 0, open = 0;
  for (int degree = 0; degree <= 3; ++degree)
    for (int i = 0; i < kTrials; ++i) {
      const Kind kind = kind_of(degree, i % kFlagSets);
      const Inputs<double> in = random_inputs(rng, kind);
      auto seeded = seed<Inputs>(in);
      using T = decltype(seeded.gaussian.logit_opacity);
      seeded.camera.size_px = {T(in.camera.size_px.x), T(in.camera.size_px.y)};  // not a variable
      auto y = splat(seeded, kind);
      ASSERT_GT(y.opacity.value, 0);
      (y.channels.x.value > 0 ? open : clamped)++;
      auto dL_dsplat = random_struct<M::Splat>(rng, -1, 1);
      expect_gradient(splat_vjp(in, kind, dL_dsplat), y, dL_dsplat);
      if (HasFatalFailure()) FAIL() << "degree " << degree << ", flags " << i % kFlagSets;
    }
  EXPECT_GE(clamped, kTrials);
  EXPECT_GE(open, kTrials);
}

double loss(const Inputs<double>& in, const Kind& kind, M::Splat dL_dsplat) {
  M::Splat s = splat(in, kind);
  double sum = 0;
  for (std::size_t k = 0; k < reals<double>(s).size(); ++k)
    sum += reals<double>(s)[k] * reals<double>(dL_dsplat)[k];
  return sum;
}

bool is_near_a_clamp(const Inputs<double>& in, const Kind& kind) {
  Vec4<double> c = splat(in, kind).channels;  // each colour must be clearly positive or clearly clamped
  Inputs<double> brighter = in;
  for (int k = 0; k < 3; ++k) brighter.sh[0][k] += 0.01;
  Vec4<double> b = splat(brighter, kind).channels;
  auto near = [](double low, double high) { return low < 0.01 && high > 0; };
  return near(c.x, b.x) || near(c.y, b.y) || near(c.z, b.z);
}

TEST(Gaussian, VjpAgreesWithFiniteDifferences) {
  std::mt19937 rng(61);
  for (int degree = 0; degree <= 3; ++degree)
    for (int flags = 0; flags < kFlagSets; ++flags) {
      const Kind kind = kind_of(degree, flags);
      Inputs<double> in = random_inputs(rng, kind);
      while (is_near_a_clamp(in, kind)) in = random_inputs(rng, kind);
      auto dL_dsplat = random_struct<M::Splat>(rng, -1, 1);
      Inputs<double> g = splat_vjp(in, kind, dL_dsplat);
      auto x = reals<double>(in);
      for (std::size_t i = 0; i < x.size() - 2; ++i) {  // all but the image size
        const double at = x[i], step = 1e-6 * std::max(1.0, std::abs(at));
        x[i] = at + step;
        const double above = loss(in, kind, dL_dsplat);
        x[i] = at - step;
        const double below = loss(in, kind, dL_dsplat);
        x[i] = at;
        const double gradient = reals<double>(g)[i], expected = (above - below) / (2 * step);
        ASSERT_NEAR(gradient, expected, 1e-6 * (1 + std::abs(expected)))
            << "input " << i << ", degree " << degree << ", flags " << flags;
      }
    }
}

TEST(Gaussian, UnusedParametersGetNoGradient) {
  std::mt19937 rng(62);
  for (int flags = 0; flags < kFlagSets; ++flags) {
    const Kind kind = kind_of(0, flags);
    auto g = splat_vjp(random_inputs(rng, kind), kind, random_struct<M::Splat>(rng, -1, 1)).gaussian;
    auto c = g.covariance;
    if (kind.form.has_covariance) {
      EXPECT_EQ(g.log_scale, Vec3<double>(0, 0, 0));
      EXPECT_EQ(g.rotation, Vec4<double>(0, 0, 0, 0));
      EXPECT_NE(c.xy, 0);
    } else {
      EXPECT_NE(g.log_scale.x, 0);
      for (double v : {c.xx, c.xy, c.xz, c.yy, c.yz, c.zz}) EXPECT_EQ(v, 0);
    }
  }
}

// The same Gaussian, stored in three forms.
TEST(Gaussian, FormsAgree) {
  std::mt19937 rng(63);
  for (int i = 0; i < kTrials; ++i) {
    M::StoredGaussian g = random_inputs(rng, kind_of(0, 0)).gaussian, activated = g;
    M::ActiveGaussian a = M::activate(g, {0, 1}, {false, false, false}, 1.3);
    activated.log_scale = M::scale_from_log(g.log_scale, 1);
    activated.logit_opacity = M::sigmoid(g.logit_opacity);
    activated.covariance = pack(g.mean, a.placed.covariance).covariance;
    for (bool has_covariance : {false, true}) {
      M::ActiveGaussian b = M::activate(activated, {0, 1}, {has_covariance, true, false}, 1.3);
      EXPECT_EQ(a.opacity, b.opacity);
      EXPECT_EQ(a.placed.mean, b.placed.mean);
      for (int k = 0; k < 9; ++k)
        EXPECT_NEAR(a.placed.covariance[k / 3][k % 3], b.placed.covariance[k / 3][k % 3], 1e-14);
    }
  }
}

}  // namespace
}  // namespace stipple
