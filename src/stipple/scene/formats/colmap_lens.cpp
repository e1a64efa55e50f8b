// SPDX-License-Identifier: Apache-2.0
#include "stipple/scene/formats/colmap_lens.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <iterator>

#include "stipple/core/error.h"

namespace stipple {

namespace {

// The meaning of a parameter; kF is both focal lengths.
enum Parameter { kF, kFx, kFy, kCx, kCy, kP1, kP2, kK1, kK2, kK3, kK4, kK5, kK6 };

struct ModelRow {
  ColmapLensModel model;
  Lens::Kind kind = Lens::Kind::kPerspective;
  std::array<Parameter, 12> order{};  // only the first parameter_count are used
};

constexpr Lens::Kind kPerspective = Lens::Kind::kPerspective, kFisheye = Lens::Kind::kFisheye;

constexpr ModelRow kModels[] = {
    // A model's index in this list is its number in COLMAP.
    {{"SIMPLE_PINHOLE", 3, true}, kPerspective, {kF, kCx, kCy}},
    {{"PINHOLE", 4, true}, kPerspective, {kFx, kFy, kCx, kCy}},
    {{"SIMPLE_RADIAL", 4, true}, kPerspective, {kF, kCx, kCy, kK1}},
    {{"RADIAL", 5, true}, kPerspective, {kF, kCx, kCy, kK1, kK2}},
    {{"OPENCV", 8, true}, kPerspective, {kFx, kFy, kCx, kCy, kK1, kK2, kP1, kP2}},
    {{"OPENCV_FISHEYE", 8, true}, kFisheye, {kFx, kFy, kCx, kCy, kK1, kK2, kK3, kK4}},
    {{"FULL_OPENCV", 12, true}, kPerspective, {kFx, kFy, kCx, kCy, kK1, kK2, kP1, kP2, kK3, kK4, kK5, kK6}},
    {{"FOV", 5, false}},
    {{"SIMPLE_RADIAL_FISHEYE", 4, true}, kFisheye, {kF, kCx, kCy, kK1}},
    {{"RADIAL_FISHEYE", 5, true}, kFisheye, {kF, kCx, kCy, kK1, kK2}},
    {{"THIN_PRISM_FISHEYE", 12, false}},
    {{"RAD_TAN_THIN_PRISM_FISHEYE", 16, false}},
    {{"SIMPLE_DIVISION", 4, false}},
    {{"DIVISION", 5, false}},
    {{"SIMPLE_FISHEYE", 3, true}, kFisheye, {kF, kCx, kCy}},
    {{"FISHEYE", 4, true}, kFisheye, {kFx, kFy, kCx, kCy}},
    {{"EUCM", 6, false}},
    {{"EQUIRECTANGULAR", 2, false}},
};

const ModelRow* find_row(std::string_view name) {
  const auto row = std::find_if(std::begin(kModels), std::end(kModels),
                                [&](const ModelRow& r) { return r.model.name == name; });
  return row == std::end(kModels) ? nullptr : row;
}

void set(Lens& lens, Parameter parameter, double value) {
  if (parameter == kF || parameter == kFx) lens.focal_px.x = value;
  if (parameter == kF || parameter == kFy) lens.focal_px.y = value;
  if (parameter == kCx) lens.center_px.x = value;
  if (parameter == kCy) lens.center_px.y = value;
  if (parameter == kP1 || parameter == kP2) lens.tangential[parameter - kP1] = value;
  if (parameter >= kK1) lens.radial[parameter - kK1] = value;
}

void check(const Lens& lens, std::span<const double> parameters) {
  const bool finite =
      std::all_of(parameters.begin(), parameters.end(), [](double p) { return std::isfinite(p); });
  if (finite && lens.focal_px.x > 0 && lens.focal_px.y > 0) return;
  throw Error(fmt::format("camera model {} needs positive focal lengths and finite parameters, but has {}",
                          lens.model, fmt::join(parameters, " ")));
}

}  // namespace

std::optional<ColmapLensModel> find_colmap_lens_model(int id) {
  if (id < 0 || id >= std::ssize(kModels)) return {};
  return kModels[id].model;
}

std::optional<ColmapLensModel> find_colmap_lens_model(std::string_view name) {
  const ModelRow* row = find_row(name);
  return row ? std::optional(row->model) : std::nullopt;
}

Lens make_colmap_lens(const ColmapLensModel& model, int width_px, int height_px,
                      std::span<const double> parameters) {
  const ModelRow* row = find_row(model.name);
  assert(row && std::ssize(parameters) == model.parameter_count);
  if (!model.is_supported) {
    throw Error(
        fmt::format("camera model {} is not supported; undistort the images first, for example with "
                    "\"colmap image_undistorter\"",
                    model.name));
  }
  Lens lens;
  lens.model = model.name;
  lens.kind = row->kind;
  lens.width_px = width_px;
  lens.height_px = height_px;
  for (std::size_t i = 0; i < parameters.size(); ++i) set(lens, row->order[i], parameters[i]);
  check(lens, parameters);
  return lens;
}

}  // namespace stipple
