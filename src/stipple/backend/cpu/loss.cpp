// SPDX-License-Identifier: Apache-2.0
// loss: L1 + SSIM of the frame against an 8-bit target, and its gradient, in one sweep down the image.
//
// A task is a band of rows of one channel. Rows enter at the bottom and are filtered horizontally into a ring
// of 11 rows. Filtered vertically, the ring gives the window means 5 rows further up, and hence SSIM and
// its derivatives there (math/similarity.glsl). The derivatives are filtered horizontally into a second
// ring, which, filtered vertically, gives the gradient 10 rows further up. The window is symmetric, so
// the same filter serves forward and backward. Everything outside the image is zero.
//
// A pixel's weight w replaces the frame's value x by y + w (x - y), where y is the target: at weight 0 the
// pixel counts as already correct. A target with alpha is first completed with the view's background.
#include <array>
#include <cmath>
#include <memory>

#include "stipple/backend/cpu/cpu_backend.h"
#include "stipple/core/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "stipple/backend/cpu/loss.cpp"
#include <hwy/foreach_target.h>
// after foreach_target.h
#include "stipple/backend/cpu/shared/lanes-inl.h"

#ifndef STIPPLE_LOSS_ONCE
#define STIPPLE_LOSS_ONCE
namespace stipple::cpu {

constexpr int kRadius = Math<float>::ssim_window_radius_px;
constexpr int kTaps = 2 * kRadius + 1;
// Approximate. The bands depend on the image alone, so that the sums do not depend on the threads.
constexpr int kBandRows = 64;
// Zeros on both sides of a row: enough for the window's radius, and for a whole vector past the end.
constexpr int kMargin = 16;

enum { kX, kY, kSquares, kXY, kInputs };        // filtered in the first ring
enum { kGradX, kGradXX, kGradXY, kGradients };  // filtered in the second ring

struct LossPlane {  // one channel
  const float* color;
  const std::uint8_t* target;  // interleaved: every third value belongs to this channel
  const float* weight;         // null if every pixel counts 1
  const std::uint8_t* alpha;   // of the target; null if it is opaque
  float background;            // behind the target
  int width, height;
  float l1_scale, ssim_scale;  // of each term: its weight / number of values
  float* dL_dcolor;
};

struct LossSums {
  double l1 = 0, squares = 0, ssim = 0;
};

// The rows that a band keeps, each with zeros on both sides.
class LossRows {
 public:
  explicit LossRows(int width)
      : stride_((static_cast<std::size_t>(width) + 2 * kMargin + 15) / 16 * 16 + 16),
        values_(stride_ * (kTaps * (2 + kInputs + kGradients) + kInputs + kGradients) + 16, 0.0f) {
    // Rows start on cache lines, so that their vectors do not straddle two.
    void* start = values_.data();
    std::size_t space = values_.size() * sizeof(float);
    first_ = static_cast<float*>(std::align(64, space - 64, start, space));
  }

  float* x(int row) { return at(slot(row)); }
  float* y(int row) { return at(kTaps + slot(row)); }
  float* filtered(int quantity, int row) { return at((2 + quantity) * kTaps + slot(row)); }
  float* gradient(int quantity, int row) { return at((2 + kInputs + quantity) * kTaps + slot(row)); }
  float* scratch(int quantity) { return at((2 + kInputs + kGradients) * kTaps + quantity); }

 private:
  static int slot(int row) { return (row + 4 * kTaps) % kTaps; }  // row >= -10
  float* at(int index) { return first_ + index * stride_ + kMargin; }

