// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "stipple/scene/formats/tools.h"
#include "tests/helpers/test_scene.h"

namespace stipple {
namespace {

// As Metashape writes it, with the parts that are not read, too. The sensor is 32 x 24 pixels.
std::string document(const std::string& sensor, const std::string& cameras,
                     const std::string& component = "") {
  return R"(<?xml version="1.0" encoding="UTF-8"?>
<document version="2.0.0">
  <chunk label="Chunk 1" enabled="true">
    <sensors next_id="1">
      <sensor id="0" label="FC6310, 8.8mm" type="frame">
        <resolution width="32" height="24"/>
        <property name="pixel_width" value="0.0023"/>
        <bands><band label="Red"/><band label="Green"/><band label="Blue"/></bands>
        <data_type>uint8</data_type>
        )" +
         sensor +
         R"(
      </sensor>
    </sensors>
    <components next_id="1" active_id="0">
      <component id="0" label="Component 1">)" +
         component + R"(<region><center>0 0 0</center></region></component>
    </components>
    <cameras next_id="9" next_group_id="1">)" +
         cameras + R"(</cameras>
  </chunk>
</document>
)";
}

constexpr const char* kCalibration =
    R"(<calibration type="frame" class="adjusted"><resolution width="32" height="24"/><f>30</f></calibration>)";

std::string camera(const std::string& label, const std::string& transform, const std::string& more = "") {
  return "<camera id=\"0\" sensor_id=\"0\" component_id=\"0\" label=\"" + label + "\"" + more +
         "><transform>" + transform + "</transform><orientation>1</orientation></camera>";
}

constexpr const char* kIdentity = "1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1";

SceneSource read(const std::string& text) {
  TestFolder folder;
  return read_metashape(folder.write("cameras.xml", text));
}

std::string problems(const SceneSource& source) {
  std::string text;
  for (const SceneProblem& p : source.problems) text += p.what + "\n";
  return text;
}

Lens lens_of(const std::string& calibration) {
  return resolve_lens(read(document(calibration, camera("a", kIdentity))).images.at(0).lens, 1, 1);
}

// A turn by 90 degrees about y takes the camera's z axis to the world's x axis, and its x axis to -z.
TEST(Metashape, ReadsAPose) {
  const SceneSource source =
      read(document(kCalibration, camera("IMG_1", "0 0 1 5 0 1 0 6 -1 0 0 7 0 0 0 1")));
  ASSERT_EQ(source.images.size(), 1u);
  EXPECT_EQ(source.images[0].name, "IMG_1");
  const RigidTransform pose = source.images[0].camera_from_world;
  EXPECT_EQ(pose.rotation * Vec3f(9, 6, 7) + pose.translation, Vec3f(0, 0, 4));  // 4 ahead of (5, 6, 7)
  EXPECT_EQ(pose.rotation * Vec3f(5, 6, 4) + pose.translation, Vec3f(3, 0, 0));  // 3 to the right
  EXPECT_EQ(problems(source), "");
}

// p_world = 2 Rz(90) p + (10, 20, 30): the camera at (1, 0, 0) is at (10, 22, 30), and looks along z.
TEST(Metashape, AppliesTheTransformOfTheComponent) {
  const SceneSource source =
      read(document(kCalibration, camera("a", "1 0 0 1 0 1 0 0 0 0 1 0 0 0 0 1"),
                    "<transform><rotation locked=\"true\">0 -1 0 1 0 0 0 0 1</rotation>"
                    "<translation>10 20 30</translation><scale>2</scale></transform>"));
  const RigidTransform pose = source.images.at(0).camera_from_world;
  EXPECT_EQ(pose.rotation * Vec3f(10, 22, 34) + pose.translation, Vec3f(0, 0, 4));
  EXPECT_EQ(pose.rotation * Vec3f(10, 25, 30) + pose.translation,
            Vec3f(3, 0, 0));  // its x axis is the world's y
}

TEST(Metashape, AppliesTheTransformOfAnOldChunk) {
  const SceneSource source =
      read("<document version=\"1.2.0\"><chunk><sensors><sensor id=\"0\" type=\"frame\">" +
           std::string(kCalibration) +
           "</sensor></sensors><cameras><camera sensor_id=\"0\" label=\"a\"><transform>" + kIdentity +
           "</transform></camera></cameras><transform><translation>1 2 "
           "3</translation></transform></chunk></document>");
  EXPECT_EQ(source.images.at(0).camera_from_world.translation, Vec3f(-1, -2, -3));
}

// Metashape's formulas, worked out for one direction, against the pixel that the lens gives.
TEST(Metashape, HasItsOwnTangentialTermsAndFocalLengths) {
  const Lens lens = lens_of(
      "<calibration type=\"frame\" class=\"initial\"><resolution width=\"32\" "
      "height=\"24\"/><f>99</f></calibration>"
      "<calibration type=\"frame\" class=\"adjusted\"><resolution width=\"32\" "
      "height=\"24\"/><f>30</f><cx>0.5</cx>"
      "<cy>-0.25</cy><b1>0.75</b1><k1>-0.1</k1><k2>0.02</k2><k3>0.003</k3><p1>0.004</p1><p2>-0.005</p2>"
      "</calibration>");
  const double x = 0.2, y = -0.3, r2 = x * x + y * y;
  const double radial = 1 - 0.1 * r2 + 0.02 * r2 * r2 + 0.003 * r2 * r2 * r2;
  const double dx = x * radial + 0.004 * (r2 + 2 * x * x) + 2 * -0.005 * x * y;
  const double dy = y * radial + -0.005 * (r2 + 2 * y * y) + 2 * 0.004 * x * y;
  const auto pixel = project(lens, {x, y, 1});
  ASSERT_TRUE(pixel);
  EXPECT_NEAR(pixel->x, 16 + 0.5 + dx * 30 + dx * 0.75, 1e-9);
  EXPECT_NEAR(pixel->y, 12 - 0.25 + dy * 30, 1e-9);
}

