// SPDX-License-Identifier: Apache-2.0
// What can go wrong on a GPU and nowhere else, forced to: too little room predicted, too little memory, and
// arrays that outlive their backend.
#include <gtest/gtest.h>

#include <limits>

#include "stipple/backend/cuda/cuda_backend.h"
#include "stipple/io/test_folder.h"
#include "tests/backend_run.h"
#include "tests/conformance_scenes.h"

namespace stipple {
namespace {

class CudaTest : public testing::Test {
 protected:
  void SetUp() override { STIPPLE_SKIP_UNUSABLE("cuda"); }
};

constexpr std::size_t kMiB = std::size_t{1} << 20;

TrainState start(Backend& backend, const Gaussians& g) {
  TrainState state;
  state.gaussians = upload(backend, g);
  state.moments = {zeros_like(backend, state.gaussians), zeros_like(backend, state.gaussians)};
  state.statistics.sum.resize_zero(backend, g.size());
  return state;
}

// As a trainer would, with a photo of noise.
TrainOutcome step(Backend& backend, TrainState& state, const View& view, int number, TrainBuffers& buffers) {
  LossTarget target;
  target.color.upload(backend, random_picture(view.camera, 84));
  TrainStep what;
  what.ssim_weight = 0.2f;
  what.adam = {.mean = 1e-3f,
               .log_scale = 5e-3f,
               .rotation = 1e-3f,
               .logit_opacity = 0.05f,
               .sh_base = 2.5e-3f,
               .sh_rest = 1e-4f,
               .step = number};
  return backend.train_step(state, view, target, what, buffers);
}

struct Trained {
  Gaussians gaussians, first, second;
  std::vector<Vec2f> statistics;
  float loss;
};

Trained trained(const Backend& backend, const TrainState& state, const TrainOutcome& outcome) {
  return {download(backend, state.gaussians), download(backend, state.moments.first),
          download(backend, state.moments.second), state.statistics.sum.download(backend),
          outcome.loss.total};
}

void expect_same(const Trained& a, const Trained& b) {
  EXPECT_TRUE(same_bits(a.gaussians, b.gaussians));
  EXPECT_TRUE(same_bits(a.first, b.first));
  EXPECT_TRUE(same_bits(a.second, b.second));
  EXPECT_TRUE(same_bits(a.statistics, b.statistics));
  EXPECT_EQ(a.loss, b.loss);
}

Trained six_steps_on_two_views(CudaBackend& backend) {
  TrainState state = start(backend, random_cloud(20000, 3, 85));
  TrainBuffers buffers;
  const View views[] = {{looking_down_z(245, 136, 150), {}}, {looking_down_z(100, 200, 120), {}}};
  TrainOutcome outcome;
  for (int i = 1; i <= 6; ++i) {
    outcome = step(backend, state, views[i % 2], i, buffers);
    EXPECT_TRUE(outcome.is_finite);
  }
  return trained(backend, state, outcome);
}

TEST_F(CudaTest, TooLittleRoomRunsTheStepAgain) {
  CudaBackend large({.deterministic = true});
  large.set_first_room({1 << 20, 1 << 22});
  const Trained expected = six_steps_on_two_views(large);
  EXPECT_EQ(large.rerun_count(), 0);
  // Too little for Gaussians, for pairs, and for both.
  for (const BinRoom room : {BinRoom{1, 1}, {1 << 20, 255}, {100, 1 << 22}, {5000, 10'000}}) {
    CudaBackend small({.deterministic = true});
    small.set_first_room(room);
    expect_same(six_steps_on_two_views(small), expected);
    EXPECT_EQ(small.rerun_count(), 2) << room.pairs;  // once for each view: the next time it is known
  }
}

// What a view had the last time is too little, after the number of Gaussians has grown.
TEST_F(CudaTest, MoreGaussiansThanTheLastTimeRunTheStepAgain) {
  const View view{looking_down_z(245, 136, 150), {}};
  CudaBackend grown({.deterministic = true}), fresh({.deterministic = true});
  fresh.set_first_room({1 << 20, 1 << 22});
  TrainBuffers grown_buffers, fresh_buffers;
  TrainState few = start(grown, random_cloud(100, 3, 86));
  step(grown, few, view, 1, grown_buffers);
  EXPECT_EQ(grown.rerun_count(), 0);
  const Gaussians many = random_cloud(30000, 3, 87, {.log_scale = -2});
  TrainState in_grown = start(grown, many), in_fresh = start(fresh, many);
  const TrainOutcome one = step(grown, in_grown, view, 1, grown_buffers);
  const TrainOutcome other = step(fresh, in_fresh, view, 1, fresh_buffers);
  EXPECT_EQ(grown.rerun_count(), 1);
  expect_same(trained(grown, in_grown, one), trained(fresh, in_fresh, other));
}

TEST_F(CudaTest, NoMoreMemoryIsTakenThanAllowed) {
  auto backend = make_backend("cuda", {.max_bytes = 32 * kMiB});
  EXPECT_EQ(backend->own_memory_bytes(), 32 * kMiB);
  const std::size_t used = backend->used_bytes();
  const std::string message = error_of([&] { backend->allocate(33 * kMiB); });
  EXPECT_NE(message.find("the GPU has no room for another 33 MiB"), std::string::npos) << message;
  EXPECT_NE(message.find("that is all that it may use"), std::string::npos) << message;
  EXPECT_THROW(backend->allocate(33 * kMiB), OutOfMemory);
  EXPECT_THROW(backend->allocate(std::numeric_limits<std::size_t>::max()), OutOfMemory);
  EXPECT_EQ(backend->used_bytes(), used);
  {
    const auto most = backend->allocate(30 * kMiB);
    EXPECT_EQ(backend->used_bytes(), used + 30 * kMiB);
    EXPECT_THROW(backend->allocate(3 * kMiB), OutOfMemory);
  }
  EXPECT_EQ(backend->used_bytes(), used);
  EXPECT_GE(backend->peak_used_bytes(), 30 * kMiB);
}

// A picture that does not fit fails amid a step, which then has changed nothing, and a smaller one goes on:
// wherever in the step it was that memory ended.
TEST_F(CudaTest, AStepThatDoesNotFitChangesNothing) {
  const View large{looking_down_z(1600, 1600, 1000), {}}, small{looking_down_z(64, 48, 60), {}};
  const Gaussians g = random_cloud(10000, 3, 88);
  auto unlimited = make_backend("cuda", {.deterministic = true});
  TrainState state = start(*unlimited, g);
  TrainBuffers buffers;
  const Trained first = trained(*unlimited, state, step(*unlimited, state, small, 1, buffers));
  const Trained second = trained(*unlimited, state, step(*unlimited, state, small, 2, buffers));

  int failures = 0;
  for (std::size_t mib = 24; mib <= 256; mib += 4) {
    auto limited = make_backend("cuda", {.deterministic = true, .max_bytes = mib * kMiB});
    TrainState limited_state = start(*limited, g);
    TrainBuffers limited_buffers;
    const TrainOutcome one = step(*limited, limited_state, small, 1, limited_buffers);
    try {
      step(*limited, limited_state, large, 2, limited_buffers);
      break;  // from here on there is room
    } catch (const OutOfMemory&) {
      ++failures;
    }
    SCOPED_TRACE(mib);
    expect_same(trained(*limited, limited_state, one), first);
    const TrainOutcome two = step(*limited, limited_state, small, 2, limited_buffers);
    expect_same(trained(*limited, limited_state, two), second);
  }
  EXPECT_GT(failures, 10);
  EXPECT_LT(failures, 50);
}

TEST_F(CudaTest, MoreMemoryThanThereIsIsRefused) {
  const std::string message = error_of([] { make_backend("cuda", {.max_bytes = std::size_t{1} << 50}); });
  EXPECT_NE(message.find("ask for less"), std::string::npos) << message;
}

TEST_F(CudaTest, ArraysMayOutliveTheirBackend) {
  DeviceGaussians kept;
  {
    auto backend = make_backend("cuda");
    kept = upload(*backend, random_cloud(1000, 3, 89));
  }
  EXPECT_EQ(kept.size(), 1000u);
  kept = {};
  const View view{looking_down_z(64, 48, 60), {}};
  Rendering after("cuda", random_cloud(1000, 3, 89), view);  // nothing was left in a bad state
  EXPECT_EQ(after.frame.color.download(*after.backend).size(), 3u * 64 * 48);
}

}  // namespace
}  // namespace stipple
