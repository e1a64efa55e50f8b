// SPDX-License-Identifier: Apache-2.0
#include "stipple/train/memory_plan.h"

#include <gtest/gtest.h>

#include "tests/helpers/limited_backend.h"

namespace stipple {
namespace {

constexpr std::size_t kGiB = std::size_t{1} << 30;

// 200 photos of 1.6 megapixels.
constexpr MemoryNeeds kGarden{
    .photo_bytes = 200 * 1'600'000 * std::size_t{3}, .largest_view_px = 1'600'000, .sh_degree = 3};

// A backend with limited memory whose passes take 232 bytes per Gaussian and 100 bytes per pixel.
class PlannedBackend : public LimitedBackend {
 public:
  using LimitedBackend::LimitedBackend;
  std::size_t pass_bytes(std::size_t gaussians, std::size_t pixels) const override {
    return 232 * gaussians + 100 * pixels;
  }
};

MemoryPlan plan_for(std::size_t own_bytes, const MemoryNeeds& needs) {
  return plan_memory(PlannedBackend(own_bytes), needs);
}

MemoryNeeds garden_with(std::size_t gaussians) {
  MemoryNeeds needs = kGarden;
  needs.wanted_gaussians = gaussians;
  return needs;
}

TEST(MemoryPlan, ParametersAreElevenFloatsAndTheColours) {
  EXPECT_EQ(parameter_bytes(0), 4u * (11 + 3));
  EXPECT_EQ(parameter_bytes(3), 4u * (11 + 48));
}

TEST(MemoryPlan, FewerGaussiansIsARoundNumberAboutATenthLower) {
  EXPECT_EQ(fewer_gaussians(456'789), 410'000u);
  EXPECT_EQ(fewer_gaussians(2'000'000), 1'800'000u);
  EXPECT_EQ(fewer_gaussians(7), 7u);
}

TEST(MemoryPlan, KeepsAllPhotosIfEverythingFits) {
  const MemoryPlan plan = plan_for(8 * kGiB, garden_with(2'000'000));
  EXPECT_EQ(plan.photo_bytes, kGarden.photo_bytes);
  EXPECT_GE(plan.max_gaussians, 2'000'000u);
}

TEST(MemoryPlan, GivesPhotosAtMostAQuarterIfNotEverythingFits) {
  const MemoryPlan plan = plan_for(2 * kGiB, garden_with(2'000'000));
  EXPECT_LT(plan.photo_bytes, kGiB / 2);
  EXPECT_GT(plan.photo_bytes, kGiB / 3);
  EXPECT_LT(plan.max_gaussians, 2'000'000u);
  EXPECT_GT(plan.max_gaussians, 1'000'000u);
  EXPECT_EQ(plan_for(8 * kGiB, garden_with(0)).photo_bytes,
            kGarden.photo_bytes);  // these photos take less than a quarter
}

TEST(MemoryPlan, FitsMoreGaussiansWithMoreMemoryOrALowerDegree) {
  MemoryNeeds plain = kGarden;
  plain.sh_degree = 0;
  EXPECT_GT(plan_for(8 * kGiB, plain).max_gaussians, 2 * plan_for(8 * kGiB, kGarden).max_gaussians);
  EXPECT_GT(plan_for(16 * kGiB, kGarden).max_gaussians, 2 * plan_for(8 * kGiB, kGarden).max_gaussians);
}

TEST(MemoryPlan, PlansTheLargestNumberThatFits) {
  for (const int batch : {1, 4}) {
    const bool sums = batch > 1;
    MemoryNeeds needs = kGarden;
    needs.batch = batch;
    const std::size_t own = 4 * kGiB;
    const MemoryPlan plan = plan_for(own, needs);
    const auto bytes = [&](std::size_t n) {
      return n * (4 * 236 + 2 * 4 + 8 + 192 + 4 + (sums ? 236 + 8 : 0) + 232) +
             (100 + 8 * static_cast<std::size_t>(batch)) * needs.largest_view_px;
    };
    const auto room = static_cast<std::size_t>(0.95 * static_cast<double>(own)) - plan.photo_bytes;
    EXPECT_LE(bytes(plan.max_gaussians), room + 1);
    EXPECT_GT(bytes(plan.max_gaussians + 1), room);
  }
}

TEST(MemoryPlan, PlansNothingIfNotEvenAnImageFits) {
  const MemoryPlan plan = plan_for(kGiB / 16, kGarden);
  EXPECT_EQ(plan.photo_bytes, 0u);
  EXPECT_EQ(plan.max_gaussians, 0u);
}

TEST(MemoryPlan, NeedsCountOnlyTheTrainingViews) {
  Scene scene;
  scene.views.resize(4);
  for (SceneView& view : scene.views) {
    view.camera.width_px = 100;
    view.camera.height_px = 10;
    view.lens.model = "PINHOLE";
  }
  scene.views[1].mask_path = "mask.png";  // adds a float per pixel
  scene.views[2].camera.width_px = 5000;
  scene.views[3].alpha = AlphaUse::kObject;  // adds a byte per pixel
  const MemoryNeeds needs = memory_needs(scene, std::vector<std::size_t>{0, 1, 3});
  EXPECT_EQ(needs.photo_bytes, 1000u * 3 + 1000 * 7 + 1000 * 4);
  EXPECT_EQ(needs.largest_view_px, 1000u);
}

}  // namespace
}  // namespace stipple