TEST(Metashape, ReadsFisheyes) {
  const Lens lens = lens_of(
      "<calibration type=\"fisheye\" class=\"adjusted\"><resolution width=\"32\" height=\"24\"/><f>10</f>"
      "<k1>0.1</k1><k4>0.01</k4></calibration>");
  const double theta = 0.5, distorted = theta * (1 + 0.1 * 0.25 + 0.01 * std::pow(0.25, 4));
  const auto pixel = project(lens, {std::sin(theta), 0, std::cos(theta)});
  ASSERT_TRUE(pixel);
  EXPECT_NEAR(pixel->x, 16 + 10 * distorted, 1e-9);
}

// A skew of 0.01 pixels moves no pixel visibly; one of 1 pixel, of a photo 32 pixels wide, does.
TEST(Metashape, LeavesOutOnlySmallTerms) {
  const auto with_skew = [](const char* b2) {
    return problems(read(document("<calibration><resolution width=\"32\" height=\"24\"/><f>30</f><b2>" +
                                      std::string(b2) + "</b2></calibration>",
                                  camera("a", kIdentity))));
  };
  EXPECT_EQ(with_skew("0.01"), "1 image whose lens has small terms that are left out: a (b2)\n");
  EXPECT_EQ(with_skew("1"),
            "1 image with an unusable camera: sensor 0: the terms b2 of its lens are not supported; fit the "
            "cameras "
            "without them, or export undistorted photos\n");
}

TEST(Metashape, LeavesOutAndCountsWhatItCannotUse) {
  const std::string nan = "nan 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1", mirror = "-1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1";
  const SceneSource source = read(document(
      kCalibration, camera("good", kIdentity) + camera("good", kIdentity) + camera("nan", nan) +
                        camera("short", "1 2 3") + camera("mirror", mirror) + camera("", kIdentity) +
                        camera("off", kIdentity, " enabled=\"false\"") +
                        "<camera id=\"7\" sensor_id=\"0\" label=\"unaligned\"/>" +
                        "<camera id=\"8\" sensor_id=\"5\" component_id=\"0\" label=\"blind\"><transform>" +
                        kIdentity + "</transform></camera><group id=\"0\" label=\"Group 1\">" +
                        camera("grouped", kIdentity) + "</group>"));
  ASSERT_EQ(source.images.size(), 2u);
  EXPECT_EQ(source.images[1].name, "grouped");
  EXPECT_EQ(problems(source),
            "1 record that cannot be read: camera 0\n"
            "1 image without a pose: unaligned\n"
            "1 image that is switched off in its program: off\n"
            "3 images with an invalid pose, such as nan\n"
            "1 image with a duplicate name: good\n"
            "1 image with an unusable camera: sensor 5 is not in the file\n");
}

TEST(Metashape, RejectsOtherSensors) {
  for (const char* calibration :
       {"<calibration type=\"spherical\"><resolution width=\"32\" height=\"24\"/></calibration>",
        "<calibration><resolution width=\"32\" height=\"24\"/><f>-5</f></calibration>",
        "<calibration><resolution width=\"nan\" height=\"24\"/><f>5</f></calibration>", ""}) {
    const SceneSource source = read(document(calibration, camera("a", kIdentity)));
    EXPECT_EQ(source.images.size(), 0u);
    EXPECT_TRUE(problems(source).starts_with("1 image with an unusable camera: sensor 0: "))
        << problems(source);
  }
}

TEST(Metashape, UsesTheLargestComponentAndChunk) {
  const auto in = [](const char* component, const char* label) {
    return fmt::format(
        "<camera sensor_id=\"0\" component_id=\"{}\" label=\"{}\"><transform>{}</transform></camera>",
        component, label, kIdentity);
  };
  std::string text = document(kCalibration, in("0", "a") + in("1", "b") + in("1", "c"));
  text.insert(text.find("<chunk"), "<chunk label=\"small\"><cameras>" + in("0", "x") + "</cameras></chunk>");
  const SceneSource source = read(text);
  ASSERT_EQ(source.images.size(), 2u);
  EXPECT_EQ(source.images[0].name, "b");
  EXPECT_EQ(problems(source), "2 chunks\n2 components, which were aligned separately\n");
}

TEST(Metashape, SurvivesHostileXml) {
  EXPECT_NE(error_of([] { read("<a><b></a>"); }).find("is not valid XML"), std::string::npos);
  EXPECT_NE(error_of([] { read("<document/>"); }).find("there are no cameras of Metashape"),
            std::string::npos);
  std::string deep;
  for (int i = 0; i < 1'000'000; ++i) deep += "<a>";
  EXPECT_NE(error_of([&] { read(deep); }), "");
  std::string closed = "<document>" + deep;
  for (int i = 0; i < 1'000'000; ++i) closed += "</a>";
  EXPECT_NE(error_of([&] { read(closed + "</document>"); }), "");
  const std::string bomb =
      "<?xml version=\"1.0\"?><!DOCTYPE d [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;\">]>";
  const SceneSource source = read(bomb + document(kCalibration, camera("&b;", kIdentity)).substr(39));
  EXPECT_EQ(source.images.at(0).name, "&b;");  // not expanded
}

}  // namespace
}  // namespace stipple
