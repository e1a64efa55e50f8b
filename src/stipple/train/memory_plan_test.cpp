// SPDX-License-Identifier: Apache-2.0
#include "stipple/train/memory_plan.h"

#include <gtest/gtest.h>

#include "tests/helpers/limited_backend.h"

namespace stipple {
namespace {

constexpr std::size_t kGiB = std::size_t{1} << 30;

// 200 photos of 1.6 megapixels.
constexpr MemoryNeeds kGarden{.photo_bytes = 200 * 1'600'000 * std::size_t{3},
                              .largest_view_px = 1'600'000,
                              .sh_degree = 3,
                              .pairs_per_visible = 5};

// A backend with limited memory whose passes take 132 bytes per Gaussian that is shown, 20 bytes per pair and
// 100 bytes per pixel.
class PlannedBackend : public LimitedBackend {
 public:
  using LimitedBackend::LimitedBackend;
  std::size_t pass_bytes(const PassSize& size) const override {
    return 132 * size.visible + 20 * size.pairs + 100 * size.pixels;
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

TEST(MemoryPlan, MomentsTakeFourBytesForFourteenNumbersAndTwoForTheOthers) {
  EXPECT_EQ(moment_bytes(0), 14u * 4);
  EXPECT_EQ(moment_bytes(3), 14u * 4 + 45 * 2);
  EXPECT_EQ(train_state_bytes(10, 3, Place::kDevice).device, 10u * (236 + 146 + 8 + 4));
}

TEST(MemoryPlan, FewerGaussiansIsARoundNumberAboutATenthLower) {
  EXPECT_EQ(fewer_gaussians(456'789), 410'000u);
  EXPECT_EQ(fewer_gaussians(2'000'000), 1'800'000u);
  EXPECT_EQ(fewer_gaussians(7), 7u);
}

TEST(MemoryPlan, KeepsAllPhotosIfEverythingFits) {
  const MemoryPlan plan = plan_for(8 * kGiB, garden_with(2'000'000));
  EXPECT_EQ(plan.photo_bytes, kGarden.photo_bytes);
  EXPECT_GE(plan.max_gaussians(), 2'000'000u);
}

TEST(MemoryPlan, GivesPhotosAtMostAQuarterIfNotEverythingFits) {
  const MemoryPlan plan = plan_for(2 * kGiB, garden_with(3'000'000));
  EXPECT_LT(plan.photo_bytes, kGiB / 2);
  EXPECT_GT(plan.photo_bytes, kGiB / 3);
  EXPECT_LT(plan.max_gaussians(), 3'000'000u);
  EXPECT_GT(plan.max_gaussians(), 1'000'000u);
  EXPECT_EQ(plan_for(8 * kGiB, garden_with(0)).photo_bytes,
            kGarden.photo_bytes);  // these photos take less than a quarter
}

TEST(MemoryPlan, FitsMoreGaussiansWithMoreMemoryOrALowerDegree) {
  MemoryNeeds plain = kGarden;
  plain.sh_degree = 0;
  // The state falls from 394 to 124 bytes; what a pass takes for a Gaussian stays.
  EXPECT_GT(2 * plan_for(8 * kGiB, plain).max_gaussians(), 3 * plan_for(8 * kGiB, kGarden).max_gaussians());
  EXPECT_GT(plan_for(16 * kGiB, kGarden).max_gaussians(), 2 * plan_for(8 * kGiB, kGarden).max_gaussians());
}

// Every rank also draws views, with the splats of all.
TEST(MemoryPlan, SeveralRanksNeedRoomForTheSplatsThatTheyExchange) {
  MemoryNeeds alone = kGarden;
  alone.visible_share = 0.1;
  MemoryNeeds shared = alone;
  shared.rank_count = 4;
  const PlannedBackend backend(8 * kGiB);
  const std::size_t count = 1'000'000, shown = count * 4 / 10;
  const std::size_t drawn = backend.pass_bytes({shown, shown, 5 * shown, alone.largest_view_px});
  EXPECT_GT(training_bytes(backend, count, shared), training_bytes(backend, count, alone) + drawn);
  EXPECT_LT(plan_memory(backend, shared).max_gaussians(), plan_memory(backend, alone).max_gaussians());
}

TEST(MemoryPlan, PlansTheLargestNumberThatFits) {
  for (const int batch : {1, 4}) {
    const bool sums = batch > 1;
    MemoryNeeds needs = kGarden;
    needs.batch = batch;
    const std::size_t own = 4 * kGiB;
    const MemoryPlan plan = plan_for(own, needs);
    const auto bytes = [&](std::size_t n) {
      return n * (236 + 146 + 8 + 4 + (sums ? 236 + 8 : 0) + 132 + 100) + 100 * needs.largest_view_px;
    };
    EXPECT_EQ(plan.photo_bytes, needs.photo_bytes);
    const auto room = static_cast<std::size_t>(0.95 * static_cast<double>(own)) - plan.photo_bytes;
    EXPECT_LE(bytes(plan.max_gaussians()), room + 1);
    EXPECT_GT(bytes(plan.max_gaussians() + 1), room);
  }
}

TEST(MemoryPlan, FitsMoreGaussiansIfAViewShowsFew) {
  MemoryNeeds needs = kGarden;
  needs.visible_share = 0.1;
  needs.pairs_per_visible = 4;
  const MemoryPlan plan = plan_for(4 * kGiB, needs);
  EXPECT_GT(plan.max_gaussians(), plan_for(4 * kGiB, kGarden).max_gaussians());
  // A refinement, with a second copy of the largest array, then takes more than a step.
  const double room = 0.95 * 4 * static_cast<double>(kGiB) - static_cast<double>(plan.photo_bytes);
  EXPECT_NEAR(static_cast<double>(plan.max_gaussians()), room / (394 + 192 + 4), 2);
}

// Then a Gaussian takes 100 bytes instead of 394 besides its pass.
TEST(MemoryPlan, FitsMoreGaussiansIfHarmonicsMayLieOnTheHost) {
  EXPECT_EQ(harmonics_bytes(3), 4u * 48 + 4 * 3 + 2 * 45);
  EXPECT_EQ(harmonics_bytes(0), 4u * 3 + 4 * 3);
  EXPECT_EQ(train_state_bytes(10, 3, Place::kHost).device, 10u * 100);
  EXPECT_EQ(train_state_bytes(10, 3, Place::kHost).host, 10u * 294);
  MemoryNeeds needs = garden_with(100'000'000);
  needs.visible_share = 0.1;
  const MemoryPlan without = plan_for(8 * kGiB, needs);
  EXPECT_EQ(without.max_on_device, without.max_gaussians());
  EXPECT_EQ(without.harmonics_of(without.max_gaussians()), Place::kDevice);
  EXPECT_EQ(without.harmonics_of(without.max_gaussians() + 1), Place::kDevice);

  needs.most_on_host = 1'000'000'000;
  const MemoryPlan with = plan_for(8 * kGiB, needs);
  EXPECT_EQ(with.max_on_device, without.max_on_device);
  EXPECT_EQ(with.photo_bytes, without.photo_bytes);
  EXPECT_GT(with.max_gaussians(), 3 * with.max_on_device);
  EXPECT_EQ(with.harmonics_of(with.max_on_device), Place::kDevice);
  EXPECT_EQ(with.harmonics_of(with.max_on_device + 1), Place::kHost);
  MemoryNeeds there = needs;
  there.harmonics = Place::kHost;
  const auto room = static_cast<std::size_t>(0.95 * 8 * static_cast<double>(kGiB)) - with.photo_bytes;
  EXPECT_LE(training_bytes(PlannedBackend(8 * kGiB), with.max_gaussians(), there), room + 1);
  EXPECT_GT(training_bytes(PlannedBackend(8 * kGiB), with.max_gaussians() + 1, there), room);

  needs.most_on_host = with.max_on_device + 5;  // the host has little memory
  EXPECT_EQ(plan_for(8 * kGiB, needs).max_gaussians(), with.max_on_device + 5);
  needs.most_on_host = 5;
  EXPECT_EQ(plan_for(8 * kGiB, needs).max_gaussians(), with.max_on_device);

  needs.most_on_host = 1'000'000'000;
  needs.wanted_gaussians = 0;  // as many as fit
  EXPECT_EQ(plan_for(8 * kGiB, needs).max_gaussians(), with.max_gaussians());
  needs.most_on_host = 5;  // a model that is there stays on the host, even if the host could not take more
  EXPECT_EQ(plan_for(8 * kGiB, needs).harmonics_of(with.max_on_device + 1), Place::kHost);
}

// Beside the photos. Several ranks exchange their arrays through the host.
TEST(MemoryPlan, TheHostHasRoomForSoManyHarmonics) {
  const std::size_t alone = most_harmonics_on_host(16 * kGiB, 0, 3, 1);
  EXPECT_NEAR(static_cast<double>(alone), 0.8 * 16 * static_cast<double>(kGiB) / (294 + 2 * 236 + 128), 1);
  EXPECT_LT(most_harmonics_on_host(16 * kGiB, 0, 3, 4), alone);
  EXPECT_GT(most_harmonics_on_host(16 * kGiB, 0, 0, 1), alone);
  EXPECT_EQ(most_harmonics_on_host(16 * kGiB, 8 * kGiB / 10, 3, 1),
            most_harmonics_on_host(15 * kGiB, 0, 3, 1));
  EXPECT_EQ(most_harmonics_on_host(16 * kGiB, 16 * kGiB, 3, 1), 0u);
  EXPECT_EQ(most_harmonics_on_host(0, 0, 3, 1), 0u);
}

// A driver may refuse large blocks, whatever is free.
TEST(MemoryPlan, TheLargestArrayFitsIntoOneBlock) {
  class SmallBlocks : public PlannedBackend {
   public:
    using PlannedBackend::PlannedBackend;
    std::size_t most_bytes_at_once() const override { return std::size_t{1} << 28; }
    std::unique_ptr<Memory> allocate(std::size_t bytes) override {
      if (bytes > most_bytes_at_once()) throw OutOfMemory("the block is too large");
      return PlannedBackend::allocate(bytes);
    }
  };
  SmallBlocks backend(16 * kGiB);
  EXPECT_EQ(plan_memory(backend, kGarden).max_gaussians(), (std::size_t{1} << 28) / 192);
  require_room(backend, {kGiB, 0});
  EXPECT_THROW(require_room(backend, {16 * kGiB + 1, 0}), OutOfMemory);
  EXPECT_EQ(backend.used_bytes(), 0u);
}

// Photos that do not stay on the device need room for those of a step.
TEST(MemoryPlan, LeavesRoomForThePhotosOfAStep) {
  MemoryNeeds few = kGarden, many = kGarden;
  many.photo_bytes *= 100;
  const MemoryPlan all = plan_for(8 * kGiB, few), some = plan_for(8 * kGiB, many);
  EXPECT_LT(some.photo_bytes, many.photo_bytes);
  const auto used = [&](const MemoryNeeds& needs, const MemoryPlan& plan) {
    return plan.photo_bytes + training_bytes(PlannedBackend(8 * kGiB), plan.max_gaussians(), needs);
  };
  EXPECT_NEAR(static_cast<double>(used(few, all) - used(many, some)), 3.0 * 1'600'000, 2000);
}

TEST(MemoryPlan, ViewsOfManyGaussiansShowThemInFewTilesEach) {
  EXPECT_EQ(estimated_pairs_per_visible(0, 230'400), 5);
  EXPECT_EQ(estimated_pairs_per_visible(100'000, 230'400), 5);
  EXPECT_NEAR(estimated_pairs_per_visible(2'304'000, 230'400), 1.85, 0.01);  // ten for every pixel
  EXPECT_NEAR(estimated_pairs_per_visible(16'000'000, 230'400), 1.29, 0.01);
  MemoryNeeds needs = kGarden;
  const std::size_t known = training_bytes(PlannedBackend(kGiB), 50'000'000, needs);
  needs.pairs_per_visible.reset();
  EXPECT_LT(training_bytes(PlannedBackend(kGiB), 50'000'000, needs), known);
}

TEST(MemoryPlan, TheVisibleShareIsThatOfThePoints) {
  Scene scene;
  for (const float turn : {1.0f, -1.0f}) {  // two cameras at the origin that look in opposite directions
    SceneView view;
    view.camera.width_px = view.camera.height_px = 100;
    view.camera.focal_px = {100, 100};
    view.camera.center_px = {50, 50};
    view.camera.camera_from_world = {{turn, 0, 0, 0, 1, 0, 0, 0, turn}, {0, 0, 0}};
    scene.views.push_back(view);
  }
  for (int i = 0; i < 1000; ++i) scene.points.position.push_back({0, 0, i % 10 < 3 ? 2.0f : -2.0f});
  const std::vector<std::size_t> both{0, 1}, front{0};
  EXPECT_DOUBLE_EQ(visible_share(scene, front), 1.5 * 0.3);
  EXPECT_DOUBLE_EQ(visible_share(scene, both), 1);
  scene.has_random_points = true;
  EXPECT_EQ(visible_share(scene, front), 1);
}

TEST(MemoryPlan, PlansNothingIfNotEvenAnImageFits) {
  const MemoryPlan plan = plan_for(kGiB / 16, kGarden);
  EXPECT_EQ(plan.photo_bytes, 0u);
  EXPECT_EQ(plan.max_gaussians(), 0u);
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
