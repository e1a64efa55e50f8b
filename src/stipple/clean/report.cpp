// SPDX-License-Identifier: Apache-2.0
#include "stipple/clean/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "stipple/backend/render.h"
#include "stipple/core/spread.h"
#include "stipple/draw/canvas.h"
#include "stipple/draw/font.h"
#include "stipple/edit/select.h"

namespace stipple {

namespace {

constexpr std::size_t kMaxRows = 6;
constexpr int kPicturePx = 400;  // longer side
constexpr int kMarginPx = 16, kGapPx = 8, kLinePx = 28;
constexpr float kTextPx = 14;
const Vec3f kPaper(1, 1, 1), kInk(0.15f, 0.15f, 0.15f);

// Indexed by Defect; the first is not used.
const std::array<Vec3f, kDefectNames.size()> kColors = {{{0, 0, 0},
                                                         {0, 0, 0},
                                                         {0.1f, 0.3f, 1},
                                                         {0.7f, 0.1f, 0.9f},
                                                         {1, 0.85f, 0},
                                                         {1, 0.1f, 0.1f},
                                                         {0, 0.8f, 0.3f}}};

// The base colour without its hue and with less contrast, so that strong colours stand out.
Vec3f grey_of(Vec3f sh_base) {
  const Vec3f color = sh_base * Math<float>::sh_0 + Vec3f(0.5f, 0.5f, 0.5f);
  const float grey = 0.3f + 0.5f * std::clamp((color.x + color.y + color.z) / 3, 0.0f, 1.0f);
  return {grey, grey, grey};
}

std::vector<Vec3f> class_colors(const Gaussians& g, const std::vector<Defect>& found) {
  std::vector<Vec3f> colors(g.size());
  for (std::size_t i = 0; i < g.size(); ++i)
    colors[i] = found[i] == Defect::kNone ? grey_of(g.sh[i * static_cast<std::size_t>(g.sh_count())])
                                          : kColors[static_cast<std::size_t>(found[i])];
  return colors;
}

Image picture_of(Backend& backend, const DeviceGaussians& model, const Precomputed& precomputed,
                 const View& view) {
  Pass pass;
  forward(backend, model, precomputed, view, pass);
  return shrink_to(download_frame(backend, pass.frame).color, kPicturePx);
}

std::vector<std::string> legend_of(const CleanResult& result) {
  std::vector<std::string> lines;
  for (std::size_t k = 1; k < kDefectNames.size(); ++k) {
    const CleanedClass& c = result.classes[k];
    lines.push_back(c.removed == c.found
                        ? fmt::format("{} {}", c.found, kDefectNames[k])
                        : fmt::format("{} {}, {} kept", c.found, kDefectNames[k], c.found - c.removed));
  }
  return lines;
}

// Writes the legend, three entries to a line.
void draw_legend(Canvas& canvas, const CleanResult& result, int column_px, int top) {
  const std::vector<std::string> lines = legend_of(result);
  for (std::size_t k = 0; k < lines.size(); ++k) {
    const float left = static_cast<float>(kMarginPx + static_cast<int>(k % 3) * (column_px + kGapPx)),
                y = static_cast<float>(top + static_cast<int>(k / 3) * kLinePx);
    canvas.dot({left + kTextPx / 2, y + kTextPx / 2}, kTextPx / 2, kColors[k + 1]);
    canvas.text({left + 1.5f * kTextPx, y}, lines[k], kTextPx, kInk);
  }
}

int legend_width_px(const CleanResult& result) {
  float widest = 0;
  for (const std::string& line : legend_of(result)) widest = std::max(widest, text_width_px(line, kTextPx));
  return static_cast<int>(widest + 3 * kTextPx);
}

}  // namespace

Image clean_report(Backend& backend, const Gaussians& gaussians, const CleanResult& result,
                   std::span<const Camera> cameras, const RenderOptions& options) {
  const DeviceGaussians model = upload(backend, gaussians),
                        cleaned = upload(backend, select(gaussians, result.kept));
  Precomputed classes;
  classes.color.upload(backend, class_colors(gaussians, result.found));
  std::vector<std::array<Image, 3>> rows;
  int column_px = legend_width_px(result), height_px = 2 * kMarginPx + 3 * kLinePx;
  for (const std::size_t i : spread(cameras.size(), kMaxRows)) {
    const View view{cameras[i], options};
    rows.push_back({picture_of(backend, model, {}, view), picture_of(backend, model, classes, view),
                    picture_of(backend, cleaned, {}, view)});
    column_px = std::max(column_px, rows.back()[0].width_px);
    height_px += rows.back()[0].height_px + kGapPx;
  }
  Canvas canvas(2 * kMarginPx + 3 * column_px + 2 * kGapPx, height_px, kPaper);
  draw_legend(canvas, result, column_px, kMarginPx);
  const char* heads[] = {"before", "found", "after"};
  int top = kMarginPx + 2 * kLinePx;
  const auto left_of = [&](int column) { return kMarginPx + column * (column_px + kGapPx); };
  for (int column = 0; column < 3; ++column)
    canvas.text({static_cast<float>(left_of(column)), static_cast<float>(top)}, heads[column], kTextPx, kInk);
  top += kLinePx;
  for (const std::array<Image, 3>& row : rows) {
    for (int column = 0; column < 3; ++column)
      canvas.picture(left_of(column), top, row[static_cast<std::size_t>(column)]);
    top += row[0].height_px + kGapPx;
  }
  return canvas.image();
}

}  // namespace stipple
