// SPDX-License-Identifier: Apache-2.0
#include "stipple/evaluate/contact_sheet.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "stipple/backend/render.h"
#include "stipple/core/spread.h"
#include "stipple/draw/canvas.h"
#include "stipple/draw/font.h"

namespace stipple {

namespace {

constexpr std::size_t kMaxRows = 12;
constexpr int kThumbnailPx = 320;  // longer side
constexpr int kMarginPx = 16, kGapPx = 8, kCaptionPx = 42, kHeadPx = 28;
constexpr float kTextPx = 14, kErrorGain = 4;
const Vec3f kPaper(1, 1, 1), kInk(0.15f, 0.15f, 0.15f);

// The colour of a value from 0 to 1, interpolated linearly between five of increasing brightness.
Vec3f heat(float value) {
  static const Vec3f knots[] = {
      {0, 0, 0}, {0.1f, 0.1f, 0.75f}, {0.85f, 0.1f, 0.6f}, {1, 0.8f, 0.15f}, {1, 1, 1}};
  constexpr int kPieces = static_cast<int>(std::size(knots)) - 1;
  const float at = std::clamp(value, 0.0f, 1.0f) * kPieces;
  const int piece = std::min(static_cast<int>(at), kPieces - 1);
  const float share = at - static_cast<float>(piece);
  return knots[piece] * (1 - share) + knots[piece + 1] * share;
}

// Repeats pixels, so that those of a small image are shown as squares.
Image enlarged(const Image& image, int factor) {
  Image large(image.width_px * factor, image.height_px * factor, image.channel_count);
  for (int y = 0; y < large.height_px; ++y)
    for (int x = 0; x < large.width_px; ++x)
      for (int c = 0; c < image.channel_count; ++c) large.at(x, y, c) = image.at(x / factor, y / factor, c);
  return large;
}

Image thumbnail(const Image& image) {
  const int longest_px = std::max(image.width_px, image.height_px);
  return enlarged(shrink_to(image, kThumbnailPx), std::max(1, kThumbnailPx / longest_px));
}

struct Row {
  std::array<Image, 3> pictures;
  std::string caption;
};

Row make_row(const Image& render, const Photo& photo, Vec3f background, const ViewScore& score) {
  const Image target = image_of(photo, background);
  return {{thumbnail(render), thumbnail(target), thumbnail(error_map(render, target, photo.weight))},
          fmt::format("{}   PSNR {:.2f} dB   SSIM {:.4f}", score.name, score.psnr, score.ssim)};
}

// Draws the legend of the error map, ending at `right`, unless the space after `begin` is too small.
void draw_scale(Canvas& canvas, float begin, float right, float top) {
  constexpr int kLargestBarPx = 96, kLeastBarPx = 24;
  const std::string end = fmt::format("{}", 1 / kErrorGain);
  const float labels = text_width_px("0", kTextPx) + text_width_px(end, kTextPx) + 3 * kGapPx;
  const int bar_px = std::min(kLargestBarPx, static_cast<int>(right - begin - labels));
  if (bar_px < kLeastBarPx) return;
  const float left = right - text_width_px(end, kTextPx) - kGapPx - static_cast<float>(bar_px);
  canvas.text({left - kGapPx - text_width_px("0", kTextPx), top}, "0", kTextPx, kInk);
  for (int x = 0; x < bar_px; ++x) {
    const float at = left + static_cast<float>(x) + 0.5f;
    canvas.line({at, top + 0.5f}, {at, top + kTextPx - 0.5f}, 1,
                heat(static_cast<float>(x) / static_cast<float>(bar_px - 1)));
  }
  canvas.text({right - text_width_px(end, kTextPx), top}, end, kTextPx, kInk);
}

Image draw_sheet(const std::vector<Row>& rows) {
  int column_px = 0, height_px = 2 * kMarginPx + kHeadPx;
  for (const Row& row : rows) {
    column_px = std::max(column_px, row.pictures[0].width_px);
    height_px += row.pictures[0].height_px + kCaptionPx;
  }
  const auto left_of = [&](int column) { return kMarginPx + column * (column_px + kGapPx); };
  Canvas canvas(left_of(3) - kGapPx + kMarginPx, height_px, kPaper);
  const auto write = [&](int x, int y, std::string_view text) {
    canvas.text({static_cast<float>(x), static_cast<float>(y)}, text, kTextPx, kInk);
  };
  const char* heads[] = {"render", "photo", "error"};
  for (int column = 0; column < 3; ++column) write(left_of(column), kMarginPx, heads[column]);
  const float head_end = static_cast<float>(left_of(2)) + text_width_px(heads[2], kTextPx);
  draw_scale(canvas, head_end, static_cast<float>(left_of(2) + column_px), kMarginPx);

  int top = kMarginPx + kHeadPx;
  for (const Row& row : rows) {
    for (int column = 0; column < 3; ++column) canvas.picture(left_of(column), top, row.pictures[column]);
    top += row.pictures[0].height_px;
    write(left_of(0), top + kGapPx, row.caption);
    top += kCaptionPx;
  }
  return canvas.image();
}

}  // namespace

Image error_map(const Image& a, const Image& b, std::span<const std::uint8_t> weight) {
  assert(a.width_px == b.width_px && a.height_px == b.height_px && a.channel_count == 3 &&
         b.channel_count == 3);
  Image map(a.width_px, a.height_px, 3);
  for (std::size_t i = 0; i < map.pixel_count(); ++i) {
    float sum = 0;
    for (std::size_t k = 3 * i; k < 3 * i + 3; ++k)
      sum += std::abs(std::clamp(a.values[k], 0.0f, 1.0f) - std::clamp(b.values[k], 0.0f, 1.0f));
    const float w = weight.empty() ? 1 : static_cast<float>(weight[i]) / 255;
    const Vec3f color = heat(kErrorGain * w * sum / 3);
    for (int c = 0; c < 3; ++c) map.values[3 * i + static_cast<std::size_t>(c)] = color[c];
  }
  return map;
}

Image contact_sheet(Backend& backend, const DeviceGaussians& gaussians, const std::vector<SceneView>& views,
                    std::span<const std::size_t> which, const Evaluation& evaluation, PhotoCache& photos,
                    const RenderOptions& options) {
  assert(evaluation.views.size() == which.size());
  std::vector<Row> rows;
  for (const std::size_t i : spread(which.size(), kMaxRows)) {
    const Image picture = render(backend, gaussians, View{views[which[i]].camera, options}).color;
    rows.push_back(make_row(picture, *photos.get(which[i]), options.background, evaluation.views[i]));
  }
  return draw_sheet(rows);
}

}  // namespace stipple
