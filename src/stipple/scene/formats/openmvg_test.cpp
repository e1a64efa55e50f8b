// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "stipple/scene/formats/tools.h"
#include "tests/helpers/test_scene.h"

namespace stipple {
namespace {

std::string view(int id, const std::string& name, int intrinsic, const std::string& local_path = "") {
  return fmt::format(
      R"({{"key": {0}, "value": {{"polymorphic_id": 1073741824, "ptr_wrapper": {{"id": {1}, "data": {{"local_path": "{4}",
          "filename": "{2}", "width": 32, "height": 24, "id_view": {0}, "id_intrinsic": {3}, "id_pose": {0}}}}}}}}})",
      id, 2147483649 + static_cast<unsigned>(id), name, intrinsic, local_path);
}

std::string intrinsic(int id, const std::string& kind, const std::string& distortion) {
  return fmt::format(
      R"({{"key": {}, "value": {{{}, "ptr_wrapper": {{"id": 2147483700, "data": {{"width": 32, "height": 24,
          "focal_length": 30.5, "principal_point": [15.5, 12.25]{}}}}}}}}})",
      id, kind, distortion);
}

std::string pose(int id, const std::string& rotation, const std::string& center) {
  return fmt::format(R"({{"key": {}, "value": {{"rotation": {}, "center": {}}}}})", id, rotation, center);
}

constexpr const char* kNoRotation = "[[1,0,0],[0,1,0],[0,0,1]]";

std::string file(const std::string& views, const std::string& intrinsics, const std::string& extrinsics,
                 const std::string& structure = "") {
  return R"({"sfm_data_version": "0.3", "root_path": "/home/someone/castle", "views": [)" + views +
         R"(], "intrinsics": [)" + intrinsics + R"(], "extrinsics": [)" + extrinsics +
         R"(], "structure": [)" + structure + R"(], "control_points": []})";
}

SceneSource read(const std::string& text) {
  TestFolder folder;
  return read_openmvg(folder.write("sfm_data.json", text));
}

std::string problems(const SceneSource& source) {
  std::string text;
  for (const SceneProblem& p : source.problems) text += p.what + "\n";
  return text;
}

// The rows of the rotation are the camera's axes in the world: this camera looks along the world's x axis,
// and its x axis is the world's -z.
TEST(OpenMvg, ReadsARotationAndACenter) {
  const SceneSource source = read(file(view(4, "100_7100.JPG", 0), intrinsic(0, "\"polymorphic_id\": 1", ""),
                                       pose(4, "[[0,0,-1],[0,1,0],[1,0,0]]", "[5, 6, 7]")));
  const RigidTransform& camera = source.images.at(0).camera_from_world;
  EXPECT_EQ(camera.rotation * Vec3f(9, 6, 7) + camera.translation, Vec3f(0, 0, 4));
  EXPECT_EQ(camera.rotation * Vec3f(5, 6, 4) + camera.translation, Vec3f(3, 0, 0));
  EXPECT_EQ(source.images.at(0).name, "100_7100.JPG");
  EXPECT_EQ(problems(source), "");
}

TEST(OpenMvg, ReadsEveryKindOfIntrinsics) {
  const auto lens = [](const std::string& kind, const std::string& distortion) {
    const SceneSource source =
        read(file(view(0, "a.jpg", 3), intrinsic(3, kind, distortion), pose(0, kNoRotation, "[0,0,0]")));
    return resolve_lens(source.images.at(0).lens, 1, 1);
  };
  const std::string named = R"("polymorphic_id": 2147483649, "polymorphic_name": "pinhole_radial_k3")";
  const std::string repeated = R"("polymorphic_id": 1)";
  const Lens pinhole = lens(repeated, "");
  EXPECT_TRUE(pinhole.is_pinhole());
  EXPECT_EQ(pinhole.focal_px, Vec2<double>(30.5, 30.5));
  EXPECT_EQ(pinhole.center_px, Vec2<double>(15.5, 12.25));
  EXPECT_EQ(lens(repeated, R"(, "disto_k1": [0.1])").radial, (std::array<double, 6>{0.1}));
  EXPECT_EQ(lens(named, R"(, "disto_k3": [0.1, 0.2, 0.3])").radial, (std::array<double, 6>{0.1, 0.2, 0.3}));
  const Lens fisheye = lens(repeated, R"(, "fisheye": [0.1, 0.2, 0.3, 0.4])");
  EXPECT_EQ(fisheye.kind, Lens::Kind::kFisheye);
  EXPECT_EQ(fisheye.radial, (std::array<double, 6>{0.1, 0.2, 0.3, 0.4}));
  // OpenMVG's formula of Brown's model, for one direction.
  const Lens brown = lens(repeated, R"(, "disto_t2": [-0.1, 0.02, 0.003, 0.004, -0.005])");
  const double x = 0.2, y = -0.3, r2 = x * x + y * y, k = -0.1 * r2 + 0.02 * r2 * r2 + 0.003 * r2 * r2 * r2;
  const auto pixel = project(brown, {x, y, 1});
  ASSERT_TRUE(pixel);
  EXPECT_NEAR(pixel->x, 15.5 + 30.5 * (x + x * k - 0.005 * (r2 + 2 * x * x) + 2 * 0.004 * x * y), 1e-9);
  EXPECT_NEAR(pixel->y, 12.25 + 30.5 * (y + y * k + 0.004 * (r2 + 2 * y * y) - 2 * 0.005 * x * y), 1e-9);
}

