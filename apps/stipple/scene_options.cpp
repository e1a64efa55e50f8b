// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/scene_options.h"

#include <fmt/format.h>

#include "apps/stipple/commands.h"

namespace stipple {

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
      ->transform(CLI::CheckedTransformer(alpha_uses(), CLI::ignore_case).description("{weight,white,black}"))
      ->default_str("weight");
  command
      .add_option("--random-points", options.random_point_count,
                  "how many points to start from where the scene has none")
      ->check(whole_number(1, kMaxRandomPoints))
      ->capture_default_str();
}

const std::map<std::string, AlphaUse>& alpha_uses() {
  static const std::map<std::string, AlphaUse> uses = {
      {"weight", AlphaUse::kWeight}, {"white", AlphaUse::kWhite}, {"black", AlphaUse::kBlack}};
  return uses;
}

std::string format_bytes(std::size_t bytes) {
  const double mebibytes = static_cast<double>(bytes) / (1 << 20);
  return mebibytes < 1000 ? fmt::format("{:.0f} MiB", mebibytes)
                          : fmt::format("{:.1f} GiB", mebibytes / 1024);
}

}  // namespace stipple
