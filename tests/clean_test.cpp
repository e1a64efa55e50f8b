// SPDX-License-Identifier: Apache-2.0
// Cleaning a trained model into which defects were put.
#include "stipple/clean/clean.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "stipple/camera/pose.h"
#include "stipple/clean/report.h"
#include "stipple/core/random.h"
#include "stipple/edit/select.h"
#include "stipple/evaluate/evaluate.h"
#include "stipple/scene/layout.h"
#include "stipple/train/trainer.h"
#include "tests/helpers/backend_run.h"
#include "tests/helpers/synth_scene.h"
#include "tests/helpers/test_folder.h"

namespace stipple {
namespace {

// A scene, a model that was trained on it, and what is needed to clean it.
struct Workshop {
  TestFolder folder;
  Scene scene =
      make_synth_scene(folder.path(), {.view_count = 24, .width_px = 96, .height_px = 72, .seed = 1}, 3000);
  std::vector<std::size_t> views = scene.train_views();
  PhotoCache photos{scene.views, std::size_t{1} << 28};
  std::unique_ptr<Backend> backend = make_backend("cpu");
  Gaussians model;

  Workshop() {
    TrainOptions options;
    options.steps = 500;
    options.max_gaussians = 4000;
    options.hold_out = true;
    Trainer trainer(*backend, scene, options);
    while (!trainer.done()) trainer.step();
    model = trainer.gaussians();
  }

