// SPDX-License-Identifier: Apache-2.0
#include "stipple/model/sog/codebook.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "stipple/core/random.h"

namespace stipple {
namespace {

double squared_error(const Codebook& codebook, const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) {
    const double d = codebook[nearest_entry(codebook, value)] - value;
    sum += d * d;
  }
  return sum / static_cast<double>(values.size());
}

TEST(Codebook, FewDistinctValuesAreKeptExactly) {
  std::vector<float> values;
  for (int i = 0; i < 256; ++i)
    for (int copy = 0; copy <= i % 5; ++copy) values.push_back(static_cast<float>(i * i) * 0.37f - 100);
  const Codebook codebook = make_codebook(values);
  for (const float value : values) EXPECT_EQ(codebook[nearest_entry(codebook, value)], value);
}

TEST(Codebook, EntriesOfEvenValuesAreEvenlySpaced) {
  std::vector<float> values(100'000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) / 100'000;
  // 256 equal steps have an error of step^2 / 12, and nothing is better.
  EXPECT_NEAR(squared_error(make_codebook(values), values), 1.0 / (256 * 256) / 12, 2e-8);
}

TEST(Codebook, IsBetterThanEqualStepsIfValuesAreNot) {
  Random random(3);
  std::vector<float> values(50'000);
  for (float& value : values) value = random.normal();
  values[7] = 40;  // a far value must not cost the others their precision
  const Codebook codebook = make_codebook(values);
  Codebook even;
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  for (std::size_t i = 0; i < even.size(); ++i)
    even[i] = *low + (*high - *low) * (static_cast<float>(i) + 0.5f) / 256;
  const double error = squared_error(codebook, values);
  EXPECT_LT(error, squared_error(even, values) / 20);
  // Panter and Dite, 1951: with n levels, the error of a normal distribution is sqrt(3) pi / (2 n^2) at best.
  EXPECT_LT(error, 1.1 * 2.72 / (256 * 256));
}

TEST(Codebook, NearestEntryIsTheNearest) {
  Random random(4);
  std::vector<float> values(3000);
  for (float& value : values) value = random.normal();
  const Codebook codebook = make_codebook(values);
  ASSERT_TRUE(std::is_sorted(codebook.begin(), codebook.end()));
  for (const float value : values) {
    float least = 1e9f;
    for (const float entry : codebook) least = std::min(least, std::abs(entry - value));
    EXPECT_EQ(std::abs(codebook[nearest_entry(codebook, value)] - value), least);
  }
}

TEST(Codebook, WeightsMoveEntriesToHeavyValues) {
  std::vector<float> values(10'000), weights(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i);
    weights[i] = i < 5000 ? 1.0f : 1e-6f;
  }
  const Codebook codebook = make_codebook(values, weights);
  EXPECT_GT(std::count_if(codebook.begin(), codebook.end(), [](float x) { return x < 5000; }), 240);
}

TEST(Codebook, OneValueAmongManyCopiesOfAnotherIsKeptApart) {
  std::vector<float> values(100'000, 1.0f);
  for (std::size_t i = 0; i < 300; ++i) values[i] = 1 + 1e-6f * static_cast<float>(i);
  values.back() = 9;
  const Codebook codebook = make_codebook(values);
  EXPECT_EQ(codebook[nearest_entry(codebook, 9)], 9);
  EXPECT_NEAR(codebook[nearest_entry(codebook, 1)], 1, 1e-3);
}

}  // namespace
}  // namespace stipple
