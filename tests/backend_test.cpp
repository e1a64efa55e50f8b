// SPDX-License-Identifier: Apache-2.0
// What a backend guarantees beyond agreeing with the reference on ordinary scenes: hostile Gaussians,
// precomputed values, the same bits for any number of threads, every vector width, and extreme sizes.
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "stipple/backend/render.h"
#include "stipple/core/parallel.h"
#include "stipple/edit/select.h"
#include "tests/helpers/backend_run.h"
#include "tests/helpers/conformance_scenes.h"
#include "tests/helpers/limited_backend.h"

namespace stipple {
namespace {

class BackendTest : public PerBackendTest {};
INSTANTIATE_TEST_SUITE_P(, BackendTest, testing::ValuesIn(test_backend_names()),
                         [](const auto& name) { return name.param; });

template <class T>
bool all_finite(const std::vector<T>& v) {
  for (std::size_t i = 0; i < v.size() * sizeof(T) / sizeof(float); ++i)
    if (!std::isfinite(floats(v)[i])) return false;
  return true;
}

// All outputs of a forward and backward pass.
struct Everything {
  std::vector<float> color, transmittance, depth;
  Gaussians gradient;
  CameraGradient camera;
  Vec3f background;
};

Everything everything(Rendering& run, const View& view) {
  FrameGradient dL = random_gradient(*run.backend, view);
  Gradients g;
  run.backward(view, std::move(dL), g);
  return {run.frame.color.download(*run.backend),
          run.frame.transmittance.download(*run.backend),
          run.frame.depth.download(*run.backend),
          download(*run.backend, g.sum.gaussians),
          g.camera,
          g.background};
}

void expect_same_bits(const Everything& a, const Everything& b) {
  EXPECT_TRUE(same_bits(a.color, b.color));
  EXPECT_TRUE(same_bits(a.transmittance, b.transmittance));
  EXPECT_TRUE(same_bits(a.depth, b.depth));
  for_each_parameter([](int, const auto& x, const auto& y) { EXPECT_TRUE(same_bits(x, y)); }, a.gradient,
                     b.gradient);
  EXPECT_EQ(std::memcmp(&a.camera, &b.camera, sizeof(a.camera)), 0);
  EXPECT_TRUE(a.background == b.background);
}

void expect_finite(const Everything& e) {
  EXPECT_TRUE(all_finite(e.color));
  EXPECT_TRUE(all_finite(e.transmittance));
  for_each_parameter([](int, const auto& x) { EXPECT_TRUE(all_finite(x)); }, e.gradient);
}

// If one value of one Gaussian is not finite, the image is that of the other Gaussians.
TEST_P(BackendTest, CullsNonFiniteGaussians) {
  float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  View view{looking_down_z(60, 45, 50), {.depth = DepthOutput::kExpected}};
  const std::size_t bad = 17;
  Gaussians clean = random_cloud(50, 1, 30, {.spread = 1, .log_scale = -2}), without = clean;
  without.logit_opacity[bad] = -infinity;
  Rendering expected(GetParam(), without, view);
  auto expected_color = expected.frame.color.download(*expected.backend);
  for (int field = 0; field < 7; ++field) {
    Gaussians g = clean;
    if (field == 0) g.mean[bad].x = nan;
    if (field == 1) g.log_scale[bad].y = nan;
    if (field == 2) g.rotation[bad].z = nan;
    if (field == 3) g.logit_opacity[bad] = nan;
    if (field == 4) g.sh[bad * g.sh_count() + 2].z = nan;
    if (field == 5) g.mean[bad].y = infinity;
    if (field == 6) g.log_scale[bad].z = infinity;
    Rendering run(GetParam(), g, view);
    Everything e = everything(run, view);
    EXPECT_TRUE(same_bits(e.color, expected_color)) << field;
    expect_finite(e);
    EXPECT_EQ(e.gradient.mean[bad], Vec3f(0, 0, 0)) << field;
    EXPECT_EQ(e.gradient.sh[bad * g.sh_count() + 1], Vec3f(0, 0, 0)) << field;
  }
}

TEST_P(BackendTest, HostileGaussiansGiveFiniteImagesAndGradients) {
  float infinity = std::numeric_limits<float>::infinity();
  Gaussians g = make_gaussians(0, 0);
  for (float a : {-infinity, -46.0f, -6.9f, 0.0f, 5.0f, 20.0f, 39.14f, 43.0f, 46.0f, 100.0f})
    for (float b : {-46.0f, -6.9f, 3.0f, 20.0f})
      for (Vec4f q : {Vec4f(0, 0, 0, 0), Vec4f(1, 0, 0, 0), Vec4f(1, 2, 3, 4), Vec4f(1e20f, 0, 1e20f, 0)})
        for (Vec3f mean :
             {Vec3f(0, 0, -4), Vec3f(0, 0, 0), Vec3f(0.1f, 0.1f, -3), Vec3f(0, 0, 1e30f), Vec3f(300, 40, 5)})
          for (float logit : {-infinity, 0.0f, infinity}) {
            g.mean.push_back(mean);
            g.log_scale.push_back({a, b, b});
            g.rotation.push_back(q);
            g.logit_opacity.push_back(logit);
            g.sh.push_back({0.5f, 0.5f, 0.5f});
          }
  for (bool antialiased : {false, true}) {
    View view{looking_down_z(70, 40, 100), {.antialiased = antialiased}};
    Rendering run(GetParam(), g, view);
    Everything e = everything(run, view);
    expect_finite(e);
    for (float t : e.transmittance) ASSERT_TRUE(t >= 0 && t <= 1) << t;
  }
}

// Long needles far outside the image: rounding may displace them, but must never make them more opaque.
TEST_P(BackendTest, RoundingNeverMakesNeedlesMoreOpaque) {
  Random random(31);
  for (int trial = 0; trial < 200; ++trial) {
    Gaussians g = make_gaussians(1, 0);
    float distance = std::exp(random.uniform(0, 5)), angle = random.uniform(0, 6.28f);
    g.mean[0] = {distance * std::cos(angle), distance * std::sin(angle), random.uniform(-1, 3)};
    g.log_scale[0] = {std::log(distance), -7, -7};
    g.rotation[0] = {std::cos(angle / 2), 0, 0, std::sin(angle / 2)};
    g.logit_opacity[0] = -3;  // 0.047
    View view{looking_down_z(64, 64, 1000), {}};
    Rendering run(GetParam(), g, view);
    for (float t : run.frame.transmittance.download(*run.backend))
      ASSERT_TRUE(t >= 0.95f && t <= 1) << distance;
  }
}

// Scales and opacities given directly, not as logarithms and logits: the image is the same, and the gradients
// differ by the derivatives of the activations.
TEST_P(BackendTest, ActivatedValuesReplaceTheStoredOnes) {
  const Gaussians g = random_cloud(203, 1, 35, {.spread = 1.5f, .log_scale = -2});
  Gaussians activated = g;
  for (std::size_t i = 0; i < g.size(); ++i) {
    activated.log_scale[i] = Math<float>::scale_from_log(g.log_scale[i], 1.0f);
    activated.logit_opacity[i] = Math<float>::sigmoid(g.logit_opacity[i]);
  }
  const View view{looking_down_z(75, 50, 60), {.antialiased = true, .scale_modifier = 1.3f}};
  Rendering stored(GetParam(), g, view), direct(GetParam(), activated, view);
  direct.precomputed.is_activated = true;
  direct.render(view);
  const auto a = stored.frame.color.download(*stored.backend),
             b = direct.frame.color.download(*direct.backend);
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-4);

