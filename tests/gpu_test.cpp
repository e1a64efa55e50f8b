// SPDX-License-Identifier: Apache-2.0
// What can go wrong only on a GPU, provoked on every backend for GPUs: a predicted capacity that is too
// small, too little memory, and arrays that outlive their backend.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <thread>

#include "stipple/train/density/gather_in_place.h"
#include "stipple/train/memory_plan.h"
#include "tests/helpers/backend_run.h"
#include "tests/helpers/conformance_scenes.h"
#include "tests/helpers/gpu_rooms.h"
#include "tests/helpers/moments.h"
#include "tests/helpers/quick_training.h"
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
  Gaussians gaussians;
  HostMoments moments;
  std::vector<Vec2f> statistics;
  float loss;
};

Trained trained(const Backend& backend, const TrainState& state, const PassResult& outcome) {
  return {download(backend, state.gaussians), download(backend, state.moments),
          state.statistics.download(backend), outcome.views[0].loss.total};
}

void expect_same(const Trained& a, const Trained& b) {
  EXPECT_TRUE(same_bits(a.gaussians, b.gaussians));
  EXPECT_TRUE(same_bits(a.moments, b.moments));
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
  const SixSteps expected = six_steps_on_two_views(GetParam(), {1 << 20, 1 << 20, 1 << 22, true});
  EXPECT_EQ(expected.overflow_count, 0);
  // Too small for the splats, for those that touch a tile, for the pairs, and for several of them.
  for (const BinRoom room : {BinRoom{1, 1, 1, true},
                             {1, 1 << 20, 1 << 22, true},
                             {1000, 1 << 20, 1 << 22, true},
                             {1 << 20, 1 << 20, 255, true},
                             {1 << 20, 100, 1 << 22, true},
                             {1 << 20, 1000, 3000, true},
                             {500, 1000, 3000, true}}) {
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
    std::vector<std::size_t> splats, pairs;  // needed by each view
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
    Outcome outcome{trained(backend, state, result), rooms.overflow_count, {}, {}};
    for (const BinRoom& room : rooms.needed_by_view) {
      outcome.splats.push_back(room.splats);
      outcome.pairs.push_back(room.pairs);
    }
    return outcome;
  };
  const Outcome expected = train_with({1 << 20, 1 << 20, 1 << 22, true});
  EXPECT_EQ(expected.overflow_count, 0);
  const auto between = [](const std::vector<std::size_t>& needed) {  // enough for some views only
    const auto [least, most] = std::minmax_element(needed.begin(), needed.end());
    EXPECT_LT(*least, *most);
    return (*least + *most) / 2;
  };
  for (const BinRoom room : {BinRoom{1 << 20, 1 << 20, between(expected.pairs), true},
                             {between(expected.splats), 1 << 20, 1 << 22, true}}) {
    const Outcome again = train_with(room);
    EXPECT_EQ(again.overflow_count, 1) << room.splats;
    expect_same(again.trained, expected.trained);
    EXPECT_FALSE(same_bits(again.trained.gaussians, g));
  }
}

// A pass whose first allocation fails is left as new, and can be retried.
TEST_P(GpuTest, PassCanBeRetriedAfterFailedAllocation) {
  const View view{looking_down_z(64, 48, 60), {}};
  auto backend = make_backend(GetParam(), {.max_bytes = 64 * kMiB});
  const DeviceGaussians g = upload(*backend, random_cloud(100, 0, 88));
  Pass pass;
  std::vector<std::unique_ptr<Memory>> rest;  // in blocks that are too small to be rounded up to pages
  for (std::size_t left; (left = 64 * kMiB - backend->used_bytes()) > 8;)
    rest.push_back(backend->allocate(std::min(left - 8, 8 * kMiB)));
  EXPECT_THROW(forward(*backend, g, {}, view, pass), OutOfMemory);
  rest.clear();
  forward(*backend, g, {}, view, pass);
  EXPECT_EQ(pass.frame.color.download(*backend).size(), 3u * 64 * 48);
}

