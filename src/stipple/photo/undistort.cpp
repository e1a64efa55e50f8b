// SPDX-License-Identifier: Apache-2.0
#include "stipple/photo/undistort.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <optional>
#include <vector>

#include "stipple/camera/lens_projection.h"
#include "stipple/core/error.h"
#include "stipple/core/parallel.h"

namespace stipple {

namespace {

constexpr double kMaxTangent = std::numbers::sqrt3;  // 60 degrees; further out, a pinhole only stretches
constexpr int kSamplesPerSide = 129;  // between two samples a border bends by far less than half a pixel
constexpr int kHalvings = 30;         // to a billionth of the rectangle's size

struct Rectangle {  // in u = x / z and v = y / z
  double left, top, right, bottom;
};

// Where the direction that projects to a pixel meets the plane z = 1.
std::optional<Vec2<double>> unproject_to_plane(const LensProjection& projection, Vec2<double> pixel) {
  const auto direction = projection.unproject(pixel);
  if (!direction || !(direction->z > 0)) return {};
  return Vec2<double>(direction->x / direction->z, direction->y / direction->z);
}

// The bounds are the innermost points of the photo's four sides, taken on the lines through the centres of
// the border pixels. A border point to which no direction projects sets no bound.
Rectangle inside_of_border(const Lens& lens, const LensProjection& projection) {
  Rectangle inside{-kMaxTangent, -kMaxTangent, kMaxTangent, kMaxTangent};
  const Vec2<double> first{0.5, 0.5}, last{lens.width_px - 0.5, lens.height_px - 0.5};
  for (int i = 0; i < kSamplesPerSide; ++i) {
    const Vec2<double> at = first + (last - first) * (static_cast<double>(i) / (kSamplesPerSide - 1));
    const auto left = unproject_to_plane(projection, {first.x, at.y});
    const auto top = unproject_to_plane(projection, {at.x, first.y});
    const auto right = unproject_to_plane(projection, {last.x, at.y});
    const auto bottom = unproject_to_plane(projection, {at.x, last.y});
    if (left) inside.left = max(inside.left, left->x);
    if (top) inside.top = max(inside.top, top->y);
    if (right) inside.right = min(inside.right, right->x);
    if (bottom) inside.bottom = min(inside.bottom, bottom->y);
  }
  return inside;
}

bool is_inside(const Lens& lens, Vec2<double> pixel) {
  return 0 <= pixel.x && pixel.x <= lens.width_px && 0 <= pixel.y && pixel.y <= lens.height_px;
}

bool is_seen(const Lens& lens, const LensProjection& projection, const Rectangle& r) {
  for (const Vec2<double> corner :
       {Vec2(r.left, r.top), {r.right, r.top}, {r.left, r.bottom}, {r.right, r.bottom}}) {
    const auto pixel = projection.project({corner.x, corner.y, 1});
    if (!pixel || !is_inside(lens, *pixel)) return false;
  }
  return true;
}

// Shrinks a rectangle whose corners lie beyond the lens's limit towards its point nearest to the axis, or to
// nothing if the lens does not see that point either.
Rectangle shrunk_until_seen(const Lens& lens, const LensProjection& projection, const Rectangle& r) {
  const Vec2<double> fixed{clamp(0.0, r.left, r.right), clamp(0.0, r.top, r.bottom)};
  const auto scaled = [&](double scale) {
    return Rectangle{std::lerp(fixed.x, r.left, scale), std::lerp(fixed.y, r.top, scale),
                     std::lerp(fixed.x, r.right, scale), std::lerp(fixed.y, r.bottom, scale)};
  };
  if (is_seen(lens, projection, r)) return r;
  double low = 0, high = 1;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (is_seen(lens, projection, scaled(middle)) ? low : high) = middle;
  }
  return scaled(low);
}

Rectangle inner_rectangle(const Lens& lens) {
  const LensProjection projection(lens);
  const Rectangle r = shrunk_until_seen(lens, projection, inside_of_border(lens, projection));
  if (!(r.left < r.right && r.top < r.bottom)) {
    throw Error(
        fmt::format("a {} camera is so distorted that no part of its photos can be undistorted; calibrate it "
                    "again",
                    lens.model));
  }
  return r;
}

// The number of pixels along an axis whose centres are at most this far from the first one's.
int count_pixels(double extent_px) {
  return 1 + static_cast<int>(std::floor(extent_px + 1e-6));  // rounding must not cost a pixel
}

Camera to_camera(Vec2<double> focal_px, Vec2<double> center_px, int width_px, int height_px) {
  Camera camera;
  camera.focal_px = {static_cast<float>(focal_px.x), static_cast<float>(focal_px.y)};
  camera.center_px = {static_cast<float>(center_px.x), static_cast<float>(center_px.y)};
  camera.width_px = width_px;
  camera.height_px = height_px;
  return camera;
}

// The direction through a pixel's centre, in the camera's frame.
Vec3<double> direction(const Camera& camera, int x, int y) {
  return {(x + 0.5 - camera.center_px.x) / camera.focal_px.x,
          (y + 0.5 - camera.center_px.y) / camera.focal_px.y, 1};
}

// Two neighbouring pixels along one axis, and a position as a fraction of the way from the first to the
// second. Positions beyond the outermost centres are clamped.
struct Neighbours {
  int first, second;
  double part;

