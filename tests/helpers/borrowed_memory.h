// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs all stages on borrowed memory: they must stay within their arrays, and compute the same values as on
// memory that the backend allocates.
#include <cstddef>

#include "tests/helpers/backend_run.h"
#include "tests/helpers/conformance_scenes.h"

namespace stipple {

// Arrays in memory that `Blocks` owns: its allocate(bytes) returns an address on the backend's device, valid
// for the lifetime of the `Blocks` object.
template <class Blocks>
class BorrowedArrays {
 public:
  BorrowedArrays(Backend& backend, Blocks& blocks) : backend_(backend), blocks_(blocks) {}

  template <class T>
  DeviceArray<T> array(std::size_t count) {
    return DeviceArray<T>::over(*backend_.borrower(), static_cast<T*>(blocks_.allocate(count * sizeof(T))),
                                count);
  }
  template <class T>
  DeviceArray<T> array(const std::vector<T>& values) {
    auto made = array<T>(values.size());
    made.upload(backend_, values);
    return made;
  }
  DeviceGaussians gaussians(const Gaussians& g) {
    DeviceGaussians made;
    made.sh_degree = g.sh_degree;
    for_each_parameter([&](int, auto& to, const auto& from) { to = array(from); }, made, g);
    return made;
  }
  AdamMoments moments(std::size_t count, int sh_degree) {
    AdamMoments made;
    made.sh_degree = sh_degree;
    for_each_moment(
        [&]<class T>(int words, DeviceArray<T>& to) {
          to = array(std::vector<T>(count * static_cast<std::size_t>(words)));
        },
        made);
    return made;
  }

 private:
  Backend& backend_;
  Blocks& blocks_;
};

// The same with arrays that the backend allocates.
struct OwnArrays {
  Backend& backend;
  template <class T>
  DeviceArray<T> array(std::size_t n) {
    DeviceArray<T> made;
    made.resize(backend, n);
    return made;
  }
  template <class T>
  DeviceArray<T> array(const std::vector<T>& values) {
    return DeviceArray<T>(backend, values);
  }
  DeviceGaussians gaussians(const Gaussians& from) { return upload(backend, from); }
  AdamMoments moments(std::size_t count, int sh_degree) { return zero_moments(backend, count, sh_degree); }
};

template <class Blocks>
void expect_stages_stay_within_borrowed_memory(const std::string& name, std::size_t count, Blocks& blocks) {
  const Gaussians g = random_cloud(count, 3, 90, {.spread = 1.5f});
  const View view{looking_down_z(53, 37, 40), {.depth = DepthOutput::kInverse}};
  const std::size_t pixels = 53 * 37;
  const int channel_count = 5;
  const std::vector<float> features = random_values(count * channel_count, 91),
                           dL_dfeatures = random_values(pixels * channel_count, 92);
  const WantedGradients wanted{
      .absolute_mean = true, .view_statistics = true, .background = true, .camera = true};
  const LossOptions penalties{.opacity_penalty = 0.1f, .scale_penalty = 0.1f};

  // Runs every stage once; `memory` makes the arrays that a caller provides.
  struct Outputs {
    std::vector<float> color, planes, dL_dchannels, dL_dcolor;
    Gaussians gradient, trained;
    std::vector<Vec2f> statistics;
    PassResult result;
  };
  const auto run = [&](Backend& backend, auto& memory) {
    Outputs out;
    TrainState state;
    state.gaussians = memory.gaussians(g);
    state.moments = memory.moments(count, 3);
    state.statistics = memory.array(std::vector<Vec2f>(count, Vec2f(0, 0)));
    Pass pass;
    pass.projection.splat = memory.template array<ProjectedSplat>(count);
    pass.frame.color = memory.template array<float>(3 * pixels);
    pass.frame.transmittance = memory.template array<float>(pixels);
    pass.frame.depth = memory.template array<float>(pixels);
    forward(backend, state.gaussians, {}, view, pass);
    out.color = pass.frame.color.download(backend);
    Channels channels;
    channels.count = channel_count;
    channels.value = memory.array(features);
    auto planes = memory.template array<float>(channel_count * pixels);
    backend.blend_channels(view, channels, pass, planes);
    out.planes = planes.download(backend);

    LossTarget target;
    target.color = memory.array(std::vector<std::uint8_t>(3 * pixels, 77));
    target.weight = memory.array(std::vector<float>(pixels, 0.5f));
    pass.dL_dframe.color = memory.template array<float>(3 * pixels);
    backend.loss(view, target, {}, pass);
    out.dL_dcolor = pass.dL_dframe.color.download(backend);
    pass.dL_dframe.alpha = memory.array(random_values(pixels, 2));
    pass.dL_dframe.depth = memory.array(random_values(pixels, 3));
    DepthSamples depths;
    depths.samples =
        memory.array(std::vector<DepthSample>{{0, 0.25f}, {static_cast<std::uint32_t>(pixels - 1), 0.5f}});
    backend.depth_loss(depths, 1, pass);
    pass.dL_dsplat.splat = memory.template array<Splat>(count);
    pass.dL_dsplat.absolute_mean_px = memory.template array<Vec2f>(count);
    backend.blend_backward(view, wanted, pass);
    auto dL_dplanes = memory.array(dL_dfeatures);
    auto dL_dchannels = memory.template array<float>(count * channel_count);
    backend.blend_channels_backward(view, channels, planes, dL_dplanes, pass, dL_dchannels);
    out.dL_dchannels = dL_dchannels.download(backend);
    GradientSum sum;
    sum.gaussians = memory.gaussians(g);
    sum.view_statistics = memory.template array<Vec2f>(count);
    for (int i = 0; i < 2; ++i)  // the second call adds to the first
      backend.project_backward(state.gaussians, {}, view, wanted, pass, sum);
    out.gradient = download(backend, sum.gaussians);
    backend.optimize(state, sum, kTestRates, penalties, pass);
    backend.project_backward_optimize(state, view, wanted, kTestRates, penalties, pass);
    backend.perturb(state, 0.1f, 5, pass);
    out.trained = download(backend, state.gaussians);
    out.statistics = state.statistics.download(backend);
    out.result = backend.read(pass);
    return out;
  };

  const auto own_backend = make_test_backend(name), backend = make_test_backend(name);
  ASSERT_NE(backend->borrower(), nullptr);
  OwnArrays own{*own_backend};
  BorrowedArrays<Blocks> borrowed(*backend, blocks);
  const Outputs expected = run(*own_backend, own), ours = run(*backend, borrowed);
  EXPECT_TRUE(same_bits(ours.color, expected.color));
  EXPECT_TRUE(same_bits(ours.planes, expected.planes));
  EXPECT_TRUE(same_bits(ours.dL_dcolor, expected.dL_dcolor));
  EXPECT_TRUE(same_bits(ours.dL_dchannels, expected.dL_dchannels));
  EXPECT_TRUE(same_bits(ours.gradient, expected.gradient));
  EXPECT_TRUE(same_bits(ours.trained, expected.trained));
  EXPECT_FALSE(same_bits(ours.trained, g));
  EXPECT_TRUE(same_bits(ours.statistics, expected.statistics));
  EXPECT_EQ(ours.result.views[0].loss.total, expected.result.views[0].loss.total);
  EXPECT_GT(ours.result.views[0].loss.total, 0);
  EXPECT_TRUE(ours.result.views[0].background == expected.result.views[0].background);
  EXPECT_EQ(
      std::memcmp(&ours.result.views[0].camera, &expected.result.views[0].camera, sizeof(CameraGradient)), 0);
}

}  // namespace stipple
