// SPDX-License-Identifier: Apache-2.0
#include "stipple/train/target_cache.h"

#include <gtest/gtest.h>

#include <atomic>

namespace stipple {
namespace {

// Photos of 2 x 2 pixels, filled with the number of their view. Those with an odd number have weights, and
// the last two have alpha.
class TargetCacheTest : public testing::Test {
 protected:
  static Photo make_photo(const SceneView& view) {
    const auto number = static_cast<std::uint8_t>(std::stoi(view.name));
    Photo photo{.width_px = 2, .height_px = 2, .rgb = {}, .weight = {}};
    photo.rgb.assign(12, number);
    if (number % 2 == 1) photo.weight = {255, 0, 0, 255};
    if (number >= 2) photo.alpha = {255, 100, 0, 255};
    return photo;
  }
  static std::vector<SceneView> make_views() {
    std::vector<SceneView> views(4);
    for (std::size_t i = 0; i < views.size(); ++i) {
      views[i].name = std::to_string(i);
      views[i].camera.width_px = views[i].camera.height_px = 2;
    }
    return views;
  }
  void expect_right(TargetCache& cache, std::size_t view) {
    const std::shared_ptr<const TargetCache::Target> target = cache.get(view);
    const Photo photo = make_photo(views_[view]);
    EXPECT_EQ(target->pixels.color.download(*backend_), photo.rgb);
    const std::vector<float> weights = {1, 0, 0, 1}, none;
    EXPECT_EQ(target->pixels.weight.download(*backend_), view % 2 == 1 ? weights : none);
    EXPECT_EQ(target->pixels.alpha.download(*backend_), photo.alpha);
    EXPECT_EQ(target->mean_weight, view % 2 == 1 ? 0.5f : 1.0f);
  }

  std::vector<SceneView> views_ = make_views();
  std::atomic<int> loads_ = 0;
  std::unique_ptr<Backend> backend_ = make_backend("cpu");
  PhotoCache photos_{views_, 0, [this](const SceneView& view) {  // caches nothing
                       ++loads_;
                       return make_photo(view);
                     }};
};

TEST_F(TargetCacheTest, KeepsWhatFitsAndReloadsTheRest) {
  TargetCache cache(*backend_, photos_, views_.size(),
                    target_bytes(4, false, false) + target_bytes(4, true, false));
  for (int round = 0; round < 3; ++round)
    for (std::size_t view = 0; view < 4; ++view) expect_right(cache, view);
  EXPECT_TRUE(cache.keeps(0) && cache.keeps(1));
  EXPECT_FALSE(cache.keeps(2) || cache.keeps(3));
  EXPECT_EQ(loads_, 2 + 3 * 2);
  EXPECT_TRUE(cache.release());
  EXPECT_FALSE(cache.release());
  expect_right(cache, 0);
  EXPECT_FALSE(cache.keeps(0));
}

// A batch needs several targets at once.
TEST_F(TargetCacheTest, TargetsInUseAreNotReused) {
  TargetCache cache(*backend_, photos_, views_.size(), 0);
  const auto one = cache.get(1), two = cache.get(2), again = cache.get(1);
  EXPECT_EQ(one->pixels.color.download(*backend_), make_photo(views_[1]).rgb);
  EXPECT_EQ(two->pixels.color.download(*backend_), make_photo(views_[2]).rgb);
  EXPECT_EQ(again->pixels.color.download(*backend_), make_photo(views_[1]).rgb);
}

TEST_F(TargetCacheTest, AlphaTakesAByteOfTheBudgetPerPixel) {
  TargetCache cache(*backend_, photos_, views_.size(), target_bytes(4, false, true));
  EXPECT_EQ(target_bytes(4, false, true), 16u);
  expect_right(cache, 2);
  EXPECT_TRUE(cache.keeps(2));
  TargetCache small(*backend_, photos_, views_.size(), target_bytes(4, false, true) - 1);
  expect_right(small, 2);
  EXPECT_FALSE(small.keeps(2));
}

TEST_F(TargetCacheTest, KeepsNothingWithoutABudget) {
  TargetCache cache(*backend_, photos_, views_.size(), 0);
  for (const std::size_t view : {1, 0, 3, 1, 2}) expect_right(cache, view);
  for (std::size_t view = 0; view < 4; ++view) EXPECT_FALSE(cache.keeps(view));
  EXPECT_EQ(loads_, 5);
}

}  // namespace
}  // namespace stipple
