// SPDX-License-Identifier: Apache-2.0
// Additional channels, blended over the same slots as the colour, against the reference renderer. Blending is
// linear in the channels, so the reference renders them as colours, three at a time, and the gradients add
// up.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/helpers/backend_run.h"
#include "tests/helpers/conformance_scenes.h"

namespace stipple {
namespace {

class ChannelsTest : public PerBackendTest {};
INSTANTIATE_TEST_SUITE_P(, ChannelsTest, testing::ValuesIn(test_backend_names()),
                         [](const auto& name) { return name.param; });

struct Expected {
  std::vector<double> planes, dL_dchannels;
  Reference gradient;  // of the other parameters, from the channels alone
};

// Adds b to a, number by number.
template <class T>
void add(std::vector<T>& a, const std::vector<T>& b) {
  auto* to = reinterpret_cast<double*>(a.data());
  const auto* from = reinterpret_cast<const double*>(b.data());
  for (std::size_t i = 0; i < a.size() * sizeof(T) / sizeof(double); ++i) to[i] += from[i];
}

Expected expected_of(const Gaussians& g, View view, int count, const std::vector<float>& value,
                     const std::vector<float>& dL_dplanes) {
  view.options.background = {0, 0, 0};
  Reference scene = to_reference(g, view);
  const std::size_t n = g.size(), channels = static_cast<std::size_t>(count),
                    pixels = dL_dplanes.size() / channels;
  Expected e;
  e.planes.resize(channels * pixels);
  e.dL_dchannels.resize(n * channels);
  scene.color.resize(n);
  e.gradient = zero_gradient_of(scene);
  for (std::size_t first = 0; first < channels; first += 3) {
    const std::size_t last = std::min(channels, first + 3);
    Picture dL;
    dL.channels.assign(pixels, {0, 0, 0, 0});
    dL.alpha.assign(pixels, 0);
    for (std::size_t i = 0; i < n; ++i) scene.color[i] = {0, 0, 0};
    for (std::size_t c = first; c < last; ++c) {
      for (std::size_t i = 0; i < n; ++i)
        scene.color[i][static_cast<int>(c - first)] = value[i * channels + c];
      for (std::size_t p = 0; p < pixels; ++p) (&dL.channels[p].x)[c - first] = dL_dplanes[c * pixels + p];
    }
    const Picture picture = reference_render(scene);
    const Reference gradient = reference_backward(scene, dL);
    for (std::size_t c = first; c < last; ++c) {
      for (std::size_t p = 0; p < pixels; ++p) e.planes[c * pixels + p] = (&picture.channels[p].x)[c - first];
      for (std::size_t i = 0; i < n; ++i)
        e.dL_dchannels[i * channels + c] = gradient.color[i][static_cast<int>(c - first)];
    }
    add(e.gradient.mean, gradient.mean);
    add(e.gradient.log_scale, gradient.log_scale);
    add(e.gradient.rotation, gradient.rotation);
    add(e.gradient.logit_opacity, gradient.logit_opacity);
  }
  return e;
}

template <class T, class U>
void expect_close(const std::vector<T>& ours, const std::vector<U>& expected, const char* name) {
  const std::size_t n = expected.size() * sizeof(U) / sizeof(double);
  ASSERT_EQ(ours.size() * sizeof(T) / sizeof(float), n) << name;
  const auto* b = reinterpret_cast<const double*>(expected.data());
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < n; ++i) {
    error += std::pow(static_cast<double>(floats(ours)[i]) - b[i], 2);
    norm += b[i] * b[i];
  }
  EXPECT_LE(std::sqrt(error), 2e-4 * std::sqrt(norm)) << name;
  EXPECT_GT(norm, 0) << name;
}

TEST_P(ChannelsTest, MatchTheReference) {
  // Far from the thresholds at which float and double may decide differently.
  const Gaussians spread =
      random_cloud(203, 1, 110, {.spread = 1.5f, .log_scale = -2, .logit_opacity_sd = 0.5f});
  // Tiles with long lists, which a backend may split into chunks.
  const Gaussians dense = random_cloud(1500, 0, 118,
                                       {.spread = 0.2f,
                                        .log_scale = -2.5f,
                                        .log_scale_sd = 0.3f,
                                        .logit_opacity = -3.5f,
                                        .logit_opacity_sd = 0.3f});
  const View view{looking_down_z(75, 50, 60), {.background = {0.3f, 0.6f, 0.9f}}};
  const std::size_t pixels = 75 * 50;
  for (const auto& [scene, count] :
       {std::pair{&spread, 1}, {&spread, 3}, {&spread, 4}, {&spread, 5}, {&spread, 11}, {&dense, 6}}) {
    SCOPED_TRACE(count);
    const Gaussians& g = *scene;
    Rendering run(GetParam(), g, view);
    Channels channels;
    channels.count = count;
    const std::vector<float> value = random_values(g.size() * static_cast<std::size_t>(count), 111),
                             dL = random_values(pixels * static_cast<std::size_t>(count), 112);
    channels.value.upload(*run.backend, value);
    DeviceArray<float> planes, dL_dchannels;
    const DeviceArray<float> dL_dplanes(*run.backend, dL);
    run.backend->blend_channels(view, channels, run.pass, planes);
    const Expected expected = expected_of(g, view, count, value, dL);
    expect_close(planes.download(*run.backend), expected.planes, "planes");

    FrameGradient none;  // a zero gradient of the colour, so that all gradients come from the channels
    none.color.upload(*run.backend, std::vector<float>(3 * pixels, 0.0f));
    run.blend_backward(view, std::move(none));
    run.backend->blend_channels_backward(view, channels, planes, dL_dplanes, run.pass, dL_dchannels);
    GradientSum sum;
    run.backend->project_backward(run.gaussians, {}, view, {}, run.pass, sum);
    const Gaussians gradient = download(*run.backend, sum.gaussians);
    expect_close(dL_dchannels.download(*run.backend), expected.dL_dchannels, "channels");
    expect_close(gradient.mean, expected.gradient.mean, "mean");
    expect_close(gradient.log_scale, expected.gradient.log_scale, "log_scale");
    expect_close(gradient.rotation, expected.gradient.rotation, "rotation");
    expect_close(gradient.logit_opacity, expected.gradient.logit_opacity, "logit_opacity");
    for (const Vec3f sh : gradient.sh) ASSERT_EQ(sh, Vec3f(0, 0, 0));
  }
}

// Channels do not change the image, and their gradients are added to those of the colour.
TEST_P(ChannelsTest, LeaveTheColourUnchangedAndAddGradients) {
  const Gaussians g = random_cloud(500, 1, 113);
  const View view{looking_down_z(75, 50, 60), {}};
  const std::size_t pixels = 75 * 50;
  Rendering plain(GetParam(), g, view), with(GetParam(), g, view);
  Channels channels;
  channels.count = 6;
  channels.value.upload(*with.backend, random_values(g.size() * 6, 114));
  DeviceArray<float> planes, dL_dchannels;
  with.backend->blend_channels(view, channels, with.pass, planes);
  EXPECT_TRUE(
      same_bits(with.frame.color.download(*with.backend), plain.frame.color.download(*plain.backend)));

  const auto gradient = [&](Rendering& run, bool of_color, bool of_channels) {
    FrameGradient dL = random_gradient(*run.backend, view);
    if (!of_color) {
      dL.color.resize_zero(*run.backend, 3 * pixels);
      dL.alpha.resize(*run.backend, 0);
    }
    run.blend_backward(view, std::move(dL));
    if (of_channels)
      run.backend->blend_channels_backward(view, channels, planes,
                                           DeviceArray<float>(*run.backend, random_values(pixels * 6, 115)),
                                           run.pass, dL_dchannels);
    GradientSum sum;
    run.backend->project_backward(run.gaussians, {}, view, {}, run.pass, sum);
    return download(*run.backend, sum.gaussians);
  };
  const Gaussians both = gradient(with, true, true), by_channels = gradient(with, false, true);
  Gaussians sum = gradient(plain, true, false);
  for (std::size_t i = 0; i < g.size(); ++i) {
    sum.mean[i] = sum.mean[i] + by_channels.mean[i];
    sum.logit_opacity[i] += by_channels.logit_opacity[i];
  }
  EXPECT_LE(relative_difference(both.mean, sum.mean), 1e-5);
  EXPECT_LE(relative_difference(both.logit_opacity, sum.logit_opacity), 1e-5);
}

TEST_P(ChannelsTest, NothingToDrawGivesZeros) {
  Gaussians behind = random_cloud(10, 1, 116);
  for (Vec3f& m : behind.mean) m.z = -50;
  for (const Gaussians& g : {make_gaussians(0, 1), behind}) {
    const View view{looking_down_z(33, 20, 30), {.background = {1, 1, 1}}};
    Rendering run(GetParam(), g, view);
    Channels channels;
    channels.count = 5;
    channels.value.upload(*run.backend, random_values(g.size() * 5, 117));
    DeviceArray<float> planes, dL_dchannels;
    run.backend->blend_channels(view, channels, run.pass, planes);
    EXPECT_EQ(planes.download(*run.backend), std::vector<float>(5 * 33 * 20, 0.0f));
    run.blend_backward(view, random_gradient(*run.backend, view));
    run.backend->blend_channels_backward(view, channels, planes, planes, run.pass, dL_dchannels);
    EXPECT_EQ(dL_dchannels.download(*run.backend), std::vector<float>(5 * g.size(), 0.0f));
  }
}

}  // namespace
}  // namespace stipple
