// SPDX-License-Identifier: Apache-2.0
#include "stipple/photo/photo_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <numeric>
#include <random>
#include <semaphore>
#include <string>
#include <thread>

#include "stipple/core/error.h"

namespace stipple {
namespace {

constexpr std::size_t kPhotoBytes = 16;  // 2 x 2 pixels with a weight

std::vector<SceneView> make_views(std::size_t count) {
  std::vector<SceneView> views(count);
  for (std::size_t i = 0; i < count; ++i) {
    views[i].name = std::to_string(i);
    views[i].camera.width_px = views[i].camera.height_px = 2;
  }
  return views;
}

// A loader that fills each photo with its view's number, counts its calls, and fails for the view `bad`.
struct FakeFiles {
  std::mutex mutex;
  std::map<std::size_t, int> count;
  std::atomic<std::size_t> bad = ~std::size_t{0};

  Photo load(const SceneView& view) {
    const std::size_t number = std::stoul(view.name);
    const std::lock_guard lock(mutex);
    ++count[number];
    if (number == bad) throw Error("photo " + view.name + " is bad");
    Photo photo{.width_px = 2, .height_px = 2, .rgb = {}, .weight = {}};
    photo.rgb.assign(12, static_cast<std::uint8_t>(number));
    photo.weight.assign(4, 255);
    return photo;
  }
  PhotoCache::Loader loader() {
    return [this](const SceneView& view) { return load(view); };
  }
  int loads(std::size_t view) {
    const std::lock_guard lock(mutex);
    return count[view];
  }
};

std::string error_of_get(PhotoCache& cache, std::size_t view) {
  try {
    cache.get(view);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// Has no timeout, because the worker's speed depends on the machine.
template <class Condition>
void wait_until(Condition condition) {
  while (!condition()) std::this_thread::yield();
}

TEST(PhotoCache, PhotoBytesIsAnUpperBound) {
  SceneView view = make_views(1)[0];
  EXPECT_EQ(photo_bytes(view), 16u);
  view.alpha = AlphaUse::kBlack;
  EXPECT_EQ(photo_bytes(view), 12u);
  view.mask_path = "mask.png";
  EXPECT_EQ(photo_bytes(view), 16u);
  view.alpha = AlphaUse::kObject;
  EXPECT_EQ(photo_bytes(view), 20u);
}

TEST(PhotoCache, KeepsEverythingThatFits) {
  FakeFiles files;
  PhotoCache cache(make_views(5), 5 * kPhotoBytes, files.loader());
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (std::size_t view = 0; view < 5; ++view) EXPECT_EQ(cache.get(view)->rgb[0], view);
  }
  for (std::size_t view = 0; view < 5; ++view) EXPECT_EQ(files.loads(view), 1);
  EXPECT_EQ(cache.size_bytes(), 5 * kPhotoBytes);
  EXPECT_EQ(cache.peak_bytes(), 5 * kPhotoBytes);
}

TEST(PhotoCache, DropsLeastRecentlyUsedPhotoWithoutAnOrder) {
  FakeFiles files;
  PhotoCache cache(make_views(3), 2 * kPhotoBytes, files.loader());
  for (const std::size_t view : {0, 1, 0, 2}) cache.get(view);  // drops 1
  cache.get(0);
  EXPECT_EQ(files.loads(0), 1);
  cache.get(1);
  EXPECT_EQ(files.loads(1), 2);
  EXPECT_EQ(cache.peak_bytes(), 2 * kPhotoBytes);
}

TEST(PhotoCache, DropsPhotoWhoseNextUseIsFarthest) {
  FakeFiles files;
  PhotoCache cache(make_views(5), 3 * kPhotoBytes, files.loader());
  for (const std::size_t view : {0, 1, 2}) cache.get(view);
  cache.prefetch(std::vector<std::size_t>{1, 2, 0});
  cache.get(3);  // the cache is full: drops 0, whose next use is farthest
  cache.get(1);
  cache.get(2);
  EXPECT_EQ(files.loads(1), 1);
  EXPECT_EQ(files.loads(2), 1);
  cache.get(0);
  EXPECT_EQ(files.loads(0), 2);
}

TEST(PhotoCache, DecodesAhead) {
  FakeFiles files;
  PhotoCache cache(make_views(6), 3 * kPhotoBytes, files.loader());
  cache.prefetch(std::vector<std::size_t>{4, 1, 5, 0, 2, 3});
  wait_until([&] { return files.loads(5) == 1; });
  EXPECT_EQ(files.loads(0), 0);  // does not fit: the photos held are used sooner
  cache.get(4);
  wait_until([&] { return files.loads(0) == 1; });
  for (const std::size_t view : {1, 5, 0, 2, 3}) EXPECT_EQ(cache.get(view)->rgb[0], view);
  for (std::size_t view = 0; view < 6; ++view) EXPECT_EQ(files.loads(view), 1);
  EXPECT_LE(cache.peak_bytes(), 3 * kPhotoBytes);
}

TEST(PhotoCache, StaysWithinItsBudgetOverManyEpochs) {
  FakeFiles files;
  constexpr std::size_t kCount = 20;
  PhotoCache cache(make_views(kCount), 7 * kPhotoBytes + 5, files.loader());
  std::mt19937 random(3);
  std::vector<std::size_t> order(kCount);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (int epoch = 0; epoch < 20; ++epoch) {
    std::shuffle(order.begin(), order.end(), random);
    cache.prefetch(order);
    for (const std::size_t view : order) EXPECT_EQ(cache.get(view)->rgb[0], view);
  }
  // get() may exceed the budget by one photo while the worker decodes another.
  EXPECT_LE(cache.peak_bytes(), 8 * kPhotoBytes);
  EXPECT_LE(cache.size_bytes(), 7 * kPhotoBytes);
}

TEST(PhotoCache, ServesPhotoLargerThanTheBudget) {
  FakeFiles files;
  PhotoCache cache(make_views(2), kPhotoBytes - 1, files.loader());
  cache.prefetch(std::vector<std::size_t>{0, 1});
  EXPECT_EQ(cache.get(0)->rgb[0], 0);
  EXPECT_EQ(cache.get(1)->rgb[0], 1);
  EXPECT_EQ(cache.get(1)->rgb[0], 1);
  EXPECT_EQ(files.loads(1), 2);
  EXPECT_EQ(cache.size_bytes(), 0u);
}

TEST(PhotoCache, PhotoOutlivesItsRemoval) {
  FakeFiles files;
  PhotoCache cache(make_views(2), kPhotoBytes, files.loader());
  const std::shared_ptr<const Photo> first = cache.get(0);
  cache.get(1);
  EXPECT_EQ(first->rgb[0], 0);
}

TEST(PhotoCache, GetThrowsTheWorkersErrors) {
  FakeFiles files;
  files.bad = 1;
  PhotoCache cache(make_views(3), 3 * kPhotoBytes, files.loader());
  cache.prefetch(std::vector<std::size_t>{0, 1, 2});
  wait_until([&] { return files.loads(2) == 1; });  // it continues after the bad one
  EXPECT_EQ(files.loads(1), 1);
  EXPECT_EQ(error_of_get(cache, 1), "photo 1 is bad");
  EXPECT_EQ(files.loads(1), 1);
  EXPECT_EQ(error_of_get(cache, 1), "photo 1 is bad");
  EXPECT_EQ(files.loads(1), 2);
  files.bad = 7;
  EXPECT_EQ(cache.get(1)->rgb[0], 1);  // the file has been repaired
  EXPECT_EQ(cache.get(2)->rgb[0], 2);
}

TEST(PhotoCache, LoadsAllThatFit) {
  FakeFiles files;
  files.bad = 2;
  std::vector<std::size_t> reports;
  const auto report = [&](std::size_t done, std::size_t total) {
    EXPECT_EQ(total, 30u);
    reports.push_back(done);
  };
  PhotoCache cache(make_views(30), 30 * kPhotoBytes, files.loader());
  cache.load_all(report);
  EXPECT_EQ(cache.size_bytes(), 29 * kPhotoBytes);
  ASSERT_EQ(reports.size(), 30u);
  for (std::size_t i = 0; i < 30; ++i) EXPECT_EQ(reports[i], i + 1);
  EXPECT_EQ(error_of_get(cache, 2), "photo 2 is bad");
  for (std::size_t view = 3; view < 30; ++view) cache.get(view);
  for (std::size_t view = 3; view < 30; ++view) EXPECT_EQ(files.loads(view), 1);

  // Without a bad photo, which takes room from others for as long as it is being decoded.
  files.bad = ~std::size_t{0};
  PhotoCache small(make_views(30), 4 * kPhotoBytes, files.loader());
  small.load_all();
  EXPECT_EQ(small.size_bytes(), 4 * kPhotoBytes);
  EXPECT_EQ(small.peak_bytes(), 4 * kPhotoBytes);
}

// There are far more photos than the worker can decode before it notices the stop request.
TEST(PhotoCache, StopsWhileTheWorkerIsBusy) {
  constexpr std::size_t kCount = 20000;
  std::counting_semaphore<> started(0), may_end(0);
  std::atomic<std::size_t> count = 0;
  std::jthread opener;
  {
    PhotoCache cache(make_views(kCount), kCount * kPhotoBytes, [&](const SceneView&) {
      if (++count == 1) {
        started.release();
        may_end.acquire();
      }
      return Photo{};
    });
    std::vector<std::size_t> order(kCount);
    std::iota(order.begin(), order.end(), std::size_t{0});
    cache.prefetch(order);
    started.acquire();
    opener = std::jthread([&] { may_end.release(); });
  }
  EXPECT_LT(count, kCount);
}

TEST(PhotoCache, WaitsForPhotoBeingDecoded) {
  std::counting_semaphore<> may_end(0);
  std::atomic<int> count = 0;
  PhotoCache cache(make_views(1), kPhotoBytes, [&](const SceneView&) {
    ++count;
    may_end.acquire();
    return Photo{};
  });
  cache.prefetch(std::vector<std::size_t>{0});
  wait_until([&] { return count == 1; });
  std::jthread other([&] { cache.get(0); });
  may_end.release();
  EXPECT_TRUE(cache.get(0));
  other.join();
  EXPECT_EQ(count, 1);
}

TEST(PhotoCache, ServesTwoThreads) {
  FakeFiles files;
  files.bad = 11;
  PhotoCache cache(make_views(12), 5 * kPhotoBytes, files.loader());
  const auto use = [&](unsigned seed) {
    std::mt19937 random(seed);
    for (int i = 0; i < 300; ++i) {
      const std::size_t view = random() % 12;
      const std::vector<std::size_t> next = {view, random() % 12, random() % 12};
      cache.prefetch(next);
      if (view == 11) {
        EXPECT_EQ(error_of_get(cache, view), "photo 11 is bad");
      } else {
        EXPECT_EQ(cache.get(view)->rgb[0], view);
      }
    }
  };
  std::jthread other(use, 1);
  use(2);
  other.join();
  EXPECT_LE(cache.size_bytes(), 5 * kPhotoBytes);
}

}  // namespace
}  // namespace stipple
