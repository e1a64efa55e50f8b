// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "stipple/scene/formats/tools.h"
#include "tests/helpers/test_scene.h"

namespace stipple {
namespace {

constexpr const char* kHeader = "#name,x,y,alt,heading,pitch,roll,f,px,py,k1,k2,k3,k4,t1,t2\n";

SceneSource read(const std::string& text) {
  TestFolder folder;
  return read_realitycapture(folder.write("cameras.csv", text));
}

std::string problems(const SceneSource& source) {
  std::string text;
  for (const SceneProblem& p : source.problems) text += p.what + "\n";
  return text;
}

// The camera's viewing direction and its up direction, in the world.
std::string directions(double heading, double pitch, double roll) {
  const SceneSource source = read(fmt::format("{}a.jpg,1,2,3,{},{},{},36\n",
                                              "#name,x,y,alt,heading,pitch,roll,f\n", heading, pitch, roll));
  const Mat3f& r = source.images.at(0).camera_from_world.rotation;
  const auto text = [](float x, float y, float z) {
    return fmt::format("({:.0f} {:.0f} {:.0f})", std::abs(x) < 0.5f ? 0.0f : x, std::abs(y) < 0.5f ? 0.0f : y,
                       std::abs(z) < 0.5f ? 0.0f : z);
  };
  return text(r[0].z, r[1].z, r[2].z) + " up " + text(-r[0].y, -r[1].y, -r[2].y);
}

TEST(RealityCapture, TurnsByHeadingPitchAndRoll) {
  EXPECT_EQ(directions(0, 0, 0), "(0 0 -1) up (0 1 0)");   // straight down, north is up
  EXPECT_EQ(directions(90, 0, 0), "(0 0 -1) up (1 0 0)");  // east is up
  EXPECT_EQ(directions(0, 90, 0), "(0 1 0) up (0 0 1)");   // level, to the north
  EXPECT_EQ(directions(90, 90, 0), "(1 0 0) up (0 0 1)");  // level, to the east
  EXPECT_EQ(directions(0, 0, 90), "(-1 0 0) up (0 1 0)");  // from straight down, turned about its up
  EXPECT_EQ(directions(180, 90, 0), "(0 -1 0) up (0 0 1)");
}

// A row as the program writes it, for a photo of 3840 x 2880.
TEST(RealityCapture, ReadsARow) {
  const SceneSource source =
      read(std::string(kHeader) +
           "frame_00001.jpeg,44.58,138.82,6.82,170.3,85.2,-22.7,14.2390682243052,-9.482184385774318e-004,"
           "-2.446553068050568e-004,3.114799768048152e-003,4.026391718074555e-003,-1.795976992379612e-003,0,"
           "1e-4,2e-4\n");
  ASSERT_EQ(source.images.size(), 1u);
  EXPECT_EQ(source.images[0].name, "frame_00001.jpeg");
  const Lens lens = resolve_lens(source.images[0].lens, 3840, 2880);
  EXPECT_NEAR(lens.focal_px.x, 14.2390682243052 * 3840 / 36, 1e-9);
  EXPECT_EQ(lens.focal_px.x, lens.focal_px.y);
  EXPECT_NEAR(lens.center_px.x, 1920 - 9.482184385774318e-4 * 3840, 1e-9);
  EXPECT_NEAR(lens.center_px.y, 1440 - 2.446553068050568e-4 * 3840, 1e-9);
  EXPECT_EQ(lens.radial,
            (std::array<double, 6>{3.114799768048152e-3, 4.026391718074555e-3, -1.795976992379612e-3}));
  EXPECT_EQ(lens.tangential, (std::array<double, 2>{1e-4, 2e-4}));
  // The longer side of an upright photo is its height.
  EXPECT_NEAR(resolve_lens(source.images[0].lens, 2880, 3840).focal_px.x, lens.focal_px.x, 1e-9);
  const RigidTransform& pose = source.images[0].camera_from_world;
  const Vec3f at = pose.rotation * Vec3f(44.58f, 138.82f, 6.82f) + pose.translation;
  EXPECT_NEAR(dot(at, at), 0, 1e-6);
}

TEST(RealityCapture, ReadsTheWaysInWhichListsAreWritten) {
  const std::string row = "1,2,3,0,90,0,18";
  const std::string name = "name,x,y,alt,heading,pitch,roll,f";
  std::string semicolons = "#" + name + "\na.jpg,1.5,2,3,0,90,0,18\n";
  for (char& c : semicolons) c = c == ',' ? ';' : c == '.' ? '.' : c;
  semicolons.replace(semicolons.find("1.5"), 3, "1,5");
  EXPECT_EQ(read(semicolons).images.at(0).camera_from_world.translation.x, -1.5f);
  EXPECT_EQ(read("\xef\xbb\xbf#" + name + "\r\na.jpg," + row + "\r\n\r\n").images.at(0).name, "a.jpg");
  EXPECT_EQ(read("#cameras 1\n#" + name + "\na.jpg," + row).images.at(0).name, "a.jpg");
  EXPECT_EQ(read("#" + name + "\n\"a, \"\"b\"\".jpg\"," + row + "\n").images.at(0).name, "a, \"b\".jpg");
  EXPECT_EQ(read("F,Roll,Pitch,Heading,Alt,Y,X, Name\n18,0,90,0,3,2,1,a.jpg\n").images.at(0).name, "a.jpg");
}

TEST(RealityCapture, LeavesOutAndCountsWhatItCannotUse) {
  const SceneSource source = read(std::string(kHeader) +
                                  "a.jpg,1,2,3,0,0,0,36,0,0,0,0,0,0,0,0\n"
                                  "a.jpg,1,2,3,0,0,0,36,0,0,0,0,0,0,0,0\n"
                                  "b.jpg,1,2\n"
                                  "c.jpg,1,2,3,0,,0,36\n"
                                  "d.jpg,1e300,2,3,0,0,0,36,0,0,0,0,0,0,0,0\n"
                                  "e.jpg,nan,2,3,0,0,0,36,0,0,0,0,0,0,0,0\n"
                                  "f.jpg,1,2,3,0,x,0,36,0,0,0,0,0,0,0,0\n"
                                  "g.jpg,1,2,3,0,0,0,inf,0,0,0,0,0,0,0,0\n"
                                  "h.jpg,1,2,3,0,0,0,36,0,0,0,0,0,0.001,0,0\n"
                                  "i.jpg,1,2,3,0,0,0,36,0,0,0,0,0,0.3,0,0\n");
  ASSERT_EQ(source.images.size(), 2u);
  EXPECT_EQ(source.images[1].name, "h.jpg");  // 0.001 * 0.6^9 is 1/100,000 of the longer side
  EXPECT_EQ(
      problems(source),
      "2 records that cannot be read, such as cameras.csv line 4\n"
      "3 images with an invalid pose, such as d.jpg\n"
      "1 image with a duplicate name: a.jpg\n"
      "1 image with an unusable camera: its f is not a number\n"
      "1 image with an unusable camera: the terms k4 of its lens are not supported; fit the cameras without "
      "them, or export undistorted photos\n"
      "1 image whose lens has small terms that are left out: h.jpg (k4)\n");
}

TEST(RealityCapture, ExplainsWhatIsMissing) {
  for (const char* text : {"", "a,b,c\n1,2,3\n", "#name,x,y,alt\n"})
    EXPECT_NE(error_of([&] { read(text); }).find("there are no columns name, x, y, alt"), std::string::npos)
        << text;
  EXPECT_NE(
      error_of([] { read(std::string(kHeader) + std::string(100'000, 'a')); }).find("line 2 is longer than"),
      std::string::npos);
}

}  // namespace
}  // namespace stipple
