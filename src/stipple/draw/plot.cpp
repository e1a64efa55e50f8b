// SPDX-License-Identifier: Apache-2.0
#include "stipple/draw/plot.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "stipple/draw/canvas.h"
#include "stipple/draw/font.h"

namespace stipple {

namespace {

constexpr float kTitlePx = 14, kTextPx = 10.5f, kGapPx = 10, kRowPx = 20;  // kRowPx is the line spacing
constexpr float kLinePx = 1.5f, kDotRadiusPx = 4;
const Vec3f kPaper(1, 1, 1), kInk(0.15f, 0.15f, 0.15f), kFaint(0.88f, 0.88f, 0.88f),
    kAxis(0.45f, 0.45f, 0.45f);

// Whether a point is finite and small enough that arithmetic cannot overflow.
bool can_be_drawn(Vec2<double> p) { return std::abs(p.x) < 1e100 && std::abs(p.y) < 1e100; }

struct Axis {
  std::vector<double> ticks;
  std::vector<std::string> labels;

  // Position on the axis, 0 to 1.
  double share(double value) const { return (value - ticks.front()) / (ticks.back() - ticks.front()); }
};

// An axis that covers this coordinate of every point.
Axis axis_of(const std::vector<PlotSeries>& series, double Vec2<double>::*coordinate, int tick_count) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const PlotSeries& s : series)
    for (const Vec2<double>& p : s.points)
      if (can_be_drawn(p)) low = std::min(low, p.*coordinate), high = std::max(high, p.*coordinate);
  if (low > high) low = 0, high = 1;  // nothing to show
  Axis axis{nice_ticks(low, high, tick_count), {}};
  axis.labels = tick_labels(axis.ticks);
  return axis;
}

class Plot {
 public:
  explicit Plot(const PlotOptions& options)
      : options_(options),
        canvas_(options.width_px, options.height_px, kPaper),
        x_(axis_of(options.series, &Vec2<double>::x, options.width_px / 100)),
        y_(axis_of(options.series, &Vec2<double>::y, options.height_px / 70)) {
    right_ = static_cast<float>(options.width_px) - 3 * kGapPx;
    bottom_ = static_cast<float>(options.height_px) - 2 * kRowPx - kGapPx;
    for (const std::string& label : y_.labels) left_ = std::max(left_, text_width_px(label, kTextPx));
    left_ += 2 * kGapPx;
  }

  Image draw() {
    canvas_.text({left_, kGapPx}, options_.title, kTitlePx, kInk);
    draw_legend();
    draw_grid();
    for (const PlotSeries& s : options_.series)
      if (s.style == PlotSeries::Style::kLine)
        draw_line(s);
      else
        draw_dots(s);
    return canvas_.image();
  }

 private:
  Vec2f place(Vec2<double> p) const {
    return {left_ + static_cast<float>(x_.share(p.x)) * (right_ - left_),
            bottom_ - static_cast<float>(y_.share(p.y)) * (bottom_ - top_)};
  }

  // Places the entries one after another, in rows under the title. The chart begins below them, at top_.
  void draw_legend() {
    constexpr float kSample = 18;
    float x = left_, y = kGapPx + kTitlePx + kGapPx;
    for (const PlotSeries& s : options_.series) {
      if (s.name.empty()) continue;
      const float width = kSample + kGapPx / 2 + text_width_px(s.name, kTextPx);
      if (x > left_ && x + width > right_) x = left_, y += kRowPx;
      const Vec2f middle(x + kSample / 2, y + kTextPx / 2);
      if (s.style == PlotSeries::Style::kLine)
        canvas_.line(middle - Vec2f(kSample / 2, 0), middle + Vec2f(kSample / 2, 0), 3, s.color);
      else
        canvas_.dot(middle, kDotRadiusPx, s.color);
      canvas_.text({x + kSample + kGapPx / 2, y}, s.name, kTextPx, kInk);
      x += width + 2 * kGapPx;
    }
    top_ = (x > left_ ? y + kRowPx : y) + kGapPx / 2;
  }

  void draw_grid() {
    for (std::size_t i = 0; i < x_.ticks.size(); ++i) {
      const float x = crisp(place({x_.ticks[i], 0}).x);
      canvas_.line({x, top_}, {x, bottom_}, 1, kFaint);
      canvas_.text({x - text_width_px(x_.labels[i], kTextPx) / 2, bottom_ + kGapPx}, x_.labels[i], kTextPx,
                   kInk);
    }
    for (std::size_t i = 0; i < y_.ticks.size(); ++i) {
      const float y = crisp(place({0, y_.ticks[i]}).y), width = text_width_px(y_.labels[i], kTextPx);
      canvas_.line({left_, y}, {right_, y}, 1, kFaint);
      canvas_.text({left_ - kGapPx - width, y - kTextPx / 2}, y_.labels[i], kTextPx, kInk);
    }
    const Vec2f corner(crisp(left_), crisp(bottom_));
    canvas_.line(corner, {corner.x, top_}, 1, kAxis);
    canvas_.line(corner, {right_, corner.y}, 1, kAxis);
    const float label_x = (left_ + right_ - text_width_px(options_.x_label, kTextPx)) / 2;
    canvas_.text({label_x, bottom_ + kGapPx + kRowPx}, options_.x_label, kTextPx, kInk);
  }

  void draw_line(const PlotSeries& s) {
    for (std::size_t i = 1; i < s.points.size(); ++i)
      if (can_be_drawn(s.points[i - 1]) && can_be_drawn(s.points[i]))
        canvas_.line(place(s.points[i - 1]), place(s.points[i]), kLinePx, s.color);
  }

  void draw_dots(const PlotSeries& s) {
    for (const Vec2<double>& p : s.points) {
      if (!can_be_drawn(p)) continue;
      canvas_.dot(place(p), kDotRadiusPx + 1.5f, kPaper);  // a rim: the line below may have the same colour
      canvas_.dot(place(p), kDotRadiusPx, s.color);
    }
  }

  static float crisp(float at) { return std::floor(at) + 0.5f; }  // the centre of the pixel

  const PlotOptions& options_;
  Canvas canvas_;
  Axis x_, y_;
  float left_ = 0, top_ = 0, right_, bottom_;  // of the chart, in pixels
};

}  // namespace

Image plot(const PlotOptions& options) { return Plot(options).draw(); }

Vec3f plot_color(std::size_t index) {
  static const Vec3f colors[] = {{0.12f, 0.38f, 0.80f}, {0.90f, 0.42f, 0.05f}, {0.13f, 0.58f, 0.25f},
                                 {0.80f, 0.13f, 0.25f}, {0.50f, 0.27f, 0.72f}, {0.08f, 0.62f, 0.68f},
                                 {0.55f, 0.36f, 0.20f}, {0.87f, 0.40f, 0.68f}};
  return colors[index % std::size(colors)];
}

}  // namespace stipple
