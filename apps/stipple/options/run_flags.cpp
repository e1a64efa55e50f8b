// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/options/run_flags.h"

#include <fmt/format.h>

#include "apps/stipple/options/backend_choice.h"
#include "apps/stipple/options/option_flags.h"
#include "apps/stipple/run/options_json.h"

namespace stipple {

void add_run_flags(CLI::App& command, RunFlags& flags) {
  command
      .add_option("--preset", flags.preset,
                  "set the number of steps and the maximum number of Gaussians together")
      ->check(CLI::IsMember(preset_names()))
      ->group("Run");
  command
      .add_option("--config", flags.config,
                  "use the options of an earlier run, from its options.json; flags take precedence")
      ->group("Run");
  const RunOptions defaults;
  for_each_run_option(defaults,
                      [&](const char* name, const char* group, const auto& value, const char* help) {
                        add_option_flag(command, name, group, value, help, flags.given);
                      });
  command.get_option("--backend")->type_name(kBackendType);
  add_scene_flags(command, flags.given);
}

void add_scene_flags(CLI::App& command, OptionTexts& given) {
  const SceneOptions defaults;
  for_each_scene_option(defaults,
                        [&](const char* name, const char* group, const auto& value, const char* help) {
                          add_option_flag(command, name, group, value, help, given);
                        });
}

namespace {

GivenOptions given_by(const RunFlags& flags) {
  OptionTexts earlier;
  if (!flags.config.empty()) earlier = load_option_texts(flags.config);
  return {flags.given, flags.preset, earlier};
}

}  // namespace

RunOptions resolve(const RunFlags& flags) { return resolve(given_by(flags)); }

RunOptions resolve(const RunFlags& flags, const Scene& scene) { return resolve(given_by(flags), scene); }

}  // namespace stipple