  Neighbours(double position_px, int size_px) {
    const double from_first_center = clamp(position_px - 0.5, 0.0, size_px - 1.0);
    first = static_cast<int>(from_first_center);
    second = min(first + 1, size_px - 1);
    part = from_first_center - first;
  }
};

// Sets a pixel of `to` by bilinear interpolation.
void sample(const Photo& from, Vec2<double> pixel, Photo& to, std::size_t to_index) {
  const Neighbours x(pixel.x, from.width_px), y(pixel.y, from.height_px);
  const auto interpolate = [&](const std::vector<std::uint8_t>& values, int stride, int channel) {
    const auto at = [&](int column, int row) -> double {
      return values[(static_cast<std::size_t>(row) * from.width_px + column) * stride + channel];
    };
    const double top = at(x.first, y.first) * (1 - x.part) + at(x.second, y.first) * x.part;
    const double bottom = at(x.first, y.second) * (1 - x.part) + at(x.second, y.second) * x.part;
    return static_cast<std::uint8_t>(top * (1 - y.part) + bottom * y.part + 0.5);
  };
  for (int c = 0; c < 3; ++c) to.rgb[3 * to_index + c] = interpolate(from.rgb, 3, c);
  to.weight[to_index] = from.weight.empty() ? 255 : interpolate(from.weight, 1, 0);
  if (!from.alpha.empty()) to.alpha[to_index] = interpolate(from.alpha, 1, 0);
}

}  // namespace

Camera undistorted_camera(const Lens& lens) {
  if (lens.is_pinhole()) return to_camera(lens.focal_px, lens.center_px, lens.width_px, lens.height_px);
  const Rectangle r = inner_rectangle(lens);
  // The rectangle spans the pixels' centres, so the image extends half a pixel beyond it on every side.
  const Vec2<double> extent{r.right - r.left, r.bottom - r.top};
  const Vec2<double> full_px = lens.focal_px * extent;  // at the resolution of the photo's centre
  const double scale = min(1.0, min((lens.width_px - 1) / full_px.x, (lens.height_px - 1) / full_px.y));
  const Vec2<double> focal_px = lens.focal_px * scale, extent_px = full_px * scale;
  const int width_px = count_pixels(extent_px.x), height_px = count_pixels(extent_px.y);
  // The remaining fraction of a pixel is divided between both sides.
  const Vec2<double> margin_px{(extent_px.x - (width_px - 1)) / 2, (extent_px.y - (height_px - 1)) / 2};
  const Vec2<double> first_center_px = focal_px * Vec2<double>(r.left, r.top) + margin_px;
  return to_camera(focal_px, Vec2<double>(0.5, 0.5) - first_center_px, width_px, height_px);
}

Photo undistort(const Photo& photo, const Lens& lens, const Camera& camera) {
  assert(photo.width_px == lens.width_px && photo.height_px == lens.height_px);
  const LensProjection projection(lens);
  Photo result{camera.width_px, camera.height_px, {}, {}};
  result.rgb.resize(3 * result.pixel_count());
  result.weight.resize(result.pixel_count());
  if (!photo.alpha.empty()) result.alpha.resize(result.pixel_count());
  parallel_for(static_cast<std::size_t>(camera.height_px), [&](std::size_t y) {
    for (int x = 0; x < camera.width_px; ++x) {
      const auto source = projection.project(direction(camera, x, static_cast<int>(y)));
      if (source && is_inside(lens, *source)) sample(photo, *source, result, y * camera.width_px + x);
    }
  });
  const auto counts_fully = [](std::uint8_t weight) { return weight == 255; };
  if (photo.weight.empty() && std::all_of(result.weight.begin(), result.weight.end(), counts_fully)) {
    result.weight = {};
  }
  return result;
}

}  // namespace stipple
