// SPDX-License-Identifier: Apache-2.0
#pragma once
// Builds a COLMAP model from the entries that the binary and text readers find, and leaves out invalid ones.
#include <array>
#include <set>
#include <span>

#include "stipple/scene/formats/colmap.h"
#include "stipple/scene/formats/colmap_lens.h"

namespace stipple {

class ColmapBuilder {
 public:
  explicit ColmapBuilder(ColmapModel& model) : model_(model) {}

  void add_camera(std::uint32_t id, const ColmapLensModel& lens_model, double width, double height,
                  std::span<const double> parameters);
  // pose: qw, qx, qy, qz, tx, ty, tz
  void add_image(const std::string& name, std::uint32_t camera_id, const std::array<double, 7>& pose);
  void add_point(const std::string& name, const std::array<double, 3>& position,
                 const std::array<double, 3>& color);

 private:
  ColmapModel& model_;
  std::set<std::string> names_;
};

void read_colmap_binary(const std::filesystem::path& folder, ColmapModel& model);
void read_colmap_text(const std::filesystem::path& folder, ColmapModel& model);

std::size_t count_colmap_binary_images(const std::filesystem::path& folder);
std::size_t count_colmap_text_images(const std::filesystem::path& folder);

}  // namespace stipple
