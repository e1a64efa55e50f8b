// SPDX-License-Identifier: Apache-2.0
#include "stipple/edit/select.h"

#include <gtest/gtest.h>

#include "stipple/edit/sh_degree.h"

namespace stipple {
namespace {

// Every number is different.
Gaussians numbered(std::size_t count, int sh_degree) {
  Gaussians g = make_gaussians(count, sh_degree);
  float next = 1;
  for_each_parameter(
      [&](int, auto& array) {
        auto* values = reinterpret_cast<float*>(array.data());
        const std::size_t floats = array.size() * sizeof(array[0]) / sizeof(float);
        for (std::size_t i = 0; i < floats; ++i) values[i] = next++;
      },
      g);
  return g;
}

bool same_row(const Gaussians& a, std::size_t i, const Gaussians& b, std::size_t k) {
  bool same = true;
  for_each_parameter(
      [&](int per_gaussian, const auto& x, const auto& y) {
        const auto n = static_cast<std::size_t>(per_gaussian);
        same = same && std::equal(x.begin() + static_cast<std::ptrdiff_t>(i * n),
                                  x.begin() + static_cast<std::ptrdiff_t>((i + 1) * n),
                                  y.begin() + static_cast<std::ptrdiff_t>(k * n));
      },
      a, b);
  return same;
}

TEST(Select, TakesRowsInTheGivenOrder) {
  const Gaussians g = numbered(5, 2);
  const std::vector<std::uint32_t> rows = {4, 0, 3};
  const Gaussians selected = select(g, rows);
  ASSERT_EQ(selected.size(), 3u);
  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_TRUE(same_row(selected, i, g, rows[i])) << i;
  Gaussians kept = g;
  keep_rows(rows, kept);
  ASSERT_EQ(kept.size(), 3u);
  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_TRUE(same_row(kept, i, g, rows[i])) << i;
}

TEST(Select, AnArrayThatIsNotInUseStaysEmpty) {
  std::vector<float> unused;
  const std::vector<std::uint32_t> rows = {1, 2};
  keep_rows(rows, 3, unused);
  EXPECT_TRUE(unused.empty());
}

TEST(ShDegree, LoweringDropsTheHighestCoefficients) {
  const Gaussians g = numbered(4, 3);
  for (int degree = 0; degree <= 3; ++degree) {
    Gaussians lower = g;
    set_sh_degree(lower, degree);
    ASSERT_EQ(lower.sh_degree, degree);
    const auto n = static_cast<std::size_t>(lower.sh_count());
    ASSERT_EQ(lower.sh.size(), 4 * n);
    for (std::size_t i = 0; i < 4 * n; ++i)
      EXPECT_EQ(lower.sh[i].x, g.sh[i / n * 16 + i % n].x) << degree << " " << i;
  }
}

TEST(ShDegree, RaisingAddsZerosAndLoweringAgainGivesTheSame) {
  const Gaussians g = numbered(4, 1);
  Gaussians raised = g;
  set_sh_degree(raised, 3);
  ASSERT_EQ(raised.sh.size(), 4u * 16);
  for (std::size_t i = 0; i < raised.sh.size(); ++i)
    EXPECT_EQ(raised.sh[i].y, i % 16 < 4 ? g.sh[i / 16 * 4 + i % 16].y : 0.0f) << i;
  set_sh_degree(raised, 1);
  for (std::size_t i = 0; i < g.size(); ++i) EXPECT_TRUE(same_row(raised, i, g, i)) << i;
}

}  // namespace
}  // namespace stipple
