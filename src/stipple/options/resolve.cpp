// SPDX-License-Identifier: Apache-2.0
#include "stipple/options/resolve.h"

#include <fmt/format.h>

#include <algorithm>

#include "stipple/core/error.h"
#include "stipple/core/nearest_name.h"
#include "stipple/options/option_text.h"

namespace stipple {

namespace {

struct Preset {
  const char* name;
  int steps;
  std::size_t max_gaussians;
};
constexpr Preset kPresets[] = {
    {"fast", 7'000, 200'000}, {"balanced", 15'000, 1'000'000}, {"best", 30'000, 2'000'000}};

const Preset* find_preset(const std::string& name) {
  if (name.empty()) return nullptr;
  for (const Preset& p : kPresets)
    if (name == p.name) return &p;
  throw OptionError("preset", fmt::format("must be fast, balanced or best, not '{}'", name));
}

template <class Options, class F>
void for_each_option(Options& o, F f) {
  for_each_run_option(o, f);
  for_each_scene_option(o.scene, f);
}

template <class T>
void apply(const OptionTexts& texts, const char* name, T& value) {
  const auto found = texts.find(name);
  if (found == texts.end()) return;
  if (const auto problem = parse_option(found->second, value)) throw OptionError(name, *problem);
}

void apply_all(const OptionTexts& texts, RunOptions& options) {
  for_each_option(
      options, [&](const char* name, const char*, auto& value, const char*) { apply(texts, name, value); });
}

void check_names(const OptionTexts& texts) {
  std::vector<std::string> known;
  RunOptions options;
  for_each_option(options,
                  [&](const char* name, const char*, const auto&, const char*) { known.emplace_back(name); });
  for (const auto& [name, text] : texts) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string nearest = nearest_name(name, known);
    throw UnknownOption(name, nearest.empty() ? "is not an option"
                                              : fmt::format("is not an option; did you mean {}?", nearest));
  }
}

// The strategy and absgrad change the defaults of other options, so they are resolved first.
template <class T>
T value_of(const GivenOptions& options, const char* name, T value) {
  apply(options.earlier, name, value);
  apply(options.given, name, value);
  return value;
}

// A photo that is blended over white shows a scene in front of white, and so are objects usually shown. That
// they end where they are transparent is learnt only if the background keeps changing.
//
// An earlier run has a value for both options, which followed from its alpha. It says nothing about a run
// with another alpha.
void apply_alpha(const GivenOptions& from, RunOptions& options) {
  const AlphaUse alpha = options.scene.alpha;
  const auto earlier_alpha = from.earlier.find("alpha");
  const bool is_same = earlier_alpha == from.earlier.end() || earlier_alpha->second == to_text(alpha);
  const auto is_set = [&](const char* name) {
    return from.given.contains(name) || (is_same && from.earlier.contains(name));
  };
  const bool is_object = alpha == AlphaUse::kObject, is_white = is_object || alpha == AlphaUse::kWhite;
  if (!is_set("background")) options.train.render.background = is_white ? Vec3f(1, 1, 1) : Vec3f(0, 0, 0);
  if (!is_set("random_background")) options.train.random_background = is_object;
}

}  // namespace

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const Preset& p : kPresets) names.push_back(p.name);
  return names;
}

RunOptions resolve(const GivenOptions& from) {
  check_names(from.given);
  const Preset* preset = find_preset(from.preset);
  const Strategy strategy = value_of(from, "strategy", RunOptions().train.strategy);
  RunOptions options;
  options.train =
      default_train_options(strategy, value_of(from, "absgrad", RunOptions().train.absolute_gradients));
  if (preset) {
    options.train.steps = preset->steps;
    options.train.max_gaussians = preset->max_gaussians;
  }
  apply_all(from.earlier, options);
  apply_all(from.given, options);
  apply_alpha(from, options);
  options.train.max_photo_bytes = static_cast<std::size_t>(options.max_ram_gib * (1u << 30));
  options.scene.seed = options.train.seed;
  check(options);
  return options;
}

RunOptions resolve(GivenOptions from, const Scene& scene) {
  if (scene.alpha != AlphaUse::kAuto) from.given["alpha"] = to_text(scene.alpha);
  return resolve(from);
}

OptionTexts to_texts(const RunOptions& options) {
  OptionTexts texts;
  for_each_option(options, [&](const char* name, const char*, const auto& value, const char*) {
    texts[name] = to_text(value);
  });
  return texts;
}

}  // namespace stipple
