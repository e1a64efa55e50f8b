// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/options/train_flags.h"

#include <fmt/format.h>

#include <fstream>

#include "apps/stipple/options/option_flags.h"
#include "stipple/core/error.h"
#include "stipple/io/input_file.h"
#include "stipple/options/option_text.h"

namespace stipple {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

struct Preset {
  const char* name;
  Strategy strategy;
  int steps;
  std::size_t max_gaussians;
};
constexpr Preset kPresets[] = {{"fast", Strategy::kAdc, 7'000, 200'000},
                               {"balanced", Strategy::kAdc, 15'000, 1'000'000},
                               {"best", Strategy::kMcmc, 30'000, 2'000'000}};

const Preset* find_preset(const std::string& name) {
  for (const Preset& p : kPresets)
    if (name == p.name) return &p;
  return nullptr;
}

template <class T>
ordered_json to_json_value(const T& value) {
  if constexpr (std::is_same_v<T, float>)
    return ordered_json::parse(to_text(value));  // 0.0002, not that float's 17 digits
  else if constexpr (std::is_arithmetic_v<T>)
    return value;
  else
    return to_text(value);
}

// JSON keys are the flags with _ for -.
std::string key_of(std::string flag) {
  std::replace(flag.begin(), flag.end(), '-', '_');
  return flag;
}

// A value out of a file. Numbers are read as they were written.
template <class T>
void from_json_value(const json& object, const std::string& flag, const std::string& file, T& value) {
  const auto found = object.find(key_of(flag));
  if (found == object.end()) return;
  const std::string text = found->is_string() ? found->get<std::string>() : found->dump();
  if (const auto complaint = parse_option(text, value))
    throw Error(fmt::format("{}: {}: {}", file, key_of(flag), *complaint));
}

json load_config(const std::string& path) {
  InputFile file(path);
  const std::span<const std::byte> bytes = file.take_rest();
  const char* text = reinterpret_cast<const char*>(bytes.data());
  json parsed = json::parse(text, text + bytes.size(), nullptr, false);
  if (!parsed.is_object() || !parsed.contains("train") || !parsed["train"].is_object())
    throw Error(fmt::format("{}: this is no options.json of a run", path));
  return parsed;
}

void apply(const json& file, const std::string& name, RunOptions& options) {
  if (file.contains("scene_options")) scene_options_from_json(file["scene_options"], name, options.scene);
  for_each_run_option(options, [&](const char* flag, const char*, auto& value, const char*) {
    from_json_value(file["train"], flag, name, value);
  });
}

}  // namespace

void add_run_options(CLI::App& command, GivenOptions& given) {
  command.add_option("--preset", given.preset, "steps, cap and strategy together: fast, balanced or best")
      ->check(CLI::IsMember({"fast", "balanced", "best"}))
      ->group("Run");
  command
      .add_option("--config", given.config,
                  "take all options from a run's options.json; flags go before them")
      ->group("Run");
  const RunOptions standard;
  const auto add = [&](const char* flag, const char* group, const auto& value, const char* help) {
    add_option_flag(command, flag, group, value, help, given.text_from_flag);
  };
  for_each_run_option(standard, add);
  for_each_scene_option(standard.scene, add);
}

RunOptions resolve(const GivenOptions& given) {
  const json config = given.config.empty() ? json() : load_config(given.config);
  const Preset* preset = find_preset(given.preset);
  Strategy strategy = preset ? preset->strategy : Strategy::kAdc;
  if (!config.is_null()) from_json_value(config["train"], "strategy", given.config, strategy);
  apply_flag(given.text_from_flag, "strategy", strategy);

  RunOptions options;
  options.train = default_train_options(strategy, given.text_from_flag.contains("absgrad"));
  if (preset) {
    options.train.steps = preset->steps;
    options.train.max_gaussians = preset->max_gaussians;
  }
  if (!config.is_null()) apply(config, given.config, options);
  const auto take = [&](const char* flag, const char*, auto& value, const char*) {
    apply_flag(given.text_from_flag, flag, value);
  };
  for_each_run_option(options, take);
  for_each_scene_option(options.scene, take);
  // Photos that are put on white are of a scene in front of white.
  if (options.scene.alpha == AlphaUse::kWhite && config.is_null() &&
      !given.text_from_flag.contains("background"))
    options.train.render.background = {1, 1, 1};
  options.train.max_photo_bytes = static_cast<std::size_t>(options.max_ram_gib * (1u << 30));
  options.scene.seed = options.train.seed;
  check(options);
  return options;
}

ordered_json scene_options_to_json(const SceneOptions& options) {
  ordered_json out;
  for_each_scene_option(options, [&](const char* flag, const char*, const auto& value, const char*) {
    out[key_of(flag)] = to_json_value(value);
  });
  return out;
}

ordered_json run_options_to_json(const RunOptions& options) {
  ordered_json out;
  for_each_run_option(options, [&](const char* flag, const char*, const auto& value, const char*) {
    out[key_of(flag)] = to_json_value(value);
  });
  return out;
}

void render_options_from_json(const json& object, const std::string& file, RenderOptions& options) {
  for_each_render_option(options, [&](const char* flag, auto& value, OptionRange, const char*) {
    from_json_value(object, flag, file, value);
  });
}

void scene_options_from_json(const json& object, const std::string& file, SceneOptions& options) {
  for_each_scene_option(options, [&](const char* flag, const char*, auto& value, const char*) {
    from_json_value(object, flag, file, value);
  });
}

}  // namespace stipple
