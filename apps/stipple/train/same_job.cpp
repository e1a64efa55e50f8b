// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/train/same_job.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "apps/stipple/options/option_flags.h"
#include "apps/stipple/run/options_json.h"
#include "stipple/core/checksum.h"

namespace stipple {

namespace {

constexpr const char* kAdvice =
    "for processes that work independently, set STIPPLE_MPI=off in the environment";

constexpr std::array<std::string_view, 3> kOfTheMachine = {"device", "max_ram", "max_vram"};

void add_options(const nlohmann::ordered_json& options, std::vector<Fact>& facts) {
  for (const auto& [name, value] : options.items())
    if (std::ranges::find(kOfTheMachine, name) == kOfTheMachine.end())
      facts.push_back({flag_of(name), value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)});
}

std::string photos(const Scene& scene) {
  std::uint32_t sum = 0;
  for (const SceneView& view : scene.views) {
    const std::string photo =
        fmt::format("{} {}x{}\n", view.name, view.camera.width_px, view.camera.height_px);
    sum = checksum(sum, std::as_bytes(std::span(photo)));
  }
  return fmt::format("{} photos with checksum {:08x} of their names and sizes", scene.views.size(), sum);
}

}  // namespace

void require_same_arguments(Ranks& ranks, std::vector<Fact> arguments) {
  arguments.insert(arguments.begin(), Fact{"the version of stipple", STIPPLE_VERSION});
  require_same(ranks, arguments, kAdvice);
}

void require_same_training(Ranks& ranks, const RunOptions& options, const Scene& scene) {
  std::vector<Fact> facts{
      {"what the scene has", fmt::format("{} and {} points", photos(scene), scene.points.size())}};
  add_options(scene_options_to_json(options.scene), facts);
  add_options(run_options_to_json(options), facts);
  require_same(ranks, facts, kAdvice);
}

}  // namespace stipple
