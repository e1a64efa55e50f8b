// SPDX-License-Identifier: Apache-2.0
#include "stipple/edit/similarity_transform.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "stipple/edit/frame.h"
#include "tests/helpers/test_folder.h"

namespace stipple {
namespace {

std::string error_of_rows(std::vector<double> rows) {
  return error_of([&] { similarity_from_rows(rows, "matrix.txt"); });
}

TEST(SimilarityTransform, ExactMatricesStayExact) {
  const std::array<double, 16> rows = {0, -2, 0, 5, 2, 0, 0, 6, 0, 0, -2, 7, 0, 0, 0, 1};
  const SimilarityTransform t = similarity_from_rows(rows, "");
  EXPECT_EQ(t.scale, 2);
  EXPECT_EQ(t.rotation, Mat3<double>(0, 1, 0, -1, 0, 0, 0, 0, -1));
  EXPECT_EQ(t.translation, Vec3<double>(5, 6, 7));
  EXPECT_LT(determinant(t.rotation), 0);  // a reflection
}

TEST(SimilarityTransform, FewDigitsAreEnough) {
  const std::vector<double> rows = {0.86603, -0.5, 0, 1, 0.5, 0.86603, 0, 2, 0, 0, 1, 3};
  const SimilarityTransform t = similarity_from_rows(rows, "");
  EXPECT_NEAR(t.scale, 1, 1e-5);
  EXPECT_NEAR(t.rotation[0].x, std::sqrt(0.75), 1e-5);
  const Mat3<double> square = transpose(t.rotation) * t.rotation;
  for (int i = 0; i < 9; ++i) EXPECT_NEAR(square[i / 3][i % 3], i % 4 == 0 ? 1 : 0, 1e-15);
}

TEST(SimilarityTransform, OtherMatricesAreRefused) {
  EXPECT_EQ(error_of_rows({1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}), "");
  const std::vector<double> stretched = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 2, 0},
                            sheared = {1, 0.1, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0},
                            flat = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0};
  for (const auto& rows : {stretched, sheared, flat})
    EXPECT_NE(error_of_rows(rows).find("matrix.txt: the matrix flattens or shears"), std::string::npos);
  EXPECT_NE(error_of_rows({1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 1, 1}).find("last row"),
            std::string::npos);
  EXPECT_NE(error_of_rows({1, 2, 3}).find("but this one has 3"), std::string::npos);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(error_of_rows({nan, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}).find("not finite"), std::string::npos);
}

TEST(SimilarityTransform, AnglesAreAboutXThenYThenZ) {
  const SimilarityTransform t = rotation_about_axes({90, 0, 90});
  EXPECT_EQ(t * Vec3<double>(0, 1, 0), Vec3<double>(0, 0, 1));  // y to z, which stays
  EXPECT_EQ(t * Vec3<double>(1, 0, 0), Vec3<double>(0, 1, 0));
  EXPECT_EQ(rotation_about_axes({360, -720, 0}), SimilarityTransform());
  EXPECT_NEAR((rotation_about_axes({0, 30, 0}) * Vec3<double>(0, 0, 1)).x, 0.5, 1e-15);
}

TEST(SimilarityTransform, FramesAreNamedByTheirAxes) {
  EXPECT_EQ(change_of_frame("rdf", "rdf"), SimilarityTransform());
  EXPECT_EQ(change_of_frame("rdf", "RUB") * Vec3<double>(1, 2, 3), Vec3<double>(1, -2, -3));
  EXPECT_EQ(change_of_frame("rdf", "luf") * Vec3<double>(1, 2, 3), Vec3<double>(-1, -2, 3));
  EXPECT_EQ(change_of_frame("rub", "rbd") * Vec3<double>(1, 2, 3), Vec3<double>(1, 3, -2));
  for (const char* wrong : {"", "rd", "rdfx", "rlf", "rrd", "xyz", "ruu"})
    EXPECT_NE(error_of([&] { change_of_frame("rdf", wrong); }).find("is not a frame"), std::string::npos)
        << wrong;
}

}  // namespace
}  // namespace stipple
