// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/options/scene_flags.h"

#include "apps/stipple/commands.h"
#include "apps/stipple/options/whole_number.h"
#include "stipple/options/option_text.h"

namespace stipple {

namespace {

// CLI11 takes the numbers of an enum; its own way to names answers a wrong one with those numbers.
std::string number_from_alpha_use(std::string& name) {
  AlphaUse use{};
  if (const auto complaint = parse_option(name, use)) return *complaint;
  name = std::to_string(static_cast<int>(use));
  return "";
}

}  // namespace

void add_scene_options(CLI::App& command, SceneOptions& options) {
  command
      .add_option("--max-resolution", options.max_resolution_px,
                  "photos whose longer side has more pixels are shrunk to it; 0: never")
      ->check(whole_number(0, kMaxResolutionPx))
      ->capture_default_str();
  command
      .add_option("--downscale", options.downscale, "shrink photos by this factor; uses images_N when there")
      ->check(whole_number(1, kMaxDownscale))
      ->capture_default_str();
  command.add_option("--images", options.images,
                     "folder of the photos, relative to the scene; found by itself");
  command
      .add_option("--alpha", options.alpha,
                  "photos with transparency: leave those pixels out (weight), or put them on white or black")
      ->transform(CLI::Validator(number_from_alpha_use, "{weight,white,black}"))
      ->default_str("weight");
  command
      .add_option("--random-points", options.random_point_count,
                  "how many points to start from where the scene has none")
      ->check(whole_number(1, kMaxRandomPoints))
      ->capture_default_str();
}

}  // namespace stipple
