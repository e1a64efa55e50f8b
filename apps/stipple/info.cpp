// SPDX-License-Identifier: Apache-2.0
// stipple info: describes a model.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/stipple/commands.h"
#include "apps/stipple/run/run_model.h"
#include "apps/stipple/terminal/format.h"
#include "apps/stipple/terminal/standard_files.h"
#include "apps/stipple/terminal/write_json.h"
#include "stipple/clean/clean.h"
#include "stipple/math/math.h"

namespace stipple {

namespace {

constexpr int kPercentiles[] = {0, 5, 25, 50, 75, 95, 100};

struct ModelInfo {
  ModelFacts facts;
  std::uintmax_t bytes = 0;
  std::size_t count = 0;
  int sh_degree = 0;
  Vec3f low{0, 0, 0}, high{0, 0, 0};  // bounding box of the means that are finite
  std::vector<float> opacity, scale;  // at kPercentiles; empty if there are no values
  std::size_t non_finite = 0;         // number of Gaussians with a NaN or infinite value
  std::vector<std::string> non_finite_fields;
  // What stipple clean would remove without a scene, apart from the non-finite ones, indexed by Defect.
  std::array<CleanedClass, kDefectNames.size()> defects;
};

std::vector<float> percentiles(std::vector<float> values) {
  std::erase_if(values, [](float v) { return std::isnan(v); });
  std::vector<float> result;
  if (values.empty()) return result;
  std::sort(values.begin(), values.end());
  for (int p : kPercentiles) result.push_back(values[(values.size() - 1) * p / 100]);
  return result;
}

// Marks the Gaussians with a NaN or infinite value in this array. Returns whether there are any.
template <class T>
bool mark_non_finite(const std::vector<T>& array, std::vector<char>& is_bad) {
  const float* values = reinterpret_cast<const float*>(array.data());
  std::size_t per_gaussian = is_bad.empty() ? 0 : array.size() * (sizeof(T) / sizeof(float)) / is_bad.size();
  bool any = false;
  for (std::size_t i = 0; i < per_gaussian * is_bad.size(); ++i)
    if (!std::isfinite(values[i])) {
      is_bad[i / per_gaussian] = 1;
      any = true;
    }
  return any;
}

ModelInfo inspect(const std::filesystem::path& path) {
  ModelInfo info;
  const Gaussians g = load_model(path, &info.facts);
  info.bytes = model_bytes(path);
  info.count = g.size();
  info.sh_degree = g.sh_degree;
  std::vector<char> is_bad(g.size(), 0);
  if (mark_non_finite(g.mean, is_bad)) info.non_finite_fields.push_back("mean");
  if (mark_non_finite(g.log_scale, is_bad)) info.non_finite_fields.push_back("scale");
  if (mark_non_finite(g.rotation, is_bad)) info.non_finite_fields.push_back("rotation");
  if (mark_non_finite(g.logit_opacity, is_bad)) info.non_finite_fields.push_back("opacity");
  if (mark_non_finite(g.sh, is_bad)) info.non_finite_fields.push_back("sh");
  info.non_finite = static_cast<std::size_t>(std::count(is_bad.begin(), is_bad.end(), 1));

  bool first = true;
  std::vector<float> opacities, scales;
  for (std::size_t i = 0; i < g.size(); ++i) {
    opacities.push_back(Math<float>::sigmoid(g.logit_opacity[i]));
    Vec3f s = Math<float>::scale_from_log(g.log_scale[i], 1);
    scales.insert(scales.end(), {s.x, s.y, s.z});
    Vec3f m = g.mean[i];
    if (!std::isfinite(m.x) || !std::isfinite(m.y) || !std::isfinite(m.z)) continue;
    for (int k = 0; k < 3; ++k) {
      info.low[k] = first ? m[k] : std::min(info.low[k], m[k]);
      info.high[k] = first ? m[k] : std::max(info.high[k], m[k]);
    }
    first = false;
  }
  info.opacity = percentiles(std::move(opacities));
  info.scale = percentiles(std::move(scales));
  info.defects = clean(g).classes;
  return info;
}

// The kinds of defects that can be told from the shape of a Gaussian.
constexpr Defect kShapeDefects[] = {Defect::kFarOutside, Defect::kOversized, Defect::kSpike,
                                    Defect::kFloater};

nlohmann::ordered_json to_json(const std::vector<float>& values) {
  auto json = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < values.size(); ++i) json[fmt::format("p{}", kPercentiles[i])] = values[i];
  return json;
}

void print_json(const ModelInfo& info) {
  nlohmann::ordered_json json = {
      {"format", info.facts.format},
      {"bytes", info.bytes},
      {"antialiased", info.facts.antialiased ? nlohmann::ordered_json(*info.facts.antialiased) : nullptr},
      {"count", info.count},
      {"sh_degree", info.sh_degree},
      {"bounds",
       {{"low", {info.low.x, info.low.y, info.low.z}}, {"high", {info.high.x, info.high.y, info.high.z}}}},
      {"opacity", to_json(info.opacity)},
      {"scale", to_json(info.scale)},
      {"non_finite", {{"gaussians", info.non_finite}, {"fields", info.non_finite_fields}}}};
  for (const Defect defect : kShapeDefects) {
    const auto k = static_cast<std::size_t>(defect);
    std::string name = kDefectNames[k];
    std::replace(name.begin(), name.end(), ' ', '_');
    json["defects"][name] = info.defects[k].found;
  }
  write_json(json);
}

void print_row(const char* name, const std::vector<float>& values) {
  print("{:<11}", name);
  for (float v : values) print(" {:>10.4g}", v);
  print("\n");
}

std::string antialiased_text(const ModelFacts& facts) {
  if (!facts.antialiased) return "";
  return *facts.antialiased ? ", for antialiased rendering" : ", for rendering without antialiasing";
}

void print_text(const std::string& path, const ModelInfo& info) {
  print("{}: {} Gaussians, SH degree {}\n", path, info.count, info.sh_degree);
  print("format      {}, {}{}\n", info.facts.format, format_bytes(info.bytes), antialiased_text(info.facts));
  if (info.count > 0) {
    print("bounds      {:.4g} {:.4g} {:.4g}  to  {:.4g} {:.4g} {:.4g}\n", info.low.x, info.low.y, info.low.z,
          info.high.x, info.high.y, info.high.z);
    print("{:<11}", "percentile");
    for (int p : kPercentiles) print(" {:>10}", p);
    print("\n");
    print_row("opacity", info.opacity);
    print_row("scale", info.scale);
  }
  if (info.non_finite == 0) {
    print("non-finite  none\n");
  } else {
    print("non-finite  {} Gaussians, in", info.non_finite);
    for (const std::string& field : info.non_finite_fields) print(" {}", field);
    print("\n");
  }
  print("defects    ");
  for (const Defect defect : kShapeDefects) {
    const auto k = static_cast<std::size_t>(defect);
    print("{} {} {}", defect == kShapeDefects[0] ? "" : ",", info.defects[k].found, kDefectNames[k]);
  }
  print("\n");
}

}  // namespace

void add_info(CLI::App& app) {
  struct Options {
    std::string model;
    bool json = false;
  };
  auto o = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "info",
      "Describe a model: format, number of Gaussians, bounds, opacities, scales, non-finite values, defects");
  command->add_option("model", o->model, model_help())->required();
  command->add_flag("--json", o->json, "print the description as JSON");
  command->callback([o] {
    ModelInfo info = inspect(model_file(o->model));
    if (o->json)
      print_json(info);
    else
      print_text(o->model, info);
  });
}

}  // namespace stipple
