// SPDX-License-Identifier: Apache-2.0
#include "stipple/train/density/gather_in_place.h"

#include <gtest/gtest.h>

#include <numeric>

#include "stipple/core/random.h"
#include "tests/helpers/limited_backend.h"

namespace stipple {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

class InPlaceTest : public testing::TestWithParam<Resizing> {
 protected:
  PlacedBytes used_bytes() const { return {backend_.used_bytes(), backend_.host_used_bytes()}; }

  LimitedBackend backend_{64 * kMiB, GetParam()};
};
INSTANTIATE_TEST_SUITE_P(, InPlaceTest, testing::Values(Resizing::kByCopy, Resizing::kInPlace),
                         [](const auto& resizing) {
                           return resizing.param == Resizing::kInPlace ? "InPlace" : "ByCopy";
                         });

std::vector<std::uint32_t> numbers(std::size_t count) {
  std::vector<std::uint32_t> values(count);
  std::iota(values.begin(), values.end(), 1u);
  return values;
}

// Random rows of so many, some of them kNoRow.
std::vector<std::uint32_t> random_rows(std::size_t count, std::size_t of) {
  Random random(7);
  std::vector<std::uint32_t> rows(count);
  for (std::uint32_t& row : rows)
    row = random.below(20) == 0 ? Backend::kNoRow
                                : static_cast<std::uint32_t>(random.below(static_cast<std::uint32_t>(of)));
  return rows;
}

std::vector<std::uint32_t> gathered(const std::vector<std::uint32_t>& values,
                                    const std::vector<std::uint32_t>& rows, std::size_t n) {
  std::vector<std::uint32_t> result;
  for (const std::uint32_t row : rows)
    for (std::size_t k = 0; k < n; ++k) result.push_back(row == Backend::kNoRow ? 0 : values[row * n + k]);
  return result;
}

TEST_P(InPlaceTest, GathersAnyRowsOfAnyLength) {
  constexpr std::size_t kBefore = 1000;
  for (const int n : {1, 3, 8, 11, 48})
    for (const std::size_t after : {std::size_t{1500}, kBefore, std::size_t{1}, std::size_t{0}}) {
      SCOPED_TRACE(testing::Message() << n << " words, " << after << " rows");
      const std::vector<std::uint32_t> values = numbers(kBefore * static_cast<std::size_t>(n)),
                                       rows = random_rows(after, kBefore);
      DeviceArray<std::uint32_t> array(backend_, values), device_rows(backend_, rows);
      gather_in_place(backend_, array, device_rows, n);
      EXPECT_EQ(array.download(backend_), gathered(values, rows, static_cast<std::size_t>(n)));
    }
}

TEST_P(InPlaceTest, TakesAsMuchMemoryAsItSays) {
  constexpr std::size_t kBefore = 4000, kRow = 48;
  for (const std::size_t after : {std::size_t{5000}, std::size_t{3000}}) {
    DeviceArray<std::uint32_t> array(backend_, numbers(kBefore * kRow)),
        rows(backend_, random_rows(after, kBefore));
    const std::size_t used = backend_.used_bytes(), bytes = sizeof(std::uint32_t);
    backend_.forget_peak();
    gather_in_place(backend_, array, rows, kRow);
    const std::size_t added =
        GetParam() == Resizing::kInPlace && after > kBefore ? (after - kBefore) * kRow : 0;
    EXPECT_EQ(backend_.peak_used_bytes(),
              used + added * bytes +
                  gathering_bytes(backend_, Place::kDevice, kBefore, after, kRow * bytes).device);
    EXPECT_EQ(backend_.used_bytes() + kBefore * kRow * bytes, used + after * kRow * bytes);
  }
}

TEST_P(InPlaceTest, AnArrayOnTheHostStaysThere) {
  constexpr std::size_t kBefore = 4000, kRow = 48, kBytes = sizeof(std::uint32_t);
  backend_.may_use_host = true;
  for (const std::size_t after : {std::size_t{5000}, std::size_t{3000}}) {
    const std::vector<std::uint32_t> values = numbers(kBefore * kRow), order = random_rows(after, kBefore);
    DeviceArray<std::uint32_t> array, rows(backend_, order);
    array.set_place(Place::kHost);
    array.upload(backend_, values);
    const PlacedBytes used = used_bytes();
    const auto expect_peak = [&](PlacedBytes extra, std::size_t row) {
      EXPECT_EQ(backend_.peak_used_bytes(), used.device + extra.device);
      EXPECT_LE(backend_.host_peak_bytes(), std::max(kBefore, after) * row * kBytes + extra.host);
    };
    backend_.forget_peak();
    gather_in_place(backend_, array, rows, kRow);
    EXPECT_EQ(array.download(backend_), gathered(values, order, kRow));
    expect_peak(gathering_bytes(backend_, Place::kHost, kBefore, after, kRow * kBytes), kRow);
    backend_.forget_peak();
    widen_in_place(backend_, array, kRow, kRow + 1);
    expect_peak(widening_bytes(backend_, Place::kHost, after, kRow * kBytes, (kRow + 1) * kBytes), kRow + 1);
    replace(backend_, numbers(10), array);
    EXPECT_EQ(array.download(backend_), numbers(10));
    EXPECT_EQ(array.place(), Place::kHost);
    EXPECT_EQ(used_bytes().device, used.device);
    EXPECT_EQ(used_bytes().host, 10 * kBytes);
  }
  EXPECT_EQ(backend_.host_used_bytes(), 0u);
}

TEST_P(InPlaceTest, WidensRowsWithZeros) {
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{5000}})
    for (const std::size_t to : {std::size_t{4}, std::size_t{9}}) {
      const std::vector<std::uint32_t> values = numbers(count * 4);
      std::vector<std::uint32_t> expected(count * to, 0);
      for (std::size_t i = 0; i < count; ++i)
        std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(4 * i), 4,
                    expected.begin() + static_cast<std::ptrdiff_t>(to * i));
      DeviceArray<std::uint32_t> array(backend_, values);
      backend_.forget_peak();
      const std::size_t used = backend_.used_bytes();
      widen_in_place(backend_, array, 4, to);
      EXPECT_EQ(array.download(backend_), expected);
      EXPECT_LE(backend_.peak_used_bytes(),
                used + count * (to - 4) * sizeof(std::uint32_t) +
                    widening_bytes(backend_, Place::kDevice, count, 4 * sizeof(std::uint32_t),
                                   to * sizeof(std::uint32_t))
                        .device);
    }
}

// More rows than are moved at once.
TEST(InPlace, WidensManyRows) {
  LimitedBackend backend(64 * kMiB, Resizing::kInPlace);
  constexpr std::size_t kCount = 300'001;
  const std::vector<std::uint32_t> values = numbers(kCount);
  DeviceArray<std::uint32_t> array(backend, values);
  widen_in_place(backend, array, 1, 3);
  const std::vector<std::uint32_t> wide = array.download(backend);
  ASSERT_EQ(wide.size(), 3 * kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(wide[3 * i], values[i]);
    ASSERT_EQ(wide[3 * i + 1] + wide[3 * i + 2], 0u);
  }
}

TEST_P(InPlaceTest, AReplacedArrayGivesBackWhatItDoesNotNeed) {
  DeviceArray<std::uint32_t> array(backend_, numbers(5000));
  const std::size_t used = backend_.used_bytes();
  replace(backend_, numbers(100), array);
  EXPECT_EQ(array.download(backend_), numbers(100));
  EXPECT_EQ(backend_.used_bytes(), used - 4900 * sizeof(std::uint32_t));
  replace(backend_, numbers(6000), array);
  EXPECT_EQ(array.download(backend_), numbers(6000));
}

}  // namespace
}  // namespace stipple
