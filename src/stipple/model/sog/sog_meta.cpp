// SPDX-License-Identifier: Apache-2.0
#include "stipple/model/sog/sog_meta.h"

#include <fmt/format.h>

#include <cmath>

#include "stipple/core/error.h"
#include "stipple/io/input_file.h"
#include "stipple/io/json.h"
#include "stipple/model/formats/quantise.h"

namespace stipple {

namespace {

using nlohmann::json;

// Values of an object by name; what is missing or of the wrong type is an Error that says where.
class Fields {
 public:
  Fields(const json& object, std::string place) : object_(object), place_(std::move(place)) {
    if (!object.is_object()) throw Error(fmt::format("{}: this is not an object; export it again", place_));
  }

  bool has(const char* name) const { return object_.contains(name) && !object_[name].is_null(); }

  const json& at(const char* name) const {
    const auto found = object_.find(name);
    if (found == object_.end()) throw Error(fmt::format("{}: {} is missing; export it again", place_, name));
    return *found;
  }
  Fields object(const char* name) const { return {at(name), fmt::format("{}: {}", place_, name)}; }

  // An array of `count` items, or one of any length from there on.
  const json& items(const char* name, std::size_t count) const {
    const json& value = at(name);
    if (!value.is_array() || value.size() < count) fail(name, fmt::format("an array of {} values", count));
    return value;
  }

  template <class Number, std::size_t kCount>
  std::array<Number, kCount> numbers(const char* name) const {
    std::array<Number, kCount> result;
    const json& values = items(name, kCount);
    for (std::size_t i = 0; i < kCount; ++i) result[i] = number<Number>(values[i], name);
    return result;
  }

  template <class Number>
  Number number(const json& value, const char* name) const {
    const double wide = value.is_number() ? value.get<double>() : NAN;
    const auto result = static_cast<Number>(wide);
    if (!std::isfinite(result)) fail(name, "finite numbers");
    return result;
  }

  std::size_t size(const json& value, const char* name) const {
    if (!value.is_number_unsigned()) fail(name, "a whole number");
    return value.get<std::size_t>();
  }

  std::string file(std::size_t index) const {
    const json& name = items("files", index + 1)[index];
    if (!name.is_string()) fail("files", "names");
    return name.get<std::string>();
  }

  [[noreturn]] void fail(const char* name, const std::string& wanted) const {
    throw Error(fmt::format("{}: {} must be {}; export it again", place_, name, wanted));
  }

