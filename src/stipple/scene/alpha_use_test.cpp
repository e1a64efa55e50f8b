// SPDX-License-Identifier: Apache-2.0
#include "stipple/scene/alpha_use.h"

#include <gtest/gtest.h>

#include "stipple/io/image/image_file.h"
#include "tests/helpers/test_folder.h"

namespace stipple {
namespace {

// Photos of 10 x 10 pixels of which the given percentage is transparent.
std::vector<SceneView> views_with(const TestFolder& folder, const std::vector<int>& percent) {
  std::vector<SceneView> views(percent.size());
  for (std::size_t i = 0; i < views.size(); ++i) {
    ByteImage image(10, 10, 4);
    for (std::size_t px = 0; px < 100; ++px)
      image.values[4 * px + 3] = px < static_cast<std::size_t>(percent[i]) ? 0 : 200;
    views[i].image_path = folder / (std::to_string(i) + ".png");
    views[i].has_alpha = true;
    save_png(image, views[i].image_path);
  }
  return views;
}

AlphaUse decide(const std::vector<int>& percent) {
  TestFolder folder;
  return decide_alpha(views_with(folder, percent), AlphaUse::kAuto).use;
}

TEST(AlphaUse, PhotosThatAreTransparentInAGoodPartAreObjects) {
  EXPECT_EQ(decide({40, 90, 25, 60}), AlphaUse::kObject);
  EXPECT_EQ(decide({40, 90, 24, 60}), AlphaUse::kWeight);
  EXPECT_EQ(decide({0, 0, 3, 0}), AlphaUse::kWeight);
  EXPECT_EQ(decide({21, 21}), AlphaUse::kWeight) << "a circular image";
}

TEST(AlphaUse, OnePhotoInEightMayDiffer) {
  EXPECT_EQ(decide({50, 50, 50, 50, 10, 50, 50, 50}), AlphaUse::kObject);
  EXPECT_EQ(decide({50, 50, 10, 50, 10, 50, 50, 50}), AlphaUse::kWeight);
}

TEST(AlphaUse, SaysWhatWasSampled) {
  TestFolder folder;
  EXPECT_EQ(decide_alpha(views_with(folder, {40, 80, 60}), AlphaUse::kAuto).reason,
            "3 of 3 sampled photos are transparent in 25 % of their pixels or more (median 60 %)");
}

TEST(AlphaUse, WhatIsRequestedIsUsed) {
  TestFolder folder;
  const AlphaDecision decision = decide_alpha(views_with(folder, {50}), AlphaUse::kBlack);
  EXPECT_EQ(decision.use, AlphaUse::kBlack);
  EXPECT_EQ(decision.reason, "as requested");
}

TEST(AlphaUse, PhotosWithoutAlphaAreNotOpened) {
  std::vector<SceneView> views(3);
  views[0].image_path = "no/such/photo.jpg";
  const AlphaDecision decision = decide_alpha(views, AlphaUse::kAuto);
  EXPECT_EQ(decision.use, AlphaUse::kAuto);
  EXPECT_EQ(decision.reason, "");
}

TEST(AlphaUse, ObjectsAreNotMixedWithPhotosWithoutAlpha) {
  TestFolder folder;
  std::vector<SceneView> views = views_with(folder, {50, 50, 50});
  views.resize(4);
  const AlphaDecision decision = decide_alpha(views, AlphaUse::kAuto);
  EXPECT_EQ(decision.use, AlphaUse::kWeight);
  EXPECT_EQ(decision.reason, "only 3 of 4 photos have an alpha channel");
}

TEST(AlphaUse, PhotosThatCannotBeReadDoNotDecide) {
  TestFolder folder;
  std::vector<SceneView> views = views_with(folder, {50, 50, 50});
  views[1].image_path = folder.write("broken.png", "not a picture");
  EXPECT_EQ(decide_alpha(views, AlphaUse::kAuto).use, AlphaUse::kObject);
  views = {views[1]};
  EXPECT_EQ(decide_alpha(views, AlphaUse::kAuto).reason, "no photo that was sampled can be read");
}

}  // namespace
}  // namespace stipple
