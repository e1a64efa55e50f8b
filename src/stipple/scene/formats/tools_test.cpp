// SPDX-License-Identifier: Apache-2.0
// What the formats of other programs have in common: a scene that is written in one of them and read again is
// the same. The tests of the single formats have files as those programs write them.
#include "stipple/scene/formats/tools.h"

#include <cmath>

#include "stipple/camera/pinhole_lens.h"
#include "stipple/camera/pose.h"
#include "stipple/synth/synth.h"
#include "tests/helpers/test_scene.h"

namespace stipple {
namespace {

namespace fs = std::filesystem;

Lens one_focal_length() {
  Lens lens = test_lens();
  lens.focal_px = {31.25, 31.25};
  return lens;
}

Lens brown_lens() {
  Lens lens = one_focal_length();
  lens.model = "FULL_OPENCV";
  lens.radial = {-0.08, 0.03, -0.01, 0, 0, 0};
  lens.tangential = {0.002, -0.003};
  return lens;
}

Lens fisheye_lens() {
  Lens lens = one_focal_length();
  lens.model = "OPENCV_FISHEYE";
  lens.kind = Lens::Kind::kFisheye;
  lens.radial = {0.05, -0.01, 0.002, -0.0005, 0, 0};
  return lens;
}

// Cameras in all directions, some upside down, with this lens.
std::vector<PosedImage> tilted_images(const Lens& lens) {
  std::vector<PosedImage> images = test_images();
  for (std::size_t i = 0; i < images.size(); ++i) {
    const float a = 0.5f * static_cast<float>(i);
    const Vec3f from(3 * std::cos(a), 2 * std::sin(2 * a), 4 * std::sin(a));
    images[i].camera_from_world = look_at(from, {0.1f, 0.2f, 0}, {0.1f, i % 2 == 0 ? 1.0f : -1.0f, 0.3f});
    images[i].lens = lens;
  }
  return images;
}

const SceneOptions kFewPoints{.random_point_count = 100};  // if there are none

struct Written {
  TestFolder folder;
  Written(const SceneWriter& writer, PosedImages images, const Points& points) {
    for (const PosedImage& image : images) save_test_picture(folder / writer.image_folder / image.name);
    writer.save(images, points, folder.path());
  }
};

// The largest distance, in pixels of the photo, between where two lenses and poses see the same points.
double projection_error(const SceneView& view, const PosedImage& image) {
  double worst = 0;
  int seen = 0;
  for (const Vec3f p : test_points().position) {
    const auto see = [&](const Lens& lens, const RigidTransform& pose) {
      const Vec3f q = pose.rotation * p + pose.translation;
      return project(lens, {q.x, q.y, q.z});
    };
    const auto a = see(view.lens, view.camera.camera_from_world),
               b = see(image.lens, image.camera_from_world);
    EXPECT_EQ(a.has_value(), b.has_value());
    if (!a || !b) continue;
    worst = std::max({worst, std::abs(a->x - b->x), std::abs(a->y - b->y)});
    ++seen;
  }
  EXPECT_GT(seen, 20);
  return worst;
}

class ToolFormat : public testing::TestWithParam<std::string> {
 protected:
  const SceneWriter& writer() const { return scene_writer(GetParam()); }
  bool has_points() const { return GetParam() != "polycam"; }
  bool has_colors() const { return has_points() && GetParam() != "openmvg"; }
};

TEST_P(ToolFormat, SeesPointsAtTheSamePixels) {
  std::vector<Lens> lenses = {one_focal_length()};
  if (GetParam() != "polycam") lenses.push_back(brown_lens());
  if (GetParam() != "polycam" && GetParam() != "realitycapture") lenses.push_back(fisheye_lens());
  for (const Lens& lens : lenses) {
    const std::vector<PosedImage> images = tilted_images(lens);
    const Written written(writer(), images, test_points());
    const Scene scene = load_scene(written.folder.path(), kFewPoints);
    ASSERT_EQ(scene.views.size(), images.size());
    for (std::size_t i = 0; i < images.size(); ++i) {
      EXPECT_EQ(fs::path(scene.views[i].name).stem(), fs::path(images[i].name).stem());
      EXPECT_LT(projection_error(scene.views[i], images[i]), 2e-4) << lens.model << ", image " << i;
      EXPECT_EQ(scene.views[i].lens.kind, lens.kind);
      EXPECT_NEAR(scene.views[i].lens.center_px.x, lens.center_px.x, 1e-9);
      EXPECT_NEAR(scene.views[i].lens.focal_px.y, lens.focal_px.y, 1e-9);
    }
    if (has_points()) {
      EXPECT_EQ(scene.points.position, test_points().position);
    }
    if (has_colors()) {
      EXPECT_EQ(scene.points.color, test_points().color);
    }
    EXPECT_EQ(scene.has_random_points, !has_points());
    EXPECT_EQ(scene.problems.size(), has_points() ? 0u : 1u) << problems_of(written.folder);
  }
}

TEST_P(ToolFormat, GivesTheCamerasOfTheColmapModel) {
  const SynthOptions options{.view_count = 9, .width_px = 64, .height_px = 48};
  std::vector<PosedImage> images;
  for (const SynthView& v : synth_cameras(options))
    images.push_back({v.name, pinhole_lens(v.camera), v.camera.camera_from_world});
  const auto load = [&](const SceneWriter& w) {
    TestFolder folder;
    for (const PosedImage& image : images) save_test_picture(folder / w.image_folder / image.name, 64, 48);
    w.save(images, test_points(), folder.path());
    return load_scene(folder.path(), kFewPoints);
  };
  const Scene ours = load(writer()), colmap = load(scene_writer("colmap"));
  ASSERT_EQ(ours.views.size(), colmap.views.size());
  for (std::size_t i = 0; i < ours.views.size(); ++i) {
    const Camera &a = ours.views[i].camera, &b = colmap.views[i].camera;
    for (int k = 0; k < 3; ++k) {
      for (int r = 0; r < 3; ++r)
        EXPECT_NEAR(a.camera_from_world.rotation[k][r], b.camera_from_world.rotation[k][r], 1e-6);
      EXPECT_NEAR(a.camera_from_world.translation[k], b.camera_from_world.translation[k], 5e-6);
    }
    EXPECT_NEAR(a.focal_px.x, b.focal_px.x, 1e-4);
    EXPECT_NEAR(a.center_px.y, b.center_px.y, 1e-4);
  }
}

TEST_P(ToolFormat, FindsTheFileByItsName) {
  if (GetParam() == "polycam") return;  // a folder of files
  const Written written(writer(), tilted_images(one_focal_length()), test_points());
  EXPECT_EQ(load_scene(written.folder / writer().main_file).views.size(), 12u);
}

TEST_P(ToolFormat, GoesBeforeAListOfNames) {
  const Written written(writer(), tilted_images(one_focal_length()), test_points());
  written.folder.write("images.txt", "00.png\n01.png\n");
  EXPECT_EQ(load_scene(written.folder.path(), kFewPoints).views.size(), 12u);
}

TEST_P(ToolFormat, RefusesLensesThatItDoesNotHave) {
  Lens lens = brown_lens();
  lens.radial[4] = 0.1;
  TestFolder folder;
  EXPECT_NE(error_of([&] {
              writer().save(tilted_images(lens), test_points(), folder.path());
            }).find("has no lens like FULL_OPENCV"),
            std::string::npos);
}

TEST_P(ToolFormat, SurvivesDamage) {
  if (GetParam() == "polycam") return;  // a broken file is one broken entry; see the test of Polycam
  const std::vector<PosedImage> images = tilted_images(one_focal_length());
  const Written written(writer(), std::span(images).first(2), test_points(3));
  const std::string whole = read_file(written.folder / writer().main_file);
  expect_flips_are_survived(written.folder, writer().main_file, whole, 300,
                            [&](const fs::path&) { load_scene(written.folder.path(), kFewPoints); });
  for (std::size_t length = 0; length + 1 < whole.size();
       length += 7) {  // without more than the last line's end
    written.folder.write(writer().main_file, whole.substr(0, length));
    const std::string message = error_of([&] { load_scene(written.folder / writer().main_file); });
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    if (GetParam() != "realitycapture") {
      EXPECT_NE(message, "") << "truncated to " << length;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, ToolFormat,
                         testing::Values("opensfm", "openmvg", "polycam", "metashape", "realitycapture"),
                         [](const auto& format) { return format.param; });

TEST(FormatOrder, ComesFromTheListOfWriters) {
  TestFolder folder;
  std::vector<std::string> found;
  const std::vector<PosedImage> images = tilted_images(one_focal_length());
  for (const PosedImage& image : images)
    for (const char* at : {"images", "keyframes/corrected_images"})
      save_test_picture(folder / at / image.name);
  const std::span<const SceneWriter> writers = scene_writers();
  for (std::size_t i = writers.size(); i-- > 0;) {  // each one takes precedence over those before
    writers[i].save(images, test_points(), folder.path());
    found.push_back(load_scene(folder.path()).format);
  }
  EXPECT_EQ(found, (std::vector<std::string>{
                       "RealityCapture (cameras.csv), points from points.ply",
                       "Metashape (cameras.xml), points from points.ply", "Polycam (corrected_cameras)",
                       "OpenMVG (sfm_data.json)", "OpenSfM (reconstruction.json)", "transforms.json",
                       "COLMAP model (text) in sparse/0", "COLMAP model (binary) in sparse/0"}));
}

TEST(PointsBeside, TakesTheOnlyPlyWithPoints) {
  TestFolder folder;
  const std::vector<PosedImage> images = tilted_images(one_focal_length());
  for (const PosedImage& image : images) save_test_picture(folder / "images" / image.name);
  save_realitycapture(images, test_points(), folder.path());
  fs::rename(folder / "points.ply", folder / "cloud.PLY");
  folder.write(
      "model.ply",
      "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\n"
      "property float f_dc_0\nend_header\n1 2 3 4\n");
  folder.write("notes.ply", "not a ply file");
  EXPECT_EQ(load_scene(folder.path()).format, "RealityCapture (cameras.csv), points from cloud.PLY");
  fs::copy_file(folder / "cloud.PLY", folder / "dense.ply");
  EXPECT_NE(problems_of(folder, kFewPoints)
                .find("2 .ply files may hold the points\nNone is used; name the right one points.ply.\n"),
            std::string::npos);
  fs::copy_file(folder / "cloud.PLY", folder / "points.ply");
  EXPECT_EQ(problems_of(folder, kFewPoints), "");
}

// The middle of the Earth is 6,400 km away, where 32-bit numbers are half a metre apart.
TEST(FarScenes, AreMovedToTheOrigin) {
  TestFolder folder;
  const std::vector<PosedImage> images = test_images();
  std::string csv = "#name,x,y,alt,heading,pitch,roll,f\n";
  for (std::size_t i = 0; i < images.size(); ++i) {
    save_test_picture(folder / "images" / images[i].name);
    csv += fmt::format("{},{},5000000,{},0,90,0,30\n", images[i].name,
                       400000.0 + static_cast<double>(i) / 1024, i);
  }
  folder.write("c.csv", csv);
  const Scene scene = load_scene(folder.path(), kFewPoints);
  ASSERT_EQ(scene.views.size(), 12u);
  // The middle of 0 .. 11 is 5.5. A level camera looks along y, with its x axis along x and its y axis down.
  for (std::size_t i = 0; i < 12; ++i) {
    const float d = static_cast<float>(i) - 5.5f;
    const Vec3f t = scene.views[i].camera.camera_from_world.translation;
    EXPECT_NEAR(t.x, -d / 1024, 1e-6);
    EXPECT_NEAR(t.y, d, 1e-5);
    EXPECT_NEAR(t.z, 0, 1e-5);
  }
  EXPECT_TRUE(problems_of(folder, kFewPoints)
                  .starts_with("the scene is far from the origin, at (400000.005, 5000000.000, 5.500)\n"
                               "This place becomes the origin, because positions are 32-bit numbers.\n"))
      << problems_of(folder, kFewPoints);
}

}  // namespace
}  // namespace stipple
