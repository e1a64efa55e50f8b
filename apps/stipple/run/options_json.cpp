// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/run/options_json.h"

#include <fmt/format.h>

#include "stipple/core/error.h"
#include "stipple/io/input_file.h"
#include "stipple/io/json.h"
#include "stipple/options/option_text.h"

namespace stipple {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

template <class T>
ordered_json to_json_value(const T& value) {
  if constexpr (std::is_same_v<T, float>)
    return ordered_json::parse(to_text(value));  // 0.0002, not the float's 17 digits
  else if constexpr (std::is_same_v<T, std::optional<float>>)
    return value ? to_json_value(*value) : ordered_json(to_text(value));
  else if constexpr (std::is_arithmetic_v<T>)
    return value;
  else
    return to_text(value);
}

std::string text_of(const json& value) {
  return value.is_string() ? bytes_from_utf8(value.get<std::string>()) : value.dump();
}

template <class T>
void from_json_value(const json& object, const char* name, const std::string& file, T& value) {
  const auto found = object.find(name);
  if (found == object.end()) return;
  if (const auto problem = parse_option(text_of(*found), value))
    throw Error(fmt::format("{}: {} {}", file, name, *problem));
}

json load_options(const std::filesystem::path& path) {
  const json parsed = parse_json(read_text(path));
  if (!parsed.is_object() || !parsed.contains("train") || !parsed["train"].is_object())
    throw Error(fmt::format("{}: this is not the options.json of a training run", path.string()));
  return parsed;
}

}  // namespace

ordered_json scene_options_to_json(const SceneOptions& options) {
  ordered_json out;
  for_each_scene_option(options, [&](const char* name, const char*, const auto& value, const char*) {
    out[name] = to_json_value(value);
  });
  return out;
}

ordered_json run_options_to_json(const RunOptions& options) {
  ordered_json out;
  for_each_run_option(options, [&](const char* name, const char*, const auto& value, const char*) {
    out[name] = to_json_value(value);
  });
  return out;
}

void scene_options_from_json(const json& object, const std::string& file, SceneOptions& options) {
  for_each_scene_option(options, [&](const char* name, const char*, auto& value, const char*) {
    from_json_value(object, name, file, value);
  });
}

void render_options_from_json(const json& object, const std::string& file, RenderOptions& options) {
  for_each_render_option(options, [&](const char* name, auto& value, OptionRange, const char*) {
    from_json_value(object, name, file, value);
  });
}

OptionTexts load_option_texts(const std::filesystem::path& path) {
  const json file = load_options(path);
  OptionTexts texts;
  for (const char* part : {"train", "scene_options"})
    if (file.contains(part) && file[part].is_object())
      for (const auto& [name, value] : file[part].items()) texts[name] = text_of(value);
  try {
    resolve(GivenOptions{{}, {}, texts});
  } catch (const OptionError& error) {
    throw Error(fmt::format("{}: {}", path.string(), error.what()));
  }
  return texts;
}

}  // namespace stipple
