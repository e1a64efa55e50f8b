// SPDX-License-Identifier: Apache-2.0
// stipple check: what a scene contains, its problems, and how to solve them.
#include <fmt/format.h>

#include <memory>

#include "apps/stipple/commands.h"
#include "apps/stipple/options/run_flags.h"
#include "apps/stipple/terminal/format.h"
#include "apps/stipple/terminal/message.h"
#include "apps/stipple/terminal/standard_files.h"
#include "apps/stipple/terminal/write_json.h"
#include "stipple/core/error.h"
#include "stipple/io/image/image_file.h"
#include "stipple/io/output_file.h"
#include "stipple/options/option_text.h"
#include "stipple/scene/check_scene.h"
#include "stipple/scene/draw_scene.h"

namespace stipple {

namespace {

struct CheckArguments {
  std::string scene, drawing;
  bool json = false;
  OptionTexts given;
};

std::string list(const std::map<std::string, std::size_t>& counts) {
  std::string text;
  for (const auto& [name, count] : counts)
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", name,
                        counts.size() > 1 ? fmt::format(" ({})", count) : "");
  return text;
}

void print_facts(const SceneReport& report) {
  const Scene& scene = report.scene;
  if (scene.views.empty()) return;
  print("format   {}\n", scene.format);
  print("images   {}: {} to train on, {} held out with --eval\n", scene.views.size(),
        scene.train_views().size(), scene.test_views().size());
  print("size     {}\n", list(report.image_count_from_size));
  print("cameras  {}\n", list(report.image_count_from_model));
  print("points   {}{}\n", scene.points.size(),
        scene.has_random_points ? " (random)"
        : scene.has_carved_points
            ? " carved from the masks"
            : fmt::format(", of which a photo shows about {}", report.points_per_image));
  if (!scene.alpha_reason.empty()) print("alpha    {}: {}\n", to_text(scene.alpha), scene.alpha_reason);
  if (report.mask_count > 0) print("masks    {}\n", report.mask_count);
  print("memory   {} for photos, {} per million Gaussians\n", format_bytes(report.photo_bytes),
        format_bytes(report.bytes_per_million_gaussians));
}

void print_problems(const SceneReport& report) {
  for (const SceneProblem& p : report.problems) {
    print("{}: {}\n", p.is_fatal ? "error" : "warning", p.what);
    if (!p.advice.empty()) print("    {}\n", advice_of(p));
  }
}

void print_json(const SceneReport& report) {
  const Scene& scene = report.scene;
  nlohmann::ordered_json out;
  out["path"] = scene.path.string();
  out["would_train"] = report.would_train();
  out["format"] = scene.format;
  out["images"] = scene.views.size();
  out["train_images"] = scene.train_views().size();
  out["test_images"] = scene.test_views().size();
  out["sizes"] = report.image_count_from_size;
  out["camera_models"] = report.image_count_from_model;
  out["points"] = scene.points.size();
  out["points_are_random"] = scene.has_random_points;
  out["points_are_carved"] = scene.has_carved_points;
  out["points_per_image"] = report.points_per_image;
  out["alpha"] = to_text(scene.alpha);
  out["alpha_reason"] = scene.alpha_reason.empty() ? "no photo has an alpha channel" : scene.alpha_reason;
  out["masks"] = report.mask_count;
  out["photo_bytes"] = report.photo_bytes;
  out["bytes_per_million_gaussians"] = report.bytes_per_million_gaussians;
  out["problems"] = nlohmann::ordered_json::array();
  for (const SceneProblem& p : report.problems) {
    nlohmann::ordered_json problem;
    problem["severity"] = p.is_fatal ? "error" : "warning";
    problem["what"] = p.what;
    problem["advice"] = advice_of(p);
    out["problems"].push_back(problem);
  }
  write_json(out);
}

void run_check(const CheckArguments& a) {
  if (!a.drawing.empty()) OutputFile::check(a.drawing);
  const SceneReport report = check_scene(a.scene, resolve(GivenOptions{a.given, {}, {}}).scene);
  if (a.json) {
    print_json(report);
  } else {
    print_facts(report);
    print_problems(report);
    if (report.would_train()) print("status   good: ready for stipple train\n");
  }
  if (!a.drawing.empty() && !report.scene.views.empty()) save_png(draw_scene(report.scene), a.drawing);
  if (!report.would_train())
    throw Error(fmt::format("{}: training would fail because of the errors above", a.scene));
}

}  // namespace

void add_check(CLI::App& app) {
  auto a = std::make_shared<CheckArguments>();
  CLI::App* command = app.add_subcommand("check", "Check a scene for problems before training");
  command
      ->add_option("scene", a->scene,
                   "folder with a COLMAP model, a transforms.json or cameras of another program")
      ->required();
  command->add_option("-o,--output", a->drawing,
                      ".png file for a drawing of the cameras and points, from above and from the side");
  command->add_flag("--json", a->json, "print the report as JSON");
  add_scene_flags(*command, a->given);
  command->callback([a] { run_check(*a); });
}

}  // namespace stipple