// The capacity that a view needed last time is too small once there are many more Gaussians.
TEST_P(GpuTest, GrowthBeyondCapacityRerunsStep) {
  const View view{looking_down_z(120, 70, 80), {}};
  auto owner_of_backend = make_backend(GetParam(), {.deterministic = true});
  Backend& backend = *owner_of_backend;
  TrainBuffers grown, fresh;
  rooms_of(backend, fresh.pass).first = {1 << 20, 1 << 20, 1 << 22, true};
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

// Where harmonics lie changes nothing, in the fused stages and in the separate ones.
TEST_P(GpuTest, HarmonicsOnTheHostGiveTheSameBits) {
  auto owner = make_backend(GetParam(), {.deterministic = true});
  Backend& backend = *owner;
  if (!backend.reaches_host()) GTEST_SKIP() << "the device cannot use memory of the host";
  const Gaussians g = random_cloud(20000, 3, 92);
  const std::vector<View> views = {{looking_down_z(120, 70, 400), {}}, {looking_down_z(50, 100, 300), {}}};
  std::vector<LossTarget> targets(2);
  for (std::size_t i = 0; i < 2; ++i) targets[i].color.upload(backend, random_picture(views[i].camera, 84));
  for (const std::size_t batch : {std::size_t{1}, std::size_t{2}}) {
    SCOPED_TRACE(batch);
    TrainState here = make_train_state(backend, g), there = make_train_state(backend, g, Place::kHost);
    EXPECT_EQ(there.gaussians.sh.place(), Place::kHost);
    TrainBuffers buffers_here, buffers_there;
    TrainStep what;
    what.adam = kTestRates;
    what.adam.visible_harmonics_only = true;
    PassResult of_here, of_there;
    for (int i = 1; i <= 4; ++i) {
      std::vector<TrainView> now;
      for (std::size_t k = 0; k < batch; ++k) {
        const std::size_t at = (static_cast<std::size_t>(i) + k) % 2;
        now.push_back({views[at], &targets[at]});
        now.back().view.id = static_cast<int>(at);
      }
      what.adam.step = i;
      of_here = backend.train_step(here, now, what, buffers_here);
      of_there = backend.train_step(there, now, what, buffers_there);
      EXPECT_TRUE(of_there.is_finite);
    }
    expect_same(trained(backend, here, of_here), trained(backend, there, of_there));
    EXPECT_FALSE(same_bits(download(backend, there.gaussians), g));
    std::size_t unchanged = 0;
    const std::vector<Vec3f> sh = there.gaussians.sh.download(backend);
    for (std::size_t i = 0; i < g.size(); ++i) unchanged += sh[16 * i] == g.sh[16 * i];
    EXPECT_GT(unchanged, g.size() / 10);  // those that no view shows
    EXPECT_LT(unchanged, g.size());
  }
}

// Whatever view a step announces, and whatever happens to the model before the next step.
TEST_P(GpuTest, AnnouncedViewsChangeNothing) {
  auto owner = make_backend(GetParam(), {.deterministic = true});
  Backend& backend = *owner;
  if (!backend.reaches_host()) GTEST_SKIP() << "the device cannot use memory of the host";
  std::vector<View> views = {{looking_down_z(90, 70, 400), {}},
                             {looking_down_z(70, 90, 300), {}},
                             {looking_down_z(80, 60, 150), {}}};
  std::vector<LossTarget> targets(views.size());
  for (std::size_t i = 0; i < views.size(); ++i) {
    views[i].id = static_cast<int>(i);
    views[i].camera.center_px.x += 30 * (static_cast<float>(i) - 1);
    targets[i].color.upload(backend, random_picture(views[i].camera, 84));
  }
  struct Turn {
    std::size_t view;
    int announced;  // -1: none
  };
  constexpr Turn kTurns[] = {{0, 1}, {1, 2}, {2, 0}, {0, 1}, {1, 1}, {1, 0}, {2, 1}, {1, -1}, {0, 2}, {2, 0}};
  constexpr int kChangedAfter = 9;  // turns: the announced view comes next
  for (const int degree : {3, 2, 1, 0}) {
    SCOPED_TRACE(degree);
    const Gaussians g = random_cloud(degree == 3 ? 2000 : 1000, degree, 92);
    TrainState here = make_train_state(backend, g), there = make_train_state(backend, g, Place::kHost);
    TrainBuffers buffers_here, buffers_there;
    rooms_of(backend, buffers_there.pass).first = {100, 100, 400, true};  // so that steps are run again
    TrainStep what;
    what.adam = kTestRates;
    what.adam.visible_harmonics_only = true;
    what.adam.step = 0;
    PassResult of_here, of_there;
    for (const Turn& turn : kTurns) {
      ++what.adam.step;
      const TrainView now{views[turn.view], &targets[turn.view]};
      what.next_view = nullptr;
      of_here = backend.train_step(here, {&now, 1}, what, buffers_here);
      if (turn.announced >= 0) what.next_view = &views[static_cast<std::size_t>(turn.announced)];
      of_there = backend.train_step(there, {&now, 1}, what, buffers_there);
      EXPECT_TRUE(of_there.is_finite);
      if (what.adam.step != kChangedAfter) continue;
      for (TrainState* state : {&here, &there}) {
        std::vector<Vec3f> sh = state->gaussians.sh.download(backend);
        for (Vec3f& c : sh) c = 0.5f * c;
        state->gaussians.sh.upload(backend, sh);
      }
    }
    EXPECT_GT(rooms_of(backend, buffers_there.pass).overflow_count, 0);
    expect_same(trained(backend, here, of_here), trained(backend, there, of_there));
  }
}

// Rows of arrays on the host are gathered and widened there, and memory of the host is not the device's.
TEST_P(GpuTest, ArraysOnTheHostChangeThere) {
  auto backend = make_backend(GetParam());
  if (!backend->reaches_host()) GTEST_SKIP() << "the device cannot use memory of the host";
  constexpr std::size_t kRows = 300'000, kRow = 48;
  std::vector<float> values(kRows * kRow);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 1'000'003);
  DeviceArray<float> array;
  array.set_place(Place::kHost);
  array.upload(*backend, values);
  EXPECT_LT(backend->used_bytes(), kMiB);
  EXPECT_TRUE(array.download(*backend) == values);

  std::vector<std::uint32_t> rows(kRows + 20'000);
  for (std::size_t i = 0; i < rows.size(); ++i)
    rows[i] = i % 100 == 99 ? Backend::kNoRow : static_cast<std::uint32_t>(i * 7919 % kRows);
  const auto gathered = [&] {
    std::vector<float> result;
    for (const std::uint32_t row : rows)
      for (std::size_t k = 0; k < kRow; ++k)
        result.push_back(row == Backend::kNoRow ? 0 : values[row * kRow + k]);
    return result;
  };
  const std::vector<float> expected = gathered();
  gather_in_place(*backend, array, DeviceArray<std::uint32_t>(*backend, rows), kRow);
  EXPECT_EQ(array.place(), Place::kHost);
  EXPECT_TRUE(array.download(*backend) == expected);

  array.move_to(*backend, Place::kDevice);
  EXPECT_GE(backend->used_bytes(), expected.size() * sizeof(float));
  EXPECT_TRUE(array.download(*backend) == expected);
  array.move_to(*backend, Place::kHost);
  EXPECT_TRUE(array.download(*backend) == expected);
  widen_in_place(*backend, array, kRow, kRow + 12);
  const std::vector<float> wide = array.download(*backend);
  ASSERT_EQ(wide.size(), rows.size() * (kRow + 12));
  for (std::size_t i = 0; i < wide.size(); ++i) {
    const std::size_t row = i / (kRow + 12), at = i % (kRow + 12);
    ASSERT_EQ(wide[i], at < kRow ? expected[row * kRow + at] : 0) << i;
  }
  array.resize_zero(*backend, 1000);
  EXPECT_EQ(array.download(*backend), std::vector<float>(1000, 0));
}

// The plan agrees with what training takes at its peak, with refinements and all.
class MemoryRun {
 public:
  static std::size_t count_on(const std::string& backend) {
    return backend == "cuda" ? 2'000'000 : 20'000;  // so that images matter little
  }
  static MemoryNeeds needs(Place harmonics) {
    MemoryNeeds needs = memory_needs(small_scene(), small_scene().train_views());
    needs.has_absolute = true;
    needs.harmonics = harmonics;
    return needs;
  }

  // Compares the plan for what the views show with the peak.
  static void check(Backend& backend, std::size_t count, Strategy strategy, Place harmonics) {
    TrainOptions options = quick(strategy);
    options.max_gaussians = count;
    options.stop_at = 25;
    options.grow_gradient = 0;  // the model grows to the cap at the first refinement
    options.hold_out = true;
    Gaussians start = random_cloud(count * 9 / 10, 3, 91, {.spread = 1.5f, .log_scale = -5});
    Trainer trainer(backend, small_scene(), options, std::move(start));
    std::size_t visible = 0, pairs = 0;
    while (!trainer.done()) {
      const StepReport report = trainer.step();
      visible = std::max(visible, report.visible);
      pairs = std::max(pairs, report.pairs);
    }
    EXPECT_EQ(trainer.gaussian_count(), count);
    EXPECT_EQ(trainer.has_harmonics_on_host(), harmonics == Place::kHost);
    MemoryNeeds seen = needs(harmonics);
    seen.visible_share = static_cast<double>(visible) / static_cast<double>(count);
    seen.pairs_per_visible = static_cast<double>(pairs) / static_cast<double>(visible);
    const auto planned = static_cast<double>(training_bytes(backend, count, seen) + seen.photo_bytes);
    EXPECT_NEAR(planned / static_cast<double>(backend.peak_used_bytes()), 1, 0.05);
  }
};

TEST_P(GpuTest, PlanOfMemoryIsExact) {
  const std::size_t count = MemoryRun::count_on(GetParam());
  for (const Strategy strategy : {Strategy::kMcmc, Strategy::kAdc})
    for (const bool deterministic : {false, true}) {
      const bool is_slow =
          GetParam() != "cuda";  // a device in software: of four runs, two that differ in both
      if (is_slow && deterministic != (strategy == Strategy::kAdc)) continue;
      SCOPED_TRACE(testing::Message() << name_of(strategy) << (deterministic ? " deterministic" : ""));
      auto backend = make_backend(GetParam(), {.deterministic = deterministic});
      MemoryRun::check(*backend, count, strategy, Place::kDevice);
    }
}

// The memory is enough for all Gaussians only if their harmonics lie on the host.
TEST_P(GpuTest, PlanOfMemoryIsExactWithHarmonicsOnTheHost) {
  const std::size_t count = MemoryRun::count_on(GetParam());
  const auto unlimited = make_backend(GetParam());
  if (!unlimited->reaches_host()) GTEST_SKIP() << "the device cannot use memory of the host";
  const auto bytes = [&](const Backend& backend, Place harmonics) {
    const MemoryNeeds needs = MemoryRun::needs(harmonics);
    return static_cast<double>(needs.photo_bytes + training_bytes(backend, count, needs)) / 0.95;
  };
  // Some of what a backend takes depends on how much it may take.
  auto most = static_cast<std::size_t>(0.5 * bytes(*unlimited, Place::kDevice));
  for (int i = 0; i < 5; ++i) {
    const auto limited = make_backend(GetParam(), {.max_bytes = most});
    most = static_cast<std::size_t>(1.01 * bytes(*limited, Place::kHost));
  }
  ASSERT_LT(static_cast<double>(most), 0.9 * bytes(*unlimited, Place::kDevice));
  for (const Strategy strategy : {Strategy::kMcmc, Strategy::kAdc}) {
    SCOPED_TRACE(name_of(strategy));
    auto backend = make_backend(GetParam(), {.max_bytes = most});
    MemoryRun::check(*backend, count, strategy, Place::kHost);
  }
}

}  // namespace
}  // namespace stipple