TEST(OpenMvg, LeavesOutAndCountsWhatItCannotUse) {
  const std::string observations =
      R"("observations": [{"key": 0, "value": {"id_feat": 5, "x": [1.5, 2.5]}}])";
  const SceneSource source = read(file(
      view(0, "a.jpg", 0) + "," + view(1, "b.jpg", 0) + "," + view(2, "c.jpg", 0) + "," +
          view(3, "d.jpg", 9) + "," + view(4, "", 0) + ", 5, " + view(5, "a.jpg", 0) + "," +
          view(6, "e.jpg", 1) + "," + view(7, "f.jpg", 2) + "," + view(8, "0.jpg", 0, "left"),
      intrinsic(0, "\"polymorphic_id\": 1", "") + "," +
          intrinsic(1, "\"polymorphic_id\": 1", ", \"disto_k3\": [1]") +
          R"(,{"key": 2, "value": {"polymorphic_name": "spherical", "ptr_wrapper": {"data": {"value0": {"width": 1}}}}})",
      pose(0, kNoRotation, "[0,0,0]") + "," + pose(2, "[[1,0,0],[0,1,0],[0,0,NaN]]", "[0,0,0]") + "," +
          pose(3, kNoRotation, "[0,0,0]") + "," + pose(5, kNoRotation, "[0,0,0]") + "," +
          pose(6, kNoRotation, "[0,0,0]") + "," + pose(7, kNoRotation, "[0,0,0]") + "," +
          pose(8, kNoRotation, "[0,0,0]"),
      "{\"key\": 0, \"value\": {\"X\": [1,2,3]," + observations +
          "}}, {\"key\": 1}, {\"key\": 2, \"value\": {" + observations + ", \"X\": [4,5,6]}}"));
  ASSERT_EQ(source.images.size(), 2u);
  EXPECT_EQ(source.images[1].name, "left/0.jpg");
  EXPECT_EQ(source.points.position, (std::vector<Vec3f>{{1, 2, 3}, {4, 5, 6}}));
  EXPECT_EQ(problems(source),
            "2 records that cannot be read, such as view 5\n"
            "1 image without a pose: b.jpg\n"
            "1 image with an invalid pose: c.jpg\n"
            "1 image with a duplicate name: a.jpg\n"
            "1 image with an unusable camera: intrinsic 1: its distortion is malformed\n"
            "1 image with an unusable camera: intrinsic 2: it has no focal length or no principal point, as "
            "spherical "
            "cameras do, which are not supported\n"
            "1 image with an unusable camera: its intrinsic is not in the file\n"
            "1 point that cannot be read: sfm_data.json\n");
}

// The photos may be where OpenMVG found them, seen from the folder of the reconstruction.
TEST(OpenMvg, FindsThePhotosByTheNameOfTheirFolder) {
  TestFolder folder;
  std::filesystem::create_directories(folder / "reconstruction_sequential");
  save_test_picture(folder / "castle/a.png");
  folder.write(
      "reconstruction_sequential/sfm_data.json",
      file(view(0, "a.png", 0), intrinsic(0, "\"polymorphic_id\": 1", ""), pose(0, kNoRotation, "[0,0,0]")));
  EXPECT_EQ(load_scene(folder.path()).views.at(0).image_path, folder / "castle/a.png");
}

TEST(OpenMvg, ExplainsWhatIsMissing) {
  EXPECT_NE(error_of([] { read("{\"sfm_data_version\": 1}"); }).find("there is no list of views"),
            std::string::npos);
  EXPECT_NE(error_of([] { read(file(view(0, "a.png", 0), "", "")); }).find("there are no poses"),
            std::string::npos);
}

}  // namespace
}  // namespace stipple
