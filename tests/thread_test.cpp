// SPDX-License-Identifier: Apache-2.0
// Several threads use one object, as its header permits. These tests check the results; the build with the
// thread sanitizer, which runs them too, finds data races.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <barrier>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "apps/stipple/view/byte_cache.h"
#include "stipple/backend/render.h"
#include "stipple/core/error.h"
#include "stipple/core/fair_mutex.h"
#include "stipple/core/parallel.h"
#include "stipple/photo/photo_cache.h"
#include "stipple/synth/city/block_cache.h"
#include "tests/helpers/backend_run.h"
#include "tests/helpers/conformance_scenes.h"

namespace stipple {
namespace {

// Runs work(0), ..., work(count - 1) at the same time, each in its own thread.
template <class Work>
void run_together(std::size_t count, const Work& work) {
  std::barrier start(static_cast<std::ptrdiff_t>(count));
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < count; ++i)
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      work(i);
    });
}

std::vector<SceneView> views_of_4_pixels(std::size_t count) {
  std::vector<SceneView> views(count);
  for (std::size_t i = 0; i < count; ++i) {
    views[i].name = std::to_string(i);
    views[i].camera.width_px = views[i].camera.height_px = 2;
  }
  return views;
}

constexpr std::size_t kPhotoBytes = 16;  // photo_bytes() of such a view
constexpr std::size_t kBadView = 11;

// A photo whose bytes are the number of its view. Like real decoding, this needs no lock.
Photo decode(const SceneView& view) {
  const std::size_t number = std::stoul(view.name);
  if (number == kBadView) throw Error("photo " + view.name + " is bad");
  Photo photo{.width_px = 2, .height_px = 2, .rgb = {}, .weight = {}};
  photo.rgb.assign(12, static_cast<std::uint8_t>(number));
  photo.weight.assign(4, 255);
  return photo;
}

void expect_photo_or_error(PhotoCache& cache, std::size_t view) {
  try {
    const std::shared_ptr<const Photo> photo = cache.get(view);
    EXPECT_NE(view, kBadView);
    for (const std::uint8_t byte : photo->rgb) EXPECT_EQ(byte, view);
  } catch (const Error&) {
    EXPECT_EQ(view, kBadView);
  }
}

TEST(Threads, MayGetAndPrefetchPhotosWhileTheWorkerDecodes) {
  constexpr std::size_t kViews = 16, kThreads = 4, kBudget = 5 * kPhotoBytes;
  PhotoCache cache(views_of_4_pixels(kViews), kBudget, decode);
  run_together(kThreads, [&](std::size_t thread) {
    std::mt19937 random(static_cast<unsigned>(thread));
    for (int i = 0; i < 300; ++i) {
      const std::vector<std::size_t> next = {random() % kViews, random() % kViews, random() % kViews};
      cache.prefetch(next);
      for (const std::size_t view : next) expect_photo_or_error(cache, view);
      const std::size_t size =
          cache.size_bytes();  // before the peak, which other threads may raise meanwhile
      EXPECT_LE(size, cache.peak_bytes());
    }
  });
  // Each thread may exceed the budget by one photo.
  EXPECT_LE(cache.peak_bytes(), kBudget + kThreads * kPhotoBytes);
}

TEST(Threads, MayGetPhotosDuringLoadAll) {
  constexpr std::size_t kViews = 40;
  PhotoCache cache(views_of_4_pixels(kViews), kViews * kPhotoBytes, decode);
  std::size_t reports = 0;  // needs no lock: progress is never reported by two threads at the same time
  run_together(3, [&](std::size_t thread) {
    if (thread == 0) cache.load_all([&](std::size_t, std::size_t) { ++reports; });
    if (thread > 0)
      for (std::size_t i = 0; i < kViews; ++i) expect_photo_or_error(cache, (i * 7 + thread) % kViews);
  });
  EXPECT_EQ(reports, kViews);
}

// Values of 8 bytes, of which 4 fit. Every fifth cannot be made.
TEST(Threads, MayWantTheSameValuesOfACache) {
  ByteCache<std::size_t, std::size_t> cache(32, [](std::size_t) { return sizeof(std::size_t); });
  std::array<std::atomic<int>, 10> in_making{};
  run_together(4, [&](std::size_t thread) {
    for (std::size_t i = 0; i < 400; ++i) {
      const std::size_t key = (i / 4 + (thread % 2) * i) % in_making.size();
      const auto make = [&] {
        EXPECT_EQ(++in_making[key], 1) << "one thread makes it, and the others wait";
        std::this_thread::yield();
        --in_making[key];
        if (key % 5 == 4) throw Error("it cannot be made");
        return std::make_shared<const std::size_t>(key);
      };
      if (key % 5 == 4)
        EXPECT_THROW(cache.get(key, make), Error);
      else
        EXPECT_EQ(*cache.get(key, make), key);
    }
  });
}