  CleanResult clean(const Gaussians& gaussians, double max_loss_db = 1) {
    return stipple::clean(
        *backend, gaussians,
        {.scene = scene, .views = views, .photos = photos, .render = {}, .max_loss_db = max_loss_db});
  }
  double psnr(const Gaussians& gaussians) {
    return evaluate(*backend, upload(*backend, gaussians), scene.views, views, photos, {}).psnr;
  }
};

Workshop& workshop() {
  static Workshop shared;  // training takes most of the time
  return shared;
}

// Adds one Gaussian with a random rotation and colour.
void add(Gaussians& g, Vec3f mean, Vec3f scale, float opacity, Random& random) {
  g.mean.push_back(mean);
  g.log_scale.push_back({std::log(scale.x), std::log(scale.y), std::log(scale.z)});
  g.rotation.push_back({random.normal(), random.normal(), random.normal(), random.normal()});
  g.logit_opacity.push_back(Math<float>::logit(opacity));
  const auto channel = [&] { return random.uniform(-1.5f, 1.5f); };
  for (int k = 0; k < g.sh_count(); ++k)
    g.sh.push_back(k == 0 ? Vec3f(channel(), channel(), channel()) : Vec3f(0, 0, 0));
}

Vec3f direction(Random& random) { return normalized({random.normal(), random.normal(), random.normal()}); }

// A blob in front of one camera, at a fraction of the distance at which the scene begins.
void add_blob(Gaussians& g, const Camera& camera, Vec3f focus, Random& random) {
  const Vec3f ahead = focus - center_of(camera);
  const float depth = std::sqrt(dot(ahead, ahead)) * random.uniform(0.08f, 0.35f);
  const float x = random.uniform(0.1f, 0.9f) * static_cast<float>(camera.width_px),
              y = random.uniform(0.1f, 0.9f) * static_cast<float>(camera.height_px);
  const Vec3f in_camera((x - camera.center_px.x) / camera.focal_px.x * depth,
                        (y - camera.center_px.y) / camera.focal_px.y * depth, depth);
  const Vec3f mean =
      transpose(camera.camera_from_world.rotation) * (in_camera - camera.camera_from_world.translation);
  const float scale = depth * random.uniform(0.02f, 0.12f);
  add(g, mean, Vec3f(random.uniform(0.5f, 1), random.uniform(0.5f, 1), 1) * scale,
      random.uniform(0.3f, 0.95f), random);
}

// Puts 250 defects into a model: blobs, needles, veils, and Gaussians far away.
Gaussians spoiled(Gaussians g, const Scene& scene, std::span<const std::size_t> views, std::uint64_t seed) {
  Random random(seed);
  const Vec3f focus = focus_of(scene.views);
  const float extent = scene_extent(scene, views);
  for (int i = 0; i < 130; ++i)
    add_blob(g, scene.views[views[random.below(views.size())]].camera, focus, random);
  for (int i = 0; i < 70; ++i) {
    const float length = extent * random.uniform(0.1f, 0.4f);
    add(g, focus + direction(random) * (extent * random.uniform(0, 0.5f)),
        Vec3f(1, 1 / random.uniform(20, 60), 1 / random.uniform(20, 60)) * length,
        random.uniform(0.3f, 0.95f), random);
  }
  for (int i = 0; i < 6; ++i)
    add(g, focus + direction(random) * (0.5f * extent),
        Vec3f(random.uniform(0.5f, 1.5f), random.uniform(0.5f, 1.5f), random.uniform(0.5f, 1.5f)) * extent,
        random.uniform(0.05f, 0.2f), random);
  for (int i = 0; i < 44; ++i)
    add(g, focus + direction(random) * (extent * random.uniform(50, 500)),
        Vec3f(1, 1, 1) * (extent * random.uniform(0.1f, 5)), random.uniform(0.3f, 0.95f), random);
  return g;
}

TEST(Clean, FindsWhatWasPutInAndKeepsTheRest) {
  Workshop& w = workshop();
  const std::size_t count = w.model.size();
  const double before = w.psnr(w.model);
  for (const std::uint64_t seed : {1, 2}) {
    SCOPED_TRACE(seed);
    const Gaussians bad = spoiled(w.model, w.scene, w.views, seed);
    EXPECT_LT(w.psnr(bad), before - 5);
    const CleanResult result = w.clean(bad);
    const auto first_put_in = std::lower_bound(result.kept.begin(), result.kept.end(), count);
    const auto overlooked = static_cast<std::size_t>(result.kept.end() - first_put_in),
               lost = count - static_cast<std::size_t>(first_put_in - result.kept.begin());
    EXPECT_LE(overlooked, (bad.size() - count) / 20);  // 0 to 5 of 250 with six seeds
    EXPECT_LE(lost, count * 3 / 200);                  // 22 to 39 of 4000
    EXPECT_GT(result.psnr_after, before - 0.1);        // 0.01 to 0.04 dB
    EXPECT_NEAR(result.psnr_after, w.psnr(select(bad, result.kept)), 1e-6);
    EXPECT_GE(result.classes[static_cast<std::size_t>(Defect::kFloater)].removed, 120u);
    EXPECT_GE(result.classes[static_cast<std::size_t>(Defect::kSpike)].removed, 60u);
    EXPECT_GE(result.classes[static_cast<std::size_t>(Defect::kOversized)].removed, 5u);
    EXPECT_EQ(result.classes[static_cast<std::size_t>(Defect::kFarOutside)].removed, 44u);
  }
}

// Without the limit more is removed, at the expense of the photos; with a limit of 0, the photos lose
// nothing.
TEST(Clean, KeepsWhatThePhotosNeedMoreThanTheLimit) {
  Workshop& w = workshop();
  Gaussians bad = w.model;
  // Moves a part of the model to where it still looks the same to one camera.
  const Camera& camera = w.scene.views[w.views[0]].camera;
  for (std::size_t i = 0; i < bad.size(); i += 10) {
    const Vec3f ray = bad.mean[i] - center_of(camera);
    bad.mean[i] = center_of(camera) + ray * 0.2f;
    bad.log_scale[i] = bad.log_scale[i] + Vec3f(1, 1, 1) * std::log(0.2f);
  }
  const CleanResult all = w.clean(bad, 100), careful = w.clean(bad, 0);
  EXPECT_EQ(all.found, careful.found);
  EXPECT_GT(careful.kept.size(), all.kept.size());
  EXPECT_EQ(all.psnr_after, all.psnr_without_all);
  EXPECT_EQ(careful.psnr_without_all, all.psnr_without_all);
  EXPECT_GE(careful.psnr_after, careful.psnr_before);
  EXPECT_GT(careful.psnr_after, all.psnr_after);
}

TEST(Clean, RemovesValuesThatAreNotFiniteAndAcceptsAnEmptyModel) {
  Workshop& w = workshop();
  w.views.resize(3);  // enough for this
  Gaussians bad = w.model;
  bad.mean[5].x = std::nanf("");
  bad.sh[16 * 7].y = INFINITY;
  const CleanResult result = w.clean(bad);
  EXPECT_EQ(result.classes[static_cast<std::size_t>(Defect::kNonFinite)].removed, 2u);
  EXPECT_EQ(result.found[5], Defect::kNonFinite);
  EXPECT_EQ(result.found[7], Defect::kNonFinite);
  EXPECT_EQ(w.clean(make_gaussians(0, 0)).kept.size(), 0u);
  w.views = w.scene.train_views();
}

TEST(Clean, StopsWhenTheProgressThrows) {
  Workshop& w = workshop();
  std::size_t calls = 0;
  EXPECT_THROW(stipple::clean(*w.backend, w.model,
                              {.scene = w.scene,
                               .views = w.views,
                               .photos = w.photos,
                               .render = {},
                               .progress =
                                   [&](std::size_t done, std::size_t total) {
                                     EXPECT_EQ(done, ++calls);
                                     EXPECT_LT(done, total);
                                     if (calls == 2) throw Error("stopped");
                                   }}),
               Error);
  EXPECT_EQ(calls, 2u);
}

// Whether the image has a pixel of about this colour between two columns of pixels.
bool has_color(const Image& image, Vec3f color, int begin, int end) {
  for (int y = 100; y < image.height_px; ++y)  // below the legend
    for (int x = begin; x < end; ++x) {
      float distance = 0;
      for (int c = 0; c < 3; ++c) distance = std::max(distance, std::abs(image.at(x, y, c) - color[c]));
      if (distance < 0.1f) return true;
    }
  return false;
}

TEST(Clean, TheReportShowsTheClassesInColourInTheMiddle) {
  Workshop& w = workshop();
  const Gaussians bad = spoiled(w.model, w.scene, w.views, 1);
  CleanResult result;
  result.found.assign(bad.size(), Defect::kNone);
  for (std::uint32_t i = 0; i < w.model.size(); ++i) result.kept.push_back(i);
  for (std::size_t i = w.model.size(); i < bad.size(); ++i) result.found[i] = Defect::kFloater;
  std::vector<Camera> cameras;
  for (const SceneView& v : w.scene.views) cameras.push_back(v.camera);
  const Image report = clean_report(*w.backend, bad, result, cameras, {});
  const Vec3f red(1, 0.1f, 0.1f);
  const int third = report.width_px / 3;
  EXPECT_TRUE(has_color(report, red, third, 2 * third));
  EXPECT_FALSE(has_color(report, red, 2 * third, report.width_px));
  EXPECT_GT(report.height_px, 6 * 72);
}

}  // namespace
}  // namespace stipple