  Gradients by_stored, by_direct;
  stored.backward(view, random_gradient(*stored.backend, view, false), by_stored);
  direct.backward(view, random_gradient(*direct.backend, view, false), by_direct);
  const Gaussians expected = download(*stored.backend, by_stored.sum.gaussians),
                  ours = download(*direct.backend, by_direct.sum.gaussians);
  double error = 0, norm = 0;
  const auto compare = [&](float value, float by_activation, float wanted) {
    const double d = static_cast<double>(value * by_activation - wanted);
    error += d * d;
    norm += static_cast<double>(wanted) * static_cast<double>(wanted);
  };
  for (std::size_t i = 0; i < g.size(); ++i) {
    const float o = activated.logit_opacity[i];
    compare(ours.logit_opacity[i], o * (1 - o), expected.logit_opacity[i]);
    for (int k = 0; k < 3; ++k)
      compare(ours.log_scale[i][k], activated.log_scale[i][k], expected.log_scale[i][k]);
  }
  EXPECT_LE(std::sqrt(error), 1e-4 * std::sqrt(norm));
  EXPECT_GT(norm, 0);
}

TEST_P(BackendTest, PrecomputedColorsAndCovariancesReplaceTheComputedOnes) {
  Gaussians g = random_cloud(203, 2, 32, {.spread = 1.5f, .log_scale = -2});
  View view{looking_down_z(75, 50, 60), {}};
  Reference reference = to_reference(g, view);
  Random random(33);
  std::vector<Vec3f> color;
  std::vector<PackedCovariance> covariance;
  for (std::size_t i = 0; i < g.size(); ++i) {
    color.push_back({random.uniform(), random.uniform(), random.uniform()});
    Mat3f S = Math<float>::covariance(
        {{random.uniform(0.05f, 0.3f), random.uniform(0.05f, 0.3f), 0.1f}, g.rotation[i]});
    covariance.push_back({S[0][0], S[0][1], S[0][2], S[1][1], S[1][2], S[2][2]});
    reference.color.push_back(to_double(color.back()));
    reference.covariance.push_back({S[0][0], S[0][1], S[0][2], S[1][1], S[1][2], S[2][2]});
  }
  Rendering run(GetParam(), g, color, covariance, view);
  FrameGradient dL = random_gradient(*run.backend, view, false);
  const std::vector<float> dL_dcolor = dL.color.download(*run.backend);
  Gradients ours;
  run.backward(view, std::move(dL), ours);

  Picture picture = reference_render(reference), dL_dpicture;
  auto rendered = run.frame.color.download(*run.backend);
  std::size_t n = picture.alpha.size();
  for (std::size_t i = 0; i < n; ++i) {
    ASSERT_NEAR(rendered[i], picture.channels[i].x, 1e-4);
    dL_dpicture.channels.push_back({dL_dcolor[i], dL_dcolor[n + i], dL_dcolor[2 * n + i], 0});
    dL_dpicture.alpha.push_back(0);
  }
  Reference expected = reference_backward(reference, dL_dpicture);
  auto expect_close = [](const float* a, const double* b, std::size_t count, const char* name) {
    double error = 0, norm = 0;
    for (std::size_t i = 0; i < count; ++i) {
      error += (a[i] - b[i]) * (a[i] - b[i]);
      norm += b[i] * b[i];
    }
    EXPECT_LE(std::sqrt(error), 1e-3 * std::sqrt(norm)) << name;
    EXPECT_GT(norm, 0) << name;
  };
  auto dL_dgiven_color = ours.sum.precomputed.color.download(*run.backend);
  auto dL_dgiven_covariance = ours.sum.precomputed.covariance.download(*run.backend);
  Gaussians gradient = download(*run.backend, ours.sum.gaussians);
  expect_close(floats(dL_dgiven_color), &expected.color[0].x, 3 * g.size(), "color");
  expect_close(floats(dL_dgiven_covariance), &expected.covariance[0].xx, 6 * g.size(), "covariance");
  expect_close(floats(gradient.mean), &expected.mean[0].x, 3 * g.size(), "mean");
  expect_close(floats(gradient.logit_opacity), &expected.logit_opacity[0], g.size(), "opacity");
  for (Vec3f v : gradient.sh) ASSERT_EQ(v, Vec3f(0, 0, 0));
  for (Vec4f v : gradient.rotation) ASSERT_EQ(v, Vec4f(0, 0, 0, 0));
}

// What a view does not show makes no difference: the shown Gaussians alone give the same frame and the same
// gradients, wherever in the model they are.
TEST_P(BackendTest, OnlyTheGaussiansThatAreShownCount) {
  const View view{looking_down_z(60, 45, 50), {.depth = DepthOutput::kExpected}};
  const auto is_last = [](std::size_t i, std::size_t n) { return i + 1 == n; };
  const struct {
    const char* name;
    std::size_t count;
    bool (*shows)(std::size_t i, std::size_t count);
  } cases[] = {{"nothing", 100, [](std::size_t, std::size_t) { return false; }},
               {"everything", 1000, [](std::size_t, std::size_t) { return true; }},
               {"whole blocks", 96, [](std::size_t, std::size_t) { return true; }},
               {"one in the last block", 97, is_last},
               {"the end of a whole block", 64, is_last},
               {"every other block", 320, [](std::size_t i, std::size_t) { return i / 32 % 2 == 1; }},
               {"one in each block", 5000, [](std::size_t i, std::size_t) { return i % 32 == i / 32 % 32; }}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    Gaussians g = random_cloud(c.count, 1, 48, {.spread = 0.5f});
    std::vector<std::uint32_t> expected;
    for (std::size_t i = 0; i < c.count; ++i)
      if (c.shows(i, c.count))
        expected.push_back(static_cast<std::uint32_t>(i));
      else
        g.mean[i].z = -100;  // behind the camera
    Rendering run(GetParam(), g, view), alone(GetParam(), select(g, expected), view);
    ASSERT_EQ(run.shown(), expected);
    EXPECT_EQ(run.projection.splat.size(), expected.size());
    const Everything ours = everything(run, view), of_shown = everything(alone, view);
    EXPECT_TRUE(same_bits(ours.color, of_shown.color));
    EXPECT_TRUE(same_bits(ours.depth, of_shown.depth));
    const Gaussians gradient = select(ours.gradient, expected);
    for_each_parameter([](int, const auto& x, const auto& y) { EXPECT_LT(relative_difference(x, y), 1e-5); },
                       gradient, of_shown.gradient);
    EXPECT_TRUE(same_bits(gradient, of_shown.gradient) || !is_deterministic(GetParam()));
    for (std::size_t i = 0; i < c.count; ++i)
      EXPECT_TRUE(c.shows(i, c.count) || ours.gradient.mean[i] == Vec3f(0, 0, 0)) << i;
  }
}

// The absolute gradient is the sum over all pixels of the magnitude of the gradient from that pixel alone.
TEST_P(BackendTest, AbsoluteGradientsSumMagnitudesOverPixels) {
  Gaussians g = random_cloud(30, 0, 47, {.spread = 0.5f});
  View view{looking_down_z(20, 17, 15), {}};
  Rendering run(GetParam(), g, view);
  run.blend_backward(view, random_gradient(*run.backend, view, false), {.absolute_mean = true});
  const std::vector<Vec2f> absolute =
      by_gaussian(run, run.pass.dL_dsplat.absolute_mean_px.download(*run.backend), Vec2f(0, 0));
  const std::vector<float> all = run.pass.dL_dframe.color.download(*run.backend);
  std::vector<Vec3<double>> expected(g.size(), {0, 0, 0});
  for (std::size_t pixel = 0; pixel < 20 * 17; ++pixel) {
    std::vector<float> one(all.size(), 0.0f);
    for (std::size_t c = 0; c < 3; ++c) one[c * 20 * 17 + pixel] = all[c * 20 * 17 + pixel];
    run.pass.dL_dframe.color.upload(*run.backend, one);
    run.backend->blend_backward(view, {}, run.pass);
    const std::vector<Splat> splats = run.splat_gradients();
    for (std::size_t i = 0; i < g.size(); ++i) {
      expected[i].x += std::abs(static_cast<double>(splats[i].mean_px.x));
      expected[i].y += std::abs(static_cast<double>(splats[i].mean_px.y));
    }
  }
  double seen = 0;
  for (std::size_t i = 0; i < g.size(); ++i) {
    EXPECT_NEAR(absolute[i].x, expected[i].x, 1e-4 * (1 + expected[i].x)) << i;
    EXPECT_NEAR(absolute[i].y, expected[i].y, 1e-4 * (1 + expected[i].y)) << i;
    seen += expected[i].x;
  }
  EXPECT_GT(seen, 1);
}

TEST_P(BackendTest, BitsDoNotDependOnTheNumberOfThreads) {
  STIPPLE_SKIP_UNORDERED(GetParam());
  Gaussians g = random_cloud(5000, 2, 50, {.spread = 2.5f});
  View view{looking_down_z(245, 136, 150), {.depth = DepthOutput::kExpected}};
  auto train = [&](Everything& result, Gaussians& trained) {
    Rendering run(GetParam(), g, view);
    result = everything(run, view);
    LossTarget target;
    target.color.upload(*run.backend, random_picture(view.camera, 51));
    TrainState state = make_train_state(*run.backend, g);
    AdamOptions o = kTestRates;
    for (o.step = 1; o.step <= 3; ++o.step) {
      forward(*run.backend, state.gaussians, {}, view, run.pass);
      run.backend->loss(view, target, {}, run.pass);
      run.backend->blend_backward(view, {}, run.pass);
      GradientSum sum;
      run.backend->project_backward(state.gaussians, {}, view, {}, run.pass, sum);
      run.backend->optimize(state, sum, o, {}, run.pass);
    }
    trained = download(*run.backend, state.gaussians);
  };
  Everything one, again;
  Gaussians trained_by_one, trained_again;
  with_threads(1, [&] { train(one, trained_by_one); });
  for (int threads : {2, 5, 5}) {
    with_threads(threads, [&] { train(again, trained_again); });
    expect_same_bits(one, again);
    for_each_parameter([](int, const auto& a, const auto& b) { EXPECT_TRUE(same_bits(a, b)); },
                       trained_by_one, trained_again);
  }
}

// Every vector width that this machine supports gives the same image and gradients, up to rounding.
TEST(CpuBackend, EveryVectorWidthAgrees) {
#ifdef STIPPLE_ONE_VECTOR_WIDTH
  GTEST_SKIP() << "this build has the CPU backend for one vector width only";
#endif
  Gaussians g = random_cloud(400, 3, 60);
  View view{looking_down_z(101, 67, 90), {.depth = DepthOutput::kInverse}};
  Rendering best("cpu", g, view);
  Everything expected = everything(best, view);
  const std::vector<std::int64_t> targets = hwy::SupportedAndGeneratedTargets();
#ifdef __x86_64__
  EXPECT_GE(targets.size(), 2u) << "every x86-64 processor of the last fifteen years supports at least two";
#endif
  for (const std::int64_t target : targets) {
    hwy::SetSupportedTargetsForTest(target);
    Rendering run("cpu", g, view);
    Everything e = everything(run, view);
    EXPECT_NE(run.backend->description().find(hwy::TargetName(target)), std::string::npos)
        << hwy::TargetName(target) << " was requested, but the backend uses " << run.backend->description();
    for (std::size_t i = 0; i < e.color.size(); ++i)
      ASSERT_NEAR(e.color[i], expected.color[i], 2e-5) << hwy::TargetName(target);
    double error = 0, norm = 0;
    for_each_parameter(
        [&](int, const auto& a, const auto& b) {
          for (std::size_t i = 0; i < a.size() * sizeof(a[0]) / sizeof(float); ++i) {
            error += std::pow(floats(a)[i] - floats(b)[i], 2);
            norm += std::pow(floats(b)[i], 2);
          }
        },
        e.gradient, expected.gradient);
    EXPECT_LE(std::sqrt(error / norm), 1e-4) << hwy::TargetName(target);
    std::printf("%s: gradients differ by %.1e\n", hwy::TargetName(target), std::sqrt(error / norm));
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

TEST_P(BackendTest, NothingToDrawGivesTheBackground) {
  View view{looking_down_z(33, 20, 30), {.background = {0.25f, 0.5f, 0.75f}}};
  Gaussians behind = random_cloud(10, 1, 61);
  for (Vec3f& m : behind.mean) m.z = -50;
  for (const Gaussians& g : {make_gaussians(0, 1), behind}) {
    Rendering run(GetParam(), g, view);
    auto color = run.frame.color.download(*run.backend);
    for (std::size_t i = 0; i < 33 * 20; ++i) ASSERT_EQ(color[33 * 20 + i], 0.5f);
    Everything e = everything(run, view);
    expect_finite(e);
    for (Vec3f v : e.gradient.mean) EXPECT_EQ(v, Vec3f(0, 0, 0));
  }
}

// Bands of any height, including one that extends past the end of the image, give the same bits as the whole.
TEST_P(BackendTest, BandsMakeTheWholeImage) {
  const Gaussians g = random_cloud(2000, 2, 61, {.spread = 2.5f});
  View view{looking_down_z(245, 136, 150),
            {.background = {0.2f, 0.5f, 0.7f}, .depth = DepthOutput::kExpected}};
  Rendering whole(GetParam(), g, view), banded(GetParam(), g, view);
  banded.frame = {};
  for (const TileRows band : {TileRows{6, 20}, {0, 1}, {1, 4}, {4, 6}, {9, 12}}) {
    view.band = band;
    banded.render(view);
    EXPECT_EQ(banded.bins.row_count, std::min(band.end, 9) - band.begin);
  }
  EXPECT_TRUE(
      same_bits(banded.frame.color.download(*banded.backend), whole.frame.color.download(*whole.backend)));
  EXPECT_TRUE(same_bits(banded.frame.transmittance.download(*banded.backend),
                        whole.frame.transmittance.download(*whole.backend)));
  EXPECT_TRUE(
      same_bits(banded.frame.depth.download(*banded.backend), whole.frame.depth.download(*whole.backend)));
}

// With less and less memory, render() uses bands, and finally throws OutOfMemory.
TEST(Render, UsesBandsIfMemoryIsShort) {
  const Gaussians g = random_cloud(3000, 1, 62, {.log_scale = -1});
  const View view{looking_down_z(200, 300, 150), {}};
  LimitedBackend backend(std::size_t{1} << 30);
  const DeviceGaussians on_device = upload(backend, g);
  const RenderedImages expected = render(backend, on_device, view);
  int pictures = 0;
  try {
    for (backend.limit_bytes = std::size_t{8} << 20;; backend.limit_bytes -= 64 << 10, ++pictures) {
      const RenderedImages images = render(backend, on_device, view);
      ASSERT_EQ(images.color.values, expected.color.values) << backend.limit_bytes;
    }
  } catch (const OutOfMemory&) {
  }
  EXPECT_GT(pictures, 20);
}

TEST_P(BackendTest, ThreeMillionGaussiansWork) {
  // Half a minute on a software device.
  if (plain_name(GetParam()) == "vulkan" && GetParam() != "vulkan") GTEST_SKIP() << "plain vulkan does this";
#ifndef NDEBUG
  GTEST_SKIP() << "runs only in release builds, since it needs gigabytes with sanitizers";
#endif
  const std::size_t count = 3'000'000;
  Gaussians g = random_cloud(count, 0, 71, {.spread = 3, .log_scale = -6});
  View view{looking_down_z(1920, 1080, 1200), {}};
  Rendering run(GetParam(), g, view);
  Gradients gradients;
  run.backward(view, random_gradient(*run.backend, view, false), gradients);
  Gaussians gradient = download(*run.backend, gradients.sum.gaussians);
  EXPECT_TRUE(all_finite(run.frame.color.download(*run.backend)));
  EXPECT_TRUE(all_finite(gradient.mean));
  // As many of the last Gaussians as of the first have a gradient, so no index has overflowed.
  auto seen = [&](std::size_t begin) {
    return std::count_if(gradient.sh.begin() + static_cast<std::ptrdiff_t>(begin),
                         gradient.sh.begin() + static_cast<std::ptrdiff_t>(begin + 10000),
                         [](Vec3f v) { return !(v == Vec3f(0, 0, 0)); });
  };
  EXPECT_GT(seen(0), 500);
  EXPECT_NEAR(static_cast<double>(seen(count - 10000)) / static_cast<double>(seen(0)), 1, 0.2);
}

// Wider than the tile indices of some backends: it works or is an error, but it is never silently wrong.
TEST_P(BackendTest, AnImageOfAMillionColumnsWorksOrIsAnError) {
  const int width = 1'200'000;
  const View view{looking_down_z(width, 1, 1000), {}};
  Gaussians g = random_cloud(3, 0, 34);
  const Vec3f behind(0, 0, -9), in_the_last_sixth(4 * 500'000.0f / 1000, 0, 0);
  g.mean = {behind, behind, in_the_last_sixth};
  g.log_scale[2] = {-3, -3, -3};
  g.logit_opacity = {3, 3, 3};
  try {
    Rendering run(GetParam(), g, view);
    const std::vector<float> transmittance = run.frame.transmittance.download(*run.backend);
    EXPECT_LT(transmittance[1'100'000], 0.9f);
    EXPECT_EQ(transmittance[1'100'000 % (65536 * 16)], 1.0f);
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("too large"), std::string::npos) << error.what();
  }
}

TEST_P(BackendTest, AVeryWideImageWorks) {
  Gaussians g = random_cloud(2000, 0, 62, {.spread = 1});
  for (Vec3f& m : g.mean) m = {100 * m.x, 0.05f * m.y, m.z};
  View view{looking_down_z(16384, 16, 320), {}};
  Rendering run(GetParam(), g, view);
  Everything e = everything(run, view);
  expect_finite(e);
  auto drawn = std::count_if(e.transmittance.begin(), e.transmittance.end(), [](float t) { return t < 1; });
  EXPECT_GT(drawn, 1000);
}

// Ranks choose among the devices of a machine before they start one.
TEST_P(BackendTest, ItsDevicesCanBeChosenWithoutStartingOne) {
  const std::string name = plain_name(GetParam());
  const DeviceChoice choice = choose_device(name);
  EXPECT_EQ(choice.backend, name);
  EXPECT_EQ(choice.device, 0u);
  EXPECT_EQ(choose_device("best").backend, make_backend("best")->name());
  EXPECT_THROW(choose_device(name, "99"), Error);
  for (const DeviceInfo& device : list_devices(name)) EXPECT_FALSE(device.id.empty()) << device.name;
}

}  // namespace
}  // namespace stipple