 private:
  const json& object_;
  std::string place_;
};

ByteTable ramp(float low, float high) {
  ByteTable table;
  for (std::size_t i = 0; i < table.size(); ++i)
    table[i] = low + (high - low) * (static_cast<float>(i) / 255);
  return table;
}

void parse_means(const Fields& means, SogMeta& meta) {
  meta.low = means.numbers<double, 3>("mins");
  meta.high = means.numbers<double, 3>("maxs");
  for (const double limit : {meta.low[0], meta.low[1], meta.low[2], meta.high[0], meta.high[1], meta.high[2]})
    if (!std::isfinite(static_cast<float>(unsqueeze_position(limit))))
      means.fail("mins and maxs", "logarithms of positions");
  meta.mean_files = {means.file(0), means.file(1)};
}

void parse_version_1(const Fields& root, SogMeta& meta) {
  const Fields means = root.object("means"), scales = root.object("scales"), color = root.object("sh0");
  meta.count = means.size(means.items("shape", 1)[0], "shape");
  const auto scale_low = scales.numbers<float, 3>("mins"), scale_high = scales.numbers<float, 3>("maxs");
  const auto color_low = color.numbers<float, 4>("mins"), color_high = color.numbers<float, 4>("maxs");
  for (std::size_t i = 0; i < 3; ++i) {
    meta.scale[i] = ramp(scale_low[i], scale_high[i]);
    meta.color[i] = ramp(color_low[i], color_high[i]);
  }
  meta.logit_opacity = ramp(color_low[3], color_high[3]);
  if (!root.has("shN")) return;
  const Fields rest = root.object("shN");
  SogHarmonics harmonics;
  harmonics.table =
      ramp(rest.number<float>(rest.at("mins"), "mins"), rest.number<float>(rest.at("maxs"), "maxs"));
  meta.harmonics = harmonics;
}

void parse_version_2(const Fields& root, SogMeta& meta) {
  meta.count = root.size(root.at("count"), "count");
  meta.antialiased = root.has("model") && root.at("model") == "antialiased";
  meta.scale.fill(root.object("scales").numbers<float, 256>("codebook"));
  meta.color.fill(root.object("sh0").numbers<float, 256>("codebook"));
  for (std::size_t i = 0; i < 256; ++i) meta.logit_opacity[i] = logit_of_byte(static_cast<std::uint8_t>(i));
  if (!root.has("shN")) return;
  const Fields rest = root.object("shN");
  SogHarmonics harmonics;
  harmonics.palette_size = rest.size(rest.at("count"), "count");
  const std::size_t degree = rest.size(rest.at("bands"), "bands");
  if (degree < 1 || degree > 3) rest.fail("bands", "1, 2 or 3");
  if (harmonics.palette_size < 1 || harmonics.palette_size > 1 << 16) rest.fail("count", "from 1 to 65536");
  harmonics.degree = static_cast<int>(degree);
  harmonics.table = rest.numbers<float, 256>("codebook");
  meta.harmonics = harmonics;
}

std::string list(const auto& values) { return fmt::format("[{}]", fmt::join(values, ",")); }

}  // namespace

SogMeta parse_sog_meta(std::string_view text, const std::string& name) {
  if (const std::string_view excess = json_excess(text); !excess.empty())
    throw Error(fmt::format("{} {}", name, excess));
  const json parsed = parse_json(text);
  if (parsed.is_discarded())
    throw Error(fmt::format("{}: this is not valid JSON; the file is truncated or damaged", name));
  const Fields root(parsed, name);
  SogMeta meta;
  if (root.has("version")) {
    if (root.size(root.at("version"), "version") != 2)
      throw Error(fmt::format("{}: only versions 1 and 2 of SOG can be read", name));
  } else {
    meta.version = 1;
  }
  parse_means(root.object("means"), meta);
  meta.version == 1 ? parse_version_1(root, meta) : parse_version_2(root, meta);
  meta.rotation_file = root.object("quats").file(0);
  meta.scale_file = root.object("scales").file(0);
  meta.color_file = root.object("sh0").file(0);
  if (meta.harmonics) {
    meta.harmonics->palette_file = root.object("shN").file(0);
    meta.harmonics->label_file = root.object("shN").file(1);
  }
  return meta;
}

std::string sog_meta_text(const SogMetaValues& v) {
  std::string text = fmt::format(R"({{"version":2,"asset":{{"generator":"Stipple"}},"count":{},)", v.count);
  if (v.antialiased) text += R"("model":"antialiased",)";
  text +=
      fmt::format(R"("means":{{"mins":{},"maxs":{},"files":["means_l.webp","means_u.webp"]}},)"
                  R"("scales":{{"codebook":{},"files":["scales.webp"]}},"quats":{{"files":["quats.webp"]}},)"
                  R"("sh0":{{"codebook":{},"files":["sh0.webp"]}})",
                  list(v.low), list(v.high), list(v.scale), list(v.color));
  if (v.palette_size > 0)
    text += fmt::format(
        R"(,"shN":{{"count":{},"bands":{},"codebook":{},"files":["shN_centroids.webp","shN_labels.webp"]}})",
        v.palette_size, v.degree, list(v.harmonics));
  return text + "}";
}

double squeeze_position(double x) { return std::copysign(std::log1p(std::abs(x)), x); }
double unsqueeze_position(double x) { return std::copysign(std::expm1(std::abs(x)), x); }

}  // namespace stipple
