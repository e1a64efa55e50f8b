// SPDX-License-Identifier: Apache-2.0
// What can go wrong only on a GPU, provoked on every backend for GPUs: a predicted capacity that is too
// small, too little memory, and arrays that outlive their backend.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <thread>

#include "tests/helpers/backend_run.h"
#include "tests/helpers/conformance_scenes.h"
#include "tests/helpers/gpu_rooms.h"
#include "tests/helpers/test_folder.h"

namespace stipple {
namespace {

class GpuTest : public PerBackendTest {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GpuTest);

std::vector<std::string> gpu_backend_names() {
  std::vector<std::string> names = backend_names();
  std::erase(names, "cpu");
  return names;
}
INSTANTIATE_TEST_SUITE_P(, GpuTest, testing::ValuesIn(gpu_backend_names()),
                         [](const auto& name) { return name.param; });

constexpr std::size_t kMiB = std::size_t{1} << 20;

// One training step, with noise as the photo.
PassResult step(Backend& backend, TrainState& state, View view, int number, TrainBuffers& buffers,
                int id = 0) {
  LossTarget target;
  target.color.upload(backend, random_picture(view.camera, 84));
  TrainStep what;
  what.adam = kTestRates;
  what.adam.step = number;
  view.id = id;
  return step_on(backend, state, view, target, what, buffers);
}

struct Trained {
  Gaussians gaussians, first, second;
  std::vector<Vec2f> statistics;
  float loss;
};

Trained trained(const Backend& backend, const TrainState& state, const PassResult& outcome) {
  return {download(backend, state.gaussians), download(backend, state.moments.first),
          download(backend, state.moments.second), state.statistics.download(backend),
          outcome.views[0].loss.total};
}

void expect_same(const Trained& a, const Trained& b) {
  EXPECT_TRUE(same_bits(a.gaussians, b.gaussians));
  EXPECT_TRUE(same_bits(a.first, b.first));
  EXPECT_TRUE(same_bits(a.second, b.second));
  EXPECT_TRUE(same_bits(a.statistics, b.statistics));
  EXPECT_EQ(a.loss, b.loss);
}

struct SixSteps {
  Trained trained;
  int overflow_count;
};

SixSteps six_steps_on_two_views(const std::string& name, const BinRoom& first_room) {
  auto owner = make_backend(name, {.deterministic = true});
  Backend& backend = *owner;
  TrainState state = make_train_state(backend, random_cloud(4000, 3, 85));
  TrainBuffers buffers;
  rooms_of(backend, buffers.pass).first = first_room;
  const View views[] = {{looking_down_z(120, 70, 80), {}}, {looking_down_z(50, 100, 60), {}}};
  PassResult outcome;
  for (int i = 1; i <= 6; ++i) {
    outcome = step(backend, state, views[i % 2], i, buffers, i % 2);
    EXPECT_TRUE(outcome.is_finite);
  }
  return {trained(backend, state, outcome), rooms_of(backend, buffers.pass).overflow_count};
}

TEST_P(GpuTest, SmallCapacityRerunsStep) {
  const SixSteps expected = six_steps_on_two_views(GetParam(), {1 << 20, 1 << 22, true});
  EXPECT_EQ(expected.overflow_count, 0);
  // Too small for the Gaussians, for the pairs, and for both.
  for (const BinRoom room :
       {BinRoom{1, 1, true}, {1 << 20, 255, true}, {100, 1 << 22, true}, {1000, 3000, true}}) {
    const SixSteps small = six_steps_on_two_views(GetParam(), room);
    expect_same(small.trained, expected.trained);
    EXPECT_EQ(small.overflow_count, 2) << room.pairs;  // once per view: then its capacity is known
  }
}

// If the capacity is too small for one view of a batch, the whole step is run again.
TEST_P(GpuTest, SmallCapacityForOneViewRerunsBatch) {
  const Gaussians g = random_cloud(4000, 3, 85);
  struct Outcome {
    Trained trained;
    int overflow_count;
    std::vector<std::size_t> pairs;  // needed by each view
  };
  const auto train_with = [&](const BinRoom& first_room) {
    auto owner_of_backend = make_backend(GetParam(), {.deterministic = true});
    Backend& backend = *owner_of_backend;
    TrainState state = make_train_state(backend, g);
    TrainBuffers buffers;
    TrainStep what;
    what.adam = kTestRates;
    std::vector<LossTarget> targets(3);
    std::vector<TrainView> views;
    for (std::size_t i = 0; i < 3; ++i) {
      View view{looking_down_z(50 + 30 * static_cast<int>(i), 45, 50 + 10.0f * static_cast<float>(i)), {}};
      view.id = static_cast<int>(i);
      targets[i].color.upload(backend, random_picture(view.camera, 84));
      views.push_back({view, &targets[i]});
    }
    RoomPredictor& rooms = rooms_of(backend, buffers.pass);
    rooms.first = first_room;
    const PassResult result = backend.train_step(state, views, what, buffers);
    Outcome outcome{trained(backend, state, result), rooms.overflow_count, {}};
    for (const BinRoom& room : rooms.needed_by_view) outcome.pairs.push_back(room.pairs);
    return outcome;
  };
  const Outcome expected = train_with({1 << 20, 1 << 22, true});
  EXPECT_EQ(expected.overflow_count, 0);
  const auto [least, most] = std::minmax_element(expected.pairs.begin(), expected.pairs.end());
  ASSERT_LT(*least, *most);
  const Outcome again = train_with({1 << 20, (*least + *most) / 2, true});  // enough for some views only
  EXPECT_EQ(again.overflow_count, 1);
  expect_same(again.trained, expected.trained);
  EXPECT_FALSE(same_bits(again.trained.gaussians, g));
}

// A pass whose first allocation fails is left as new, and can be retried.
TEST_P(GpuTest, PassCanBeRetriedAfterFailedAllocation) {
  const View view{looking_down_z(64, 48, 60), {}};
  auto backend = make_backend(GetParam(), {.max_bytes = 64 * kMiB});
  const DeviceGaussians g = upload(*backend, random_cloud(100, 0, 88));
  Pass pass;
  auto rest = backend->allocate(64 * kMiB - backend->used_bytes() - 8);
  EXPECT_THROW(forward(*backend, g, {}, view, pass), OutOfMemory);
  rest.reset();
  forward(*backend, g, {}, view, pass);
  EXPECT_EQ(pass.frame.color.download(*backend).size(), 3u * 64 * 48);
}

// The capacity that a view needed last time is too small once there are many more Gaussians.
TEST_P(GpuTest, GrowthBeyondCapacityRerunsStep) {
  const View view{looking_down_z(120, 70, 80), {}};
  auto owner_of_backend = make_backend(GetParam(), {.deterministic = true});
  Backend& backend = *owner_of_backend;
  TrainBuffers grown, fresh;
  rooms_of(backend, fresh.pass).first = {1 << 20, 1 << 22, true};
  TrainState few = make_train_state(backend, random_cloud(100, 3, 86));
  step(backend, few, view, 1, grown);
  EXPECT_EQ(rooms_of(backend, grown.pass).overflow_count, 0);
  const Gaussians many = random_cloud(6000, 3, 87, {.log_scale = -2});
  TrainState in_grown = make_train_state(backend, many), in_fresh = make_train_state(backend, many);
  const PassResult one = step(backend, in_grown, view, 1, grown);
  const PassResult other = step(backend, in_fresh, view, 1, fresh);
  EXPECT_EQ(rooms_of(backend, grown.pass).overflow_count, 1);
  EXPECT_EQ(rooms_of(backend, fresh.pass).overflow_count, 0);
  expect_same(trained(backend, in_grown, one), trained(backend, in_fresh, other));
}

// A camera under optimisation changes at every step, but it remains the same view.
TEST_P(GpuTest, MovingCameraNeitherAllocatesNorReruns) {
  auto owner_of_backend = make_backend(GetParam(), {.deterministic = true});
  Backend& backend = *owner_of_backend;
  TrainState state = make_train_state(backend, random_cloud(2000, 1, 85));
  TrainBuffers buffers;
  View view{looking_down_z(120, 70, 80), {}};
  std::size_t used = 0;
  for (int i = 1; i <= 60; ++i) {
    view.camera.camera_from_world.translation = {0.001f * static_cast<float>(i % 17), 0,
                                                 4 + 0.002f * static_cast<float>(i % 5)};
    EXPECT_TRUE(step(backend, state, view, i, buffers).is_finite);
    if (i == 20) used = backend.used_bytes();
  }
  EXPECT_EQ(backend.used_bytes(), used);
  EXPECT_EQ(rooms_of(backend, buffers.pass).overflow_count, 0);
  EXPECT_EQ(rooms_of(backend, buffers.pass).needed_by_view.size(), 1u);
}

// Two backends in one process, used alternately and from two threads, give the same results as one alone.
TEST_P(GpuTest, TwoBackendsAreIndependent) {
  const View view{looking_down_z(120, 70, 80), {}};
  const Gaussians g = random_cloud(2000, 3, 90);
  const auto steps = [&](Backend& backend, TrainState& state, TrainBuffers& buffers, int from, int to) {
    PassResult result;
    for (int i = from; i <= to; ++i) result = step(backend, state, view, i, buffers);
    return result;
  };
  auto owner_of_alone = make_backend(GetParam(), {.deterministic = true});
  Backend& alone = *owner_of_alone;
  TrainState expected_state = make_train_state(alone, g);
  TrainBuffers buffers;
  const PassResult result = steps(alone, expected_state, buffers, 1, 8);
  const Trained expected = trained(alone, expected_state, result);

  auto owner_of_a = make_backend(GetParam(), {.deterministic = true});
  auto owner_of_b = make_backend(GetParam(), {.deterministic = true});
  Backend &a = *owner_of_a, &b = *owner_of_b;
  TrainState state_a = make_train_state(a, g), state_b = make_train_state(b, g);
  TrainBuffers buffers_a, buffers_b;
  for (int i = 1; i <= 4; ++i) {
    steps(a, state_a, buffers_a, i, i);
    steps(b, state_b, buffers_b, i, i);
  }
  PassResult result_a, result_b;
  std::thread other([&] { result_b = steps(b, state_b, buffers_b, 5, 8); });
  result_a = steps(a, state_a, buffers_a, 5, 8);
  other.join();
  expect_same(trained(a, state_a, result_a), expected);
  expect_same(trained(b, state_b, result_b), expected);
}

TEST_P(GpuTest, RespectsMemoryLimit) {
  auto backend = make_backend(GetParam(), {.max_bytes = 32 * kMiB});
  EXPECT_EQ(backend->own_memory_bytes(), 32 * kMiB);
  const std::size_t used = backend->used_bytes();
  const std::string message = error_of([&] { backend->allocate(33 * kMiB); });
  EXPECT_NE(message.find("cannot allocate 33 MiB on the GPU"), std::string::npos) << message;
  EXPECT_NE(message.find("the total would exceed the memory limit"), std::string::npos) << message;
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

// A step on an image that does not fit runs out of memory at some stage and changes nothing, whichever stage
// it is; training then continues on a smaller image.
TEST_P(GpuTest, StepOutOfMemoryChangesNothing) {
  const View large{looking_down_z(640, 640, 400), {}}, small{looking_down_z(64, 48, 60), {}};
  const Gaussians g = random_cloud(1000, 3, 88);
  auto unlimited = make_backend(GetParam(), {.deterministic = true});
  TrainState state = make_train_state(*unlimited, g);
  TrainBuffers buffers;
  const Trained first = trained(*unlimited, state, step(*unlimited, state, small, 1, buffers));
  const Trained second = trained(*unlimited, state, step(*unlimited, state, small, 2, buffers));

  int failures = 0;
  for (std::size_t mib = 4; mib <= 128; mib += 2) {
    auto limited = make_backend(GetParam(), {.deterministic = true, .max_bytes = mib * kMiB});
    TrainState limited_state = make_train_state(*limited, g);
    TrainBuffers limited_buffers;
    const PassResult one = step(*limited, limited_state, small, 1, limited_buffers);
    try {
      step(*limited, limited_state, large, 2, limited_buffers, 1);
      break;  // from here on the step fits
    } catch (const OutOfMemory&) {
      ++failures;
    }
    SCOPED_TRACE(mib);
    expect_same(trained(*limited, limited_state, one), first);
    const PassResult two = step(*limited, limited_state, small, 2, limited_buffers);
    expect_same(trained(*limited, limited_state, two), second);
  }
  EXPECT_GT(failures, 10);
  EXPECT_LT(failures, 50);
}

TEST_P(GpuTest, RejectsLimitAboveFreeMemory) {
  const std::string message = error_of([] { make_backend(GetParam(), {.max_bytes = std::size_t{1} << 50}); });
  EXPECT_NE(message.find("set a lower limit"), std::string::npos) << message;
}

TEST_P(GpuTest, ArraysMayOutliveBackend) {
  DeviceGaussians kept;
  {
    auto backend = make_backend(GetParam());
    kept = upload(*backend, random_cloud(1000, 3, 89));
  }
  EXPECT_EQ(kept.size(), 1000u);
  kept = {};
  const View view{looking_down_z(64, 48, 60), {}};
  Rendering after(GetParam(), random_cloud(1000, 3, 89), view);  // the device is still usable
  EXPECT_EQ(after.frame.color.download(*after.backend).size(), 3u * 64 * 48);
}

}  // namespace
}  // namespace stipple
