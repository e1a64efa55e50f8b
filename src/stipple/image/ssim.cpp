// SPDX-License-Identifier: Apache-2.0
#include "stipple/image/ssim.h"

#include <algorithm>
#include <array>
#include <limits>

#include "stipple/core/parallel.h"
#include "stipple/math/math.h"

namespace stipple {

namespace {

using M = Math<double>;

constexpr int kRadius = M::ssim_window_radius_px;
constexpr int kTaps = 2 * kRadius + 1;

enum { kX, kY, kXX, kYY, kXY, kQuantities };
using Row = std::array<std::vector<double>, kQuantities>;  // channels interleaved

struct Sum {
  double value = 0, count = 0;
};

std::array<double, kTaps> window() {
  std::array<double, kTaps> weights;
  for (int tap = 0; tap < kTaps; ++tap) weights[tap] = M::ssim_window_weight(tap - kRadius);
  return weights;
}

Image clamped_with_margin(const Image& image, int margin_px) {
  Image out(image.width_px + 2 * margin_px, image.height_px + 2 * margin_px, image.channel_count);
  const std::size_t row_size = static_cast<std::size_t>(image.width_px) * image.channel_count;
  for (int y = 0; y < image.height_px; ++y)
    std::transform(&image.at(0, y, 0), &image.at(0, y, 0) + row_size, &out.at(margin_px, y + margin_px, 0),
                   [](float v) { return std::clamp(v, 0.0f, 1.0f); });
  return out;
}

// SSIM of all windows with the same top row. Means are computed in two passes: down the columns, then across.
class WindowRow {
 public:
  WindowRow(const Image& a, const Image& b)
      : a_(a), b_(b), channel_count_(static_cast<std::size_t>(a.channel_count)) {
    for (auto& values : columns_) values.resize(static_cast<std::size_t>(a.width_px) * channel_count_);
    for (auto& values : means_) values.resize(columns_[kX].size() - (kTaps - 1) * channel_count_);
  }

  // Calls f(x, ssim) for each window and channel; x is the window's left edge.
  template <class F>
  void for_each_window(int y, const F& f) {
    filter_down(y);
    for (int q = 0; q < kQuantities; ++q) filter_across(columns_[q], means_[q]);
    for (std::size_t i = 0; i < means_[kX].size(); ++i)
      f(i / channel_count_,
        M::ssim({means_[kX][i], means_[kY][i], means_[kXX][i], means_[kYY][i], means_[kXY][i]}));
  }

 private:
  void filter_down(int y) {
    for (auto& values : columns_) std::fill(values.begin(), values.end(), 0.0);
    for (int tap = 0; tap < kTaps; ++tap) {
      const float* from_a = &a_.at(0, y + tap, 0);
      const float* from_b = &b_.at(0, y + tap, 0);
      const double w = window_[tap];
      for (std::size_t i = 0; i < columns_[kX].size(); ++i) {
        const double a = from_a[i], b = from_b[i];
        columns_[kX][i] += w * a;
        columns_[kY][i] += w * b;
        columns_[kXX][i] += w * a * a;
        columns_[kYY][i] += w * b * b;
        columns_[kXY][i] += w * a * b;
      }
    }
  }

  void filter_across(const std::vector<double>& from, std::vector<double>& to) const {
    std::fill(to.begin(), to.end(), 0.0);
    for (int tap = 0; tap < kTaps; ++tap)
      for (std::size_t i = 0; i < to.size(); ++i) to[i] += window_[tap] * from[i + tap * channel_count_];
  }

  const Image &a_, &b_;
  const std::size_t channel_count_;
  const std::array<double, kTaps> window_ = window();
  Row columns_, means_;
};

}  // namespace

double ssim(const Image& a, const Image& b, std::span<const std::uint8_t> weight) {
  assert(a.width_px == b.width_px && a.height_px == b.height_px && a.channel_count == b.channel_count);
  assert(weight.empty() || weight.size() == a.pixel_count());
  const int margin = std::min(a.width_px, a.height_px) < kTaps ? kRadius : 0;
  const Image x = clamped_with_margin(a, margin), y = clamped_with_margin(b, margin);

  // Each row has its own sum, and these are added in order, so that threads do not affect the result.
  std::vector<Sum> rows(static_cast<std::size_t>(x.height_px - (kTaps - 1)));
  const std::size_t to_center = static_cast<std::size_t>(kRadius - margin);
  parallel_ranges(rows.size(), 8, [&](std::size_t begin, std::size_t end) {
    WindowRow windows(x, y);
    for (std::size_t row = begin; row < end; ++row)
      windows.for_each_window(static_cast<int>(row), [&](std::size_t column, double similarity) {
        const std::size_t center = (row + to_center) * a.width_px + column + to_center;
        const double w = weight.empty() ? 1.0 : weight[center];
        rows[row].value += w * similarity;
        rows[row].count += w;
      });
  });
  Sum sum;
  for (const Sum& row : rows) sum = {sum.value + row.value, sum.count + row.count};
  return sum.count > 0 ? sum.value / sum.count : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace stipple