  std::size_t stride_;
  std::vector<float> values_;
  float* first_;
};

}  // namespace stipple::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace stipple::cpu {
namespace HWY_NAMESPACE {

using ML = Math<Lanes>;

struct Taps {
  V weight[kRadius + 1];
};

HWY_INLINE Taps window(D d) {
  Taps taps;
  for (int i = 0; i <= kRadius; ++i) taps.weight[i] = hn::Set(d, stipple::Math<float>::ssim_window_weight(i));
  return taps;
}

HWY_INLINE V filter_across(D d, const Taps& taps, const float* at) {
  V sum = hn::Mul(taps.weight[0], hn::LoadU(d, at));
  for (int i = 1; i <= kRadius; ++i)
    sum = hn::MulAdd(taps.weight[i], hn::Add(hn::LoadU(d, at - i), hn::LoadU(d, at + i)), sum);
  return sum;
}

HWY_INLINE V filter_down(D d, const Taps& taps, const std::array<const float*, kTaps>& rows, int x) {
  V sum = hn::Mul(taps.weight[0], hn::LoadU(d, rows[kRadius] + x));
  for (int i = 1; i <= kRadius; ++i)
    sum = hn::MulAdd(taps.weight[i],
                     hn::Add(hn::LoadU(d, rows[kRadius - i] + x), hn::LoadU(d, rows[kRadius + i] + x)), sum);
  return sum;
}

// Loads the row of the target that begins at pixel `first`.
void load_target(const LossPlane& plane, std::size_t first, float* y) {
  for (int i = 0; i < plane.width; ++i)
    y[i] = static_cast<float>(plane.target[3 * (first + i)]) * (1.0f / 255);
  if (!plane.alpha) return;
  for (int i = 0; i < plane.width; ++i) {
    const float alpha = static_cast<float>(plane.alpha[first + i]) * (1.0f / 255);
    y[i] = stipple::Math<float>::over_background(y[i], alpha, plane.background);
  }
}

// Loads a row of frame and target, zero if it lies outside the image, and filters it into the first ring.
void enter_row(const LossPlane& plane, int row, LossRows& rows) {
  const D d;
  const int n = kLanes;
  float* x = rows.x(row);
  float* y = rows.y(row);
  if (row < 0 || row >= plane.height) {
    std::fill_n(x, plane.width, 0.0f);
    std::fill_n(y, plane.width, 0.0f);
    for (int q = 0; q < kInputs; ++q) std::fill_n(rows.filtered(q, row), plane.width, 0.0f);
    return;
  }
  const std::size_t first = static_cast<std::size_t>(row) * plane.width;
  load_target(plane, first, y);
  for (int i = 0; i < plane.width; ++i) {
    float w = plane.weight ? plane.weight[first + i] : 1.0f;
    x[i] = plane.weight ? y[i] + w * (plane.color[first + i] - y[i]) : plane.color[first + i];
  }
  float *squares = rows.scratch(0), *xy = rows.scratch(1);  // SSIM needs x^2 and y^2 only as a sum
  for (int i = 0; i < plane.width; i += n) {  // x and y are zero past the end, and so are the products
    const V vx = hn::LoadU(d, x + i), vy = hn::LoadU(d, y + i);
    hn::StoreU(hn::MulAdd(vx, vx, hn::Mul(vy, vy)), d, squares + i);
    hn::StoreU(hn::Mul(vx, vy), d, xy + i);
  }
  const Taps taps = window(d);
  const float* from[kInputs] = {x, y, squares, xy};
  for (int q = 0; q < kInputs; ++q) {
    float* to = rows.filtered(q, row);
    for (int i = 0; i < plane.width; i += n) hn::StoreU(filter_across(d, taps, from[q] + i), d, to + i);
  }
}

// Computes SSIM at `row` from the first ring and stores its derivatives, filtered horizontally, in the
// second. Returns the sum of SSIM over the row.
double similarity_row(const LossPlane& plane, int row, LossRows& rows) {
  const D d;
  const int n = kLanes;
  if (row < 0 || row >= plane.height) {
    for (int q = 0; q < kGradients; ++q) std::fill_n(rows.gradient(q, row), plane.width, 0.0f);
    return 0;
  }
  std::array<const float*, kTaps> ring[kInputs];
  for (int q = 0; q < kInputs; ++q)
    for (int k = 0; k < kTaps; ++k) ring[q][k] = rows.filtered(q, row + k - kRadius);
  float* derivative[kGradients];
  for (int q = 0; q < kGradients; ++q) derivative[q] = rows.scratch(kInputs + q);

  const Taps taps = window(d);
  V sum = hn::Zero(d);
  for (int i = 0; i < plane.width; i += n) {
    const auto mean = [&](int q) { return Lanes(filter_down(d, taps, ring[q], i)); };
    const ML::WindowMeans m{mean(kX), mean(kY), mean(kSquares), Lanes(0), mean(kXY)};
    const ML::WindowMeans dssim = ML::ssim_vjp(m, Lanes(1));
    const auto inside = hn::FirstN(d, static_cast<std::size_t>(plane.width - i));
    sum = hn::Add(sum, hn::IfThenElseZero(inside, ML::ssim(m).v));
    hn::StoreU(hn::IfThenElseZero(inside, dssim.x.v), d, derivative[kGradX] + i);
    hn::StoreU(hn::IfThenElseZero(inside, dssim.xx.v), d, derivative[kGradXX] + i);
    hn::StoreU(hn::IfThenElseZero(inside, dssim.xy.v), d, derivative[kGradXY] + i);
  }
  for (int q = 0; q < kGradients; ++q) {
    float* to = rows.gradient(q, row);
    for (int i = 0; i < plane.width; i += n) hn::StoreU(filter_across(d, taps, derivative[q] + i), d, to + i);
  }
  return static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sum)));
}

