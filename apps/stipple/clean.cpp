// SPDX-License-Identifier: Apache-2.0
// stipple clean: removes the Gaussians that spoil a model.
#include "stipple/clean/clean.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "apps/stipple/commands.h"
#include "apps/stipple/files/has_extension.h"
#include "apps/stipple/options/backend_choice.h"
#include "apps/stipple/run/run_model.h"
#include "apps/stipple/run/run_scene.h"
#include "apps/stipple/terminal/interrupt.h"
#include "apps/stipple/terminal/progress.h"
#include "apps/stipple/terminal/standard_files.h"
#include "apps/stipple/terminal/table.h"
#include "stipple/clean/report.h"
#include "stipple/compress/survey.h"
#include "stipple/core/error.h"
#include "stipple/edit/select.h"
#include "stipple/io/image/image_file.h"
#include "stipple/io/output_file.h"
#include "stipple/options/resolve.h"

namespace stipple {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPhotoBytes = std::size_t{1} << 30;  // limit for decoded photos

struct CleanArguments {
  std::string model, output, scene, report;
  double max_loss_db = 1;
  BackendChoice backend;
};

// Called before the work, so that a mistake is reported at once.
void check_outputs(const CleanArguments& a) {
  check_model_name(a.output);
  if (!a.report.empty() && !has_extension(a.report, {".png"}))
    throw Error(fmt::format("{}: the name of the report must end in .png", a.report));
  check_model_output(a.output);
  if (!a.report.empty()) OutputFile::check(a.report);
}

void print_classes(const CleanResult& result) {
  const bool has_photos = result.photo_count > 0;
  std::vector<std::vector<std::string>> rows = {{"class", "found", "removed"}};
  if (has_photos) rows[0].push_back("PSNR lost");
  for (std::size_t k = 1; k < result.classes.size(); ++k) {
    const CleanedClass& c = result.classes[k];
    rows.push_back({kDefectNames[k], fmt::format("{}", c.found), fmt::format("{}", c.removed)});
    if (has_photos) rows.back().push_back(c.removed > 0 ? fmt::format("{:.3f} dB", c.loss_db) : "-");
  }
  print_table(rows);
}

std::size_t found_count(const CleanResult& result) {
  std::size_t count = 0;
  for (const CleanedClass& c : result.classes) count += c.found;
  return count;
}

void print_result(const CleanArguments& a, std::size_t count, const CleanResult& result) {
  print_classes(result);
  const std::size_t removed = count - result.kept.size(), kept = found_count(result) - removed;
  if (result.photo_count > 0) {
    print("PSNR on {} training photos: {:.2f} dB before, {:.2f} dB after\n", result.photo_count,
          result.psnr_before, result.psnr_after);
    if (kept > 0)
      print(
          "kept {} of those found, because without them the photos would lose another {:.2f} dB; raise "
          "--max-loss to remove more\n",
          kept, result.psnr_after - result.psnr_without_all);
  } else {
    print("judged by shape alone; with --scene, the photos also show floaters and unsupported Gaussians\n");
  }
  print("{}: {} Gaussians, {} of {} removed\n", a.output, result.kept.size(), removed, count);
}

CleanResult clean_with_photos(const CleanArguments& a, const RunRecord& record, const Scene& scene,
                              const RunModel& model, Backend& backend) {
  const std::vector<std::size_t> views = trained_views(scene, record, is_run(a.model));
  PhotoCache photos(scene.views, kPhotoBytes);
  std::optional<Progress> progress;
  return clean(backend, model.gaussians,
               {.scene = scene,
                .views = views,
                .photos = photos,
                .render = model.render,
                .max_loss_db = a.max_loss_db,
                .progress = [&](std::size_t done, std::size_t total) {
                  stop_if_interrupted();
                  if (done < total) {
                    if (!progress) progress.emplace(static_cast<int>(total));
                    progress->update(static_cast<int>(done), "views");
                  } else if (progress) {  // what follows takes little time
                    progress->finish(static_cast<int>(total), "views");
                    progress.reset();
                  }
                }});
}

void save_report(const CleanArguments& a, const Scene& scene, const RunModel& model,
                 const CleanResult& result, Backend& backend) {
  std::vector<Camera> cameras;
  for (const SceneView& view : scene.views) cameras.push_back(view.camera);
  RenderOptions render = model.render;
  if (cameras.empty()) {
    Survey survey = survey_of(model.gaussians);
    cameras = std::move(survey.cameras);
    render.near_plane = survey.near_plane;
  }
  save_png(clean_report(backend, model.gaussians, result, cameras, render), a.report);
}

void run_clean(const CleanArguments& a) {
  const std::optional<RunRecord> record = record_of_model(a.model, a.scene);
  check_outputs(a);
  catch_interrupts();
  RunModel model = load_run_model(a.model);
  const Gaussians& gaussians = model.gaussians;
  const Scene scene = record ? load_scene(record->scene, record->scene_options) : Scene();
  // A file alone does not say over what it was rendered in training; objects are scored over white.
  if (record && !is_run(a.model))
    model.render.background = resolve(GivenOptions{}, scene).train.render.background;
  const bool needs_backend = record || !a.report.empty();
  const std::unique_ptr<Backend> backend = needs_backend ? a.backend.make() : nullptr;
  const CleanResult result =
      record ? clean_with_photos(a, *record, scene, model, *backend) : clean(gaussians);
  if (!a.report.empty()) save_report(a, scene, model, result, *backend);
  stop_if_interrupted();
  save_model(select(gaussians, result.kept), a.output, {.antialiased = model.render.antialiased});
  print_result(a, gaussians.size(), result);
}

}  // namespace

void add_clean(CLI::App& app) {
  auto a = std::make_shared<CleanArguments>();
  CLI::App* command =
      app.add_subcommand("clean", "Remove floaters, spikes and other Gaussians that spoil a model");
  command->add_option("model", a->model, model_help())->required();
  command->add_option("-o,--output", a->output, written_model_help() + " for the cleaned model")->required();
  command->add_option(
      "--scene", a->scene,
      "folder of the scene, whose photos show what can be removed; by default, the scene of the run; "
      "for a file without it, only what is certain from its shape is removed");
  command->add_option("--report", a->report,
                      ".png file with views of the model before and after, and with each class in a colour");
  command
      ->add_option("--max-loss", a->max_loss_db,
                   "PSNR in dB that the training photos may lose; what they need more than that is kept")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  add_backend_options(*command, a->backend);
  command->callback([a] { run_clean(*a); });
}

}  // namespace stipple