TEST(Threads, MayRunParallelLoopsAtTheSameTime) {
  run_together(3, [](std::size_t thread) {
    for (int i = 0; i < 20; ++i) {
      std::vector<std::size_t> values(1000, 0);
      parallel_for(
          values.size(), [&](std::size_t k) { values[k] = k + thread; }, 16);
      for (std::size_t k = 0; k < values.size(); ++k) ASSERT_EQ(values[k], k + thread);
    }
  });
}

class ThreadsTest : public PerBackendTest {};
INSTANTIATE_TEST_SUITE_P(, ThreadsTest, testing::ValuesIn(test_backend_names()),
                         [](const auto& name) { return name.param; });

// Four threads share a backend, each with its own pass: two render a constant model, two train.
TEST_P(ThreadsTest, MayRenderAndTrainOnOneBackendWithSeparatePasses) {
  STIPPLE_SKIP_UNORDERED(GetParam());
  const auto backend = make_test_backend(GetParam());
  const Gaussians g = random_cloud(600, 1, 130);
  const DeviceGaussians model = upload(*backend, g);
  const View view{looking_down_z(70, 50, 60), {.depth = DepthOutput::kExpected}};
  LossTarget target;
  target.color.upload(*backend, random_picture(view.camera, 131));
  const auto picture = [&] {
    Pass pass;
    return render(*backend, model, view, pass).color.values;
  };
  const auto trained = [&] {
    TrainState state = make_train_state(*backend, g);
    TrainBuffers buffers;
    TrainStep step;
    step.adam = kTestRates;
    step.noise = 1e-3f;
    const std::vector<TrainView> twice(2, TrainView{view, &target});
    for (int i = 0; i < 3; ++i) backend->train_step(state, twice, step, buffers);
    return download(*backend, state.gaussians);
  };
  const std::vector<float> expected_picture = picture();
  const Gaussians expected = trained();
  run_together(4, [&](std::size_t thread) {
    for (int i = 0; i < 2; ++i) {
      if (thread < 2)
        EXPECT_EQ(picture(), expected_picture);
      else
        EXPECT_TRUE(same_bits(trained(), expected));
    }
  });
}

// One thread trains, and the others render its model between the steps.
TEST(Threads, MayRenderAModelBetweenTrainingSteps) {
  const auto backend = make_backend("cpu");
  const Gaussians g = random_cloud(400, 1, 132);
  View view{looking_down_z(48, 40, 40), {}};
  view.id = 0;
  LossTarget target;
  target.color.upload(*backend, random_picture(view.camera, 133));
  TrainState state = make_train_state(*backend, g);
  FairMutex mutex;
  run_together(3, [&](std::size_t thread) {
    Pass pass;
    TrainBuffers buffers;
    TrainStep step;
    step.adam = kTestRates;
    for (int i = 0; i < 8; ++i) {
      const std::lock_guard lock(mutex);
      if (thread == 0)
        step_on(*backend, state, view, target, step, buffers);
      else
        EXPECT_EQ(render(*backend, state.gaussians, view, pass).color.values.size(), 3u * 48 * 40);
    }
  });
}

// Threads that enter the same blocks get the same ones, though the cache has room for few of them.
TEST(BlockCache, GivesAllThreadsTheSameBlocks) {
  using synth::city::BlockCache, synth::city::Place;
  constexpr int kBlocks = 12;
  std::array<float, kBlocks> tops;
  for (int i = 0; i < kBlocks; ++i)
    tops[static_cast<std::size_t>(i)] = synth::city::make_block(1, {i, 2}).top;
  BlockCache cache(1, 3);
  std::atomic<int> wrong = 0;
  run_together(4, [&](std::size_t thread) {
    for (int n = 0; n < 200; ++n) {
      const int i = (n * (1 + 2 * static_cast<int>(thread))) % kBlocks;
      const auto block = cache.at({i, 2});
      wrong += block->place != Place{i, 2} || block->top != tops[static_cast<std::size_t>(i)];
    }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(cache.made_count(), static_cast<std::size_t>(kBlocks));
}

}  // namespace
}  // namespace stipple
