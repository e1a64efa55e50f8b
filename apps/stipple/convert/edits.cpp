// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/convert/edits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "apps/stipple/convert/matrix.h"
#include "apps/stipple/options/number_list.h"
#include "apps/stipple/options/number_range.h"
#include "apps/stipple/options/whole_number.h"
#include "stipple/core/curve_order.h"
#include "stipple/core/error.h"
#include "stipple/edit/frame.h"
#include "stipple/edit/importance.h"
#include "stipple/edit/rows_to_keep.h"
#include "stipple/edit/select.h"
#include "stipple/edit/sh_degree.h"
#include "stipple/edit/transform.h"

namespace stipple {

namespace {

constexpr const char* kGroup = "Edits, applied in this order";

Vec3<double> parse_vector(const std::string& text) {
  const std::vector<double> v = parse_numbers(text);
  if (v.size() != 3 || !std::all_of(v.begin(), v.end(), [](double x) { return std::abs(x) < 1e9; }))
    throw Error(fmt::format("'{}' is not three numbers x,y,z between -1e9 and 1e9", text));
  return {v[0], v[1], v[2]};
}

// Refuses a value for which `parse` throws Error.
CLI::Validator accepted_by(const std::function<void(const std::string&)>& parse) {
  return CLI::Validator(
      [parse](const std::string& text) {
        try {
          parse(text);
          return std::string();
        } catch (const Error& error) {
          return std::string(error.what());
        }
      },
      "");
}

// Keeps these rows, and notes how many others there were.
void keep(std::vector<std::uint32_t> rows, const char* reason, Gaussians& gaussians,
          std::vector<RemovedGaussians>& removed) {
  const std::size_t count = gaussians.size() - rows.size();
  removed.push_back({reason, count});
  if (count == 0) return;
  if (rows.empty())
    throw Error(fmt::format(
        "nothing is left of the model: {} Gaussians are {}; nothing was written",
        removed.size() == 1 ? fmt::format("all {}", count) : fmt::format("the last {}", count), reason));
  keep_rows(rows, gaussians);
}

std::vector<std::uint32_t> most_visible(std::size_t most, const Scene* scene, const Gaussians& gaussians) {
  if (scene == nullptr) return most_important(gaussians, most);
  std::vector<std::size_t> views(scene->views.size());
  std::iota(views.begin(), views.end(), std::size_t{0});
  return most_important(gaussians, most, *scene, views);
}

// Throws Error if a number of the transformed model is beyond the range of float, and was not before.
void check_range(const SimilarityTransform& new_from_old, const Gaussians& g) {
  constexpr double kMost = std::numeric_limits<float>::max();
  const auto largest = [](const Vec3<double>& v) {
    return std::max({std::abs(v.x), std::abs(v.y), std::abs(v.z)});
  };
  for (std::size_t i = 0; i < g.size(); ++i) {
    const Vec3f mean = g.mean[i], log_scale = g.log_scale[i];
    const double before = std::exp(std::max({log_scale.x, log_scale.y, log_scale.z}));
    const Vec3<double> place(mean.x, mean.y, mean.z);
    const bool is_far = largest(place) <= kMost && !(largest(new_from_old * place) <= kMost);
    const bool is_large = before <= kMost && !(before * new_from_old.scale <= kMost);
    if (is_far || is_large)
      throw Error(fmt::format("the transform makes Gaussian {} {} for a float; give smaller numbers", i,
                              is_far ? "too far away" : "too large"));
  }
}

}  // namespace

void add_edit_flags(CLI::App& command, EditFlags& f) {
  const auto add = [&](const char* name, auto& value, const char* help) {
    return command.add_option(name, value, help)->group(kGroup);
  };
  add("--crop", f.crop,
      "keep what has its mean in this box, xmin,ymin,zmin,xmax,ymax,zmax in the frame of the input; w,x,y,z "
      "behind them turn the box about its centre")
      ->check(accepted_by([](const std::string& text) { crop_box(parse_numbers(text)); }));
  add("--prune-opacity", f.prune_opacity, "remove Gaussians with a lower opacity")->check(number_range(0, 1));
  add("--max-gaussians", f.max_gaussians,
      "keep so many Gaussians: those with the highest opacity times area in the views of the scene (--scene, "
      "--psnr), or without one, times size")
      ->check(whole_number(1, std::numeric_limits<std::uint32_t>::max()));
  add("--sh-degree", f.sh_degree, "keep spherical harmonics up to this degree")->check(whole_number(0, 3));
  const auto frame = accepted_by([](const std::string& text) { change_of_frame(text, text); });
  add("--from-frame", f.from_frame,
      "where x, y and z of the input point: right or left, up or down, front or back, as rdf, the frame of "
      "COLMAP")
      ->check(frame)
      ->capture_default_str();
  add("--frame", f.frame,
      "the same of the output, such as rub, the frame of OpenGL and glTF; by default, that of the input")
      ->check(frame);
  add("--transform", f.transform,
      "multiply by a matrix: 3 or 4 rows of 4 numbers, or a text or JSON file with them; only rotation, "
      "reflection, uniform scale and translation are possible");
  add("--scale", f.scale, "multiply all sizes and distances")->check(number_range(1e-6, 1e6));
  const auto vector = accepted_by([](const std::string& text) { parse_vector(text); });
  add("--rotate", f.rotate, "rotate about the x axis, then y, then z: three angles x,y,z in degrees")
      ->check(vector);
  add("--translate", f.translate, "move by x,y,z")->check(vector);
  command
      .add_flag("--morton", f.morton,
                "order the Gaussians along a Morton curve, so that neighbours are close in the file, too")
      ->group(kGroup);
}

SimilarityTransform transform_of(const EditFlags& f) {
  SimilarityTransform result = change_of_frame(f.from_frame, f.frame.empty() ? f.from_frame : f.frame);
  if (!f.transform.empty()) result = read_matrix(f.transform) * result;
  SimilarityTransform scaled, moved;
  scaled.scale = f.scale;
  result = scaled * result;
  if (!f.rotate.empty()) result = rotation_about_axes(parse_vector(f.rotate)) * result;
  if (!f.translate.empty()) moved.translation = parse_vector(f.translate);
  return moved * result;
}

std::vector<RemovedGaussians> edit(const EditFlags& f, const SimilarityTransform& new_from_old,
                                   const Scene* scene, Gaussians& g) {
  std::vector<RemovedGaussians> removed;
  if (!f.crop.empty()) keep(rows_in(crop_box(parse_numbers(f.crop)), g), "outside the box", g, removed);
  if (f.prune_opacity > 0)
    keep(rows_with_opacity(static_cast<float>(f.prune_opacity), g), "too transparent", g, removed);
  if (f.max_gaussians > 0)
    keep(most_visible(static_cast<std::size_t>(f.max_gaussians), scene, g), "among the least visible", g,
         removed);
  if (f.sh_degree < g.sh_degree) set_sh_degree(g, f.sh_degree);
  check_range(new_from_old, g);
  transform(new_from_old, g);
  if (f.morton) keep_rows(curve_order(g.mean), g);
  return removed;
}

}  // namespace stipple
