// SPDX-License-Identifier: Apache-2.0
#include "stipple/scene/formats/transforms.h"

#include "stipple/scene/formats/points_file.h"
#include "tests/helpers/test_scene.h"

namespace stipple {
namespace {

namespace fs = std::filesystem;

constexpr const char* kIdentity = "[[1,0,0,0],[0,1,0,0],[0,0,1,0],[0,0,0,1]]";

std::string frames(const std::string& list) { return "{\"camera_angle_x\":0.8,\"frames\":[" + list + "]}"; }
std::string frame(const std::string& fields) {
  return "{\"file_path\":\"a.png\",\"transform_matrix\":" + std::string(kIdentity) + fields + "}";
}

TEST(Transforms, RoundTrips) {
  TestFolder folder;
  std::vector<PosedImage> images = test_images();
  images[2].lens.radial[0] = 0.1;  // a lens of its own
  images[3].lens.kind = Lens::Kind::kFisheye;
  save_transforms(images, test_points(), folder.path());
  const Transforms t = load_transforms(folder / "transforms.json");
  EXPECT_EQ(t.bad_frames.count + t.bad_poses.count, 0u);
  ASSERT_EQ(t.frames.size(), images.size());
  for (std::size_t i = 0; i < images.size(); ++i) {
    const TransformsFrame& f = t.frames[i];
    EXPECT_EQ(f.image_path, "images/" + images[i].name);
    const Lens lens = resolve_lens(f.lens, 1, 1);  // the size is in the file
    EXPECT_EQ(lens.kind, images[i].lens.kind);
    EXPECT_EQ(lens.focal_px, images[i].lens.focal_px);
    EXPECT_EQ(lens.center_px, images[i].lens.center_px);
    EXPECT_EQ(lens.radial, images[i].lens.radial);
    EXPECT_EQ(lens.width_px, images[i].lens.width_px);
    for (int k = 0; k < 3; ++k) {
      for (int r = 0; r < 3; ++r)
        EXPECT_NEAR(f.camera_from_world.rotation[k][r], images[i].camera_from_world.rotation[k][r], 1e-6);
      EXPECT_NEAR(f.camera_from_world.translation[k], images[i].camera_from_world.translation[k], 1e-6);
    }
  }
  std::size_t dropped = 0;
  const Points points = load_points(folder / t.points_path, dropped);
  EXPECT_EQ(dropped, 0u);
  EXPECT_EQ(points.position, test_points().position);
  EXPECT_EQ(points.color, test_points().color);
}

// With OpenGL's axes, a camera at (0, 0, 5) looks along -z, at the origin.
TEST(Transforms, ConvertsOpenGlAxes) {
  TestFolder folder;
  folder.write(
      "transforms.json",
      frames(R"({"file_path":"a.png","transform_matrix":[[1,0,0,0],[0,1,0,0],[0,0,1,5],[0,0,0,1]]})"));
  const RigidTransform pose = load_transforms(folder / "transforms.json").frames.at(0).camera_from_world;
  const Vec3f origin = pose.rotation * Vec3f(0, 0, 0) + pose.translation;
  EXPECT_EQ(origin, Vec3f(0, 0, 5));  // in front of the camera
  const Vec3f above = pose.rotation * Vec3f(0, 1, 0) + pose.translation;
  EXPECT_EQ(above, Vec3f(0, -1, 5));  // our y points down
}

TEST(Transforms, ReadsEveryFormOfFocalLength) {
  TestFolder folder;
  const auto lens_of = [&](const std::string& fields, int width = 200, int height = 100) {
    folder.write("transforms.json", "{\"frames\":[" + frame(fields) + "]}");
    return resolve_lens(load_transforms(folder / "transforms.json").frames.at(0).lens, width, height);
  };
  EXPECT_NEAR(lens_of(",\"camera_angle_x\":1.5707963267948966").focal_px.x, 100, 1e-9);
  EXPECT_NEAR(lens_of(",\"camera_angle_x\":1.5707963267948966").focal_px.y, 100, 1e-9);
  EXPECT_NEAR(lens_of(",\"x_fov\":90,\"fl_x\":7").focal_px.x, 100, 1e-9);  // x_fov takes precedence over fl_x
  EXPECT_NEAR(lens_of(",\"fl_x\":70,\"camera_angle_x\":1").focal_px.x, 70, 1e-9);
  EXPECT_NEAR(lens_of(",\"fl_x\":70,\"fl_y\":71").focal_px.y, 71, 1e-9);
  EXPECT_NEAR(lens_of(",\"fl_x\":70,\"w\":400,\"h\":200").center_px.x, 200, 1e-9);
  EXPECT_NEAR(lens_of(",\"fl_x\":70,\"cx\":90.5").center_px.x, 90.5, 1e-9);
  EXPECT_EQ(lens_of(",\"fl_x\":70,\"is_fisheye\":true,\"k1\":0.1").kind, Lens::Kind::kFisheye);
  EXPECT_EQ(lens_of(",\"fl_x\":70,\"distortion_params\":[1,2,3,0,5,6]").tangential[1], 6);
  EXPECT_EQ(error_of([&] { lens_of(""); }), "the focal length is missing: set fl_x, camera_angle_x or x_fov");
  EXPECT_EQ(error_of([&] { lens_of(",\"fl_x\":-3"); }), "the focal length of -3 x -3 pixels is invalid");
  EXPECT_EQ(error_of([&] { lens_of(",\"fl_x\":3,\"w\":0"); }),
            "its size is 0 x 100; both sides must be from 1 to 65536 pixels");
  EXPECT_EQ(error_of([&] { lens_of(",\"fl_x\":1e-300"); }),
            "the focal length of 1e-300 x 1e-300 pixels is invalid");
  EXPECT_EQ(error_of([&] { lens_of(",\"fl_x\":1e300"); }),
            "the focal length of 1e+300 x 1e+300 pixels is invalid");
  EXPECT_EQ(error_of([&] { lens_of(",\"fl_x\":3,\"cx\":-1e300"); }),
            "the principal point (-1e+300, 50) is invalid");
}

TEST(Transforms, NamesUnnamedLensAfterItsDistortion) {
  const auto model = [](const std::string& fields) {
    TestFolder folder;
    folder.write("transforms.json", frames(frame(fields)));
    return resolve_lens(load_transforms(folder / "transforms.json").frames.at(0).lens, 64, 48).model;
  };
  EXPECT_EQ(model(""), "PINHOLE");
  EXPECT_EQ(model(",\"k1\":0"), "PINHOLE");
  EXPECT_EQ(model(",\"k1\":0.1"), "OPENCV");
  EXPECT_EQ(model(",\"is_fisheye\":true"), "OPENCV_FISHEYE");
}

TEST(Transforms, RejectsOtherCameraModelsByName) {
  TestFolder folder;
  for (const char* fields : {",\"camera_model\":\"EQUIRECTANGULAR\"", ",\"equirectangular\":true"}) {
    folder.write("transforms.json", frames(frame(fields)));
    const std::string sentence = load_transforms(folder / "transforms.json").frames.at(0).lens.unsupported;
    EXPECT_NE(sentence.find(" is not supported; undistort the images first"), std::string::npos) << sentence;
  }
}

TEST(Transforms, CountsBrokenFrames) {
  TestFolder folder;
  folder.write("transforms.json",
               frames(frame("") +
                      R"(,{"file_path":"b.png"},{"transform_matrix":1},7,null,)"
                      R"({"file_path":"c.png","transform_matrix":[[1,0],[0,1]]},)"
                      R"({"file_path":"nan.png","transform_matrix":[[1,0,0,null],[0,1,0,0],[0,0,1,0]]},)"
                      R"({"file_path":"skew.png","transform_matrix":[[1,1,0,0],[0,1,0,0],[0,0,1,0]]},)"
                      R"({"file_path":"mirror.png","transform_matrix":[[-1,0,0,0],[0,1,0,0],[0,0,1,0]]})"));
  const Transforms t = load_transforms(folder / "transforms.json");
  EXPECT_EQ(t.frames.size(), 1u);
  EXPECT_EQ(t.bad_frames.count, 5u);
  EXPECT_EQ(t.bad_frames.first, "frame 2 of transforms.json");
  EXPECT_EQ(t.bad_poses.count, 3u);
  EXPECT_EQ(t.bad_poses.first, "nan.png");
}

TEST(Transforms, NonFiniteNumbersDropOnlyTheirFrame) {
  for (const std::string nan : {"NaN", "Infinity", "-Infinity", "nan", "-nan(ind)", "-inf"}) {
    TestFolder folder;
    folder.write("transforms.json",
                 frames(frame("") + R"(,{"file_path":"NaN \" -inf.png","transform_matrix":[[1,0,0,)" + nan +
                        "],[0,1,0,0],[0,0,1," + nan + "]]}," + frame("")));
    const Transforms t = load_transforms(folder / "transforms.json");
    EXPECT_EQ(t.frames.size(), 2u) << nan;
    EXPECT_EQ(t.bad_poses.count, 1u) << nan;
    EXPECT_EQ(t.bad_poses.first, "NaN \" -inf.png");
  }
}

TEST(Transforms, ReadsTrainAndTestFiles) {
  TestFolder folder;
  EXPECT_FALSE(find_transforms(folder.path()));
  folder.write("transforms_train.json", frames(frame("") + "," + frame("")));
  EXPECT_FALSE(load_transforms(folder / "transforms_train.json").frames.at(0).is_test.has_value());
  folder.write("transforms_val.json", frames(frame("") + "," + frame("") + "," + frame("")));
  Transforms t = load_transforms(*find_transforms(folder.path()));
  EXPECT_EQ(t.format, "transforms_train.json and transforms_val.json");
  EXPECT_EQ(t.frames.size(), 5u);
  folder.write("transforms_test.json", frames(frame("")));
  t = load_transforms(*find_transforms(folder.path()));
  EXPECT_EQ(t.format, "transforms_train.json and transforms_test.json");
  ASSERT_EQ(t.frames.size(), 3u);
  EXPECT_EQ(t.frames[0].is_test, false);
  EXPECT_EQ(t.frames[2].is_test, true);
}

TEST(Transforms, HonoursTestFilenames) {
  TestFolder folder;
  folder.write("transforms.json", "{\"test_filenames\":[\"b.png\"],\"frames\":[" + frame("") +
                                      ",{\"file_path\":\"b.png\",\"transform_matrix\":" + kIdentity + "}]}");
  const Transforms t = load_transforms(folder / "transforms.json");
  EXPECT_EQ(t.frames.at(0).is_test, false);
  EXPECT_EQ(t.frames.at(1).is_test, true);
}

TEST(Transforms, RejectsOtherFiles) {
  TestFolder folder;
  const auto error = [&](const std::string& content) {
    folder.write("transforms.json", content);
    std::string message = error_of([&] { load_transforms(folder / "transforms.json"); });
    return message.substr(std::min(message.size(), (folder / "transforms.json").string().size()));
  };
  EXPECT_EQ(error(""), ": the file is not valid JSON; it may be truncated, so export it again");
  EXPECT_EQ(error("[]"), ": the file must hold a JSON object");
  EXPECT_EQ(error("{}"), ": there is no \"frames\" list; this is not a transforms.json");
  EXPECT_EQ(error("{\"frames\":7}"), ": there is no \"frames\" list; this is not a transforms.json");
  EXPECT_EQ(error(std::string(100'000, '[')),
            ": the file is nested more than 64 levels deep; export it again");
}

// A megabyte in each of a hundred thousand frames would be a hundred gigabytes.
TEST(Transforms, FramesDoNotRepeatALongName) {
  TestFolder folder;
  folder.write("transforms.json", "{\"camera_model\":\"" + std::string(1'000'000, 'm') + "\",\"frames\":[" +
                                      frame("") + "," + frame("") + "]}");
  const Transforms t = load_transforms(folder / "transforms.json");
  ASSERT_EQ(t.frames.size(), 2u);
  EXPECT_LT(t.frames[1].lens.distortion.model.size(), 100u);
  EXPECT_LT(t.frames[1].lens.unsupported.size(), 200u);
}

TEST(Transforms, SurvivesTruncatedAndAlteredFiles) {
  TestFolder folder;
  save_transforms(test_images(2), test_points(3), folder.path());
  const std::string whole = read_file(folder / "transforms.json");
  expect_every_cut_fails(folder, "transforms.json", whole.substr(0, whole.size() - 1), load_transforms);
  expect_flips_are_survived(folder, "transforms.json", whole, 1000, load_transforms);
}

TEST(PointsFile, ReadsMissingAndFractionalColours) {
  TestFolder folder;
  std::size_t dropped = 0;
  folder.write("a.ply",
               "ply\nformat ascii 1.0\nelement vertex 2\nproperty double x\nproperty double y\nproperty "
               "double z\nend_header\n1 2 3\nnan 0 0\n");
  Points points = load_points(folder / "a.ply", dropped);
  EXPECT_EQ(dropped, 1u);
  ASSERT_EQ(points.size(), 1u);
  EXPECT_EQ(points.color[0], (std::array<std::uint8_t, 3>{128, 128, 128}));
  folder.write(
      "b.ply",
      "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float "
      "z\nproperty float red\nproperty float green\nproperty float blue\nend_header\n1 2 3 1 .5 0\n");
  points = load_points(folder / "b.ply", dropped);
  EXPECT_EQ(points.color.at(0), (std::array<std::uint8_t, 3>{255, 128, 0}));
  folder.write("c.ply", "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nend_header\n1\n");
  EXPECT_EQ(error_of([&] { load_points(folder / "c.ply", dropped); }),
            (folder / "c.ply").string() + ": property 'y' is missing; a point cloud needs x, y and z");
}

}  // namespace
}  // namespace stipple