// Computes the gradient at `row` from the second ring, and adds the row's L1 and squared error to the sums.
void gradient_row(const LossPlane& plane, int row, LossRows& rows, LossSums& sums) {
  const D d;
  const int n = kLanes;
  std::array<const float*, kTaps> ring[kGradients];
  for (int q = 0; q < kGradients; ++q)
    for (int k = 0; k < kTaps; ++k) ring[q][k] = rows.gradient(q, row + k - kRadius);
  const float *x = rows.x(row), *y = rows.y(row);
  float* result = rows.scratch(0);
  const Taps taps = window(d);
  const V l1_scale = hn::Set(d, plane.l1_scale), ssim_scale = hn::Set(d, -plane.ssim_scale);
  V sum = hn::Zero(d), squares = hn::Zero(d);
  for (int i = 0; i < plane.width; i += n) {
    const V vx = hn::LoadU(d, x + i), vy = hn::LoadU(d, y + i), difference = hn::Sub(vx, vy);
    sum = hn::Add(sum, hn::Abs(difference));  // zero past the end
    squares = hn::MulAdd(difference, difference, squares);
    const V twice_x = hn::Add(vx, vx);
    V g = hn::MulAdd(twice_x, filter_down(d, taps, ring[kGradXX], i), filter_down(d, taps, ring[kGradX], i));
    g = hn::Mul(ssim_scale, hn::MulAdd(vy, filter_down(d, taps, ring[kGradXY], i), g));
    const V sign = hn::IfThenElseZero(hn::Ne(difference, hn::Zero(d)), hn::CopySign(l1_scale, difference));
    hn::StoreU(hn::Add(g, sign), d, result + i);
  }
  const std::size_t first = static_cast<std::size_t>(row) * plane.width;
  for (int i = 0; i < plane.width; ++i)
    plane.dL_dcolor[first + i] = plane.weight ? plane.weight[first + i] * result[i] : result[i];
  std::fill_n(result, plane.width, 0.0f);  // the margin past the end must stay zero
  std::fill_n(result + plane.width, n, 0.0f);
  sums.l1 += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sum)));
  sums.squares += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, squares)));
}

LossSums loss_band(const LossPlane& plane, int begin, int end, LossRows& rows) {
  LossSums sums;
  for (int row = begin - 2 * kRadius; row < end + 2 * kRadius; ++row) {
    enter_row(plane, row, rows);
    int middle = row - kRadius;
    if (middle < begin - kRadius) continue;
    double ssim = similarity_row(plane, middle, rows);
    if (middle >= begin && middle < end) sums.ssim += ssim;
    int top = middle - kRadius;
    if (top >= begin && top < end) gradient_row(plane, top, rows, sums);
  }
  return sums;
}

}  // namespace HWY_NAMESPACE
}  // namespace stipple::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace stipple::cpu {

HWY_EXPORT(loss_band);

void CpuBackend::loss(const View& view, const LossTarget& target, const LossOptions& options, Pass& pass) {
  CpuPass& own = cpu_pass(pass);
  if (own.result.views.empty()) start_view(pass);  // the frame was not rendered in this pass
  const Frame& frame = pass.frame;
  FrameGradient& out = pass.dL_dframe;
  auto color = host(frame.color);
  auto expected = host(target.color);
  auto weight = host(target.weight);
  auto alpha = host(target.alpha);
  const std::size_t plane_size = color.size() / 3;
  assert(expected.size() == 3 * plane_size && (weight.empty() || weight.size() == plane_size) &&
         (alpha.empty() || alpha.size() == plane_size));
  out.color.resize(*this, color.size());
  out.alpha.resize(*this, 0);
  out.depth.resize(*this, 0);
  auto dL_dcolor = host(out.color);

  double count = 3.0 * static_cast<double>(plane_size);
  const double l1_weight = static_cast<double>(options.l1_weight),
               ssim_weight = static_cast<double>(options.ssim_weight);
  int band_count = std::max(1, frame.height_px / kBandRows);
  int band_rows = (frame.height_px + band_count - 1) / band_count;
  std::vector<LossSums> sums(3 * static_cast<std::size_t>(band_count));
  auto band = HWY_DYNAMIC_DISPATCH(loss_band);
  parallel_for(sums.size(), [&](std::size_t task) {
    std::size_t channel = task % 3;
    LossPlane plane{color.data() + channel * plane_size,
                    expected.data() + channel,
                    weight.empty() ? nullptr : weight.data(),
                    alpha.empty() ? nullptr : alpha.data(),
                    view.options.background[static_cast<int>(channel)],
                    frame.width_px,
                    frame.height_px,
                    static_cast<float>(l1_weight / count),
                    static_cast<float>(ssim_weight / count),
                    dL_dcolor.data() + channel * plane_size};
    int begin = std::min(frame.height_px, static_cast<int>(task / 3) * band_rows);
    LossRows rows(frame.width_px);
    sums[task] = band(plane, begin, std::min(frame.height_px, begin + band_rows), rows);
  });
  LossSums total;
  for (const LossSums& s : sums) {
    total.l1 += s.l1;
    total.squares += s.squares;
    total.ssim += s.ssim;
  }
  LossValue& value = own.view().loss;
  value = {static_cast<float>(l1_weight * total.l1 / count + ssim_weight * (1 - total.ssim / count)),
           static_cast<float>(total.squares / count)};
  if (!std::isfinite(value.total)) own.result.is_finite = false;
  own.clock.lap(Stage::kLoss);
}

}  // namespace stipple::cpu
#endif
