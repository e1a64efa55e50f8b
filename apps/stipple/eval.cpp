// SPDX-License-Identifier: Apache-2.0
// stipple eval: scores a model on photos, usually those that it was not trained on.
#include <fmt/format.h>

#include <memory>

#include "apps/stipple/commands.h"
#include "apps/stipple/options/backend_choice.h"
#include "apps/stipple/options/option_flags.h"
#include "apps/stipple/run/run_folder.h"
#include "apps/stipple/run/run_model.h"
#include "apps/stipple/terminal/format.h"
#include "apps/stipple/terminal/message.h"
#include "apps/stipple/terminal/progress.h"
#include "apps/stipple/terminal/table.h"
#include "apps/stipple/terminal/write_json.h"
#include "stipple/core/error.h"
#include "stipple/evaluate/contact_sheet.h"
#include "stipple/io/image/image_file.h"
#include "stipple/io/output_file.h"
#include "stipple/options/resolve.h"

namespace stipple {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kPhotoBytes = std::size_t{1} << 30;  // limit for decoded photos
constexpr const char* kAntialiased = "antialiased";
constexpr const char* kGiveScene = "give the scene's folder as the second argument";

struct EvalArguments {
  std::string run, scene, sheet;
  BackendChoice backend;
  OptionTexts given;  // antialiased
  bool train = false, json = false;
};

struct Subject {          // what is evaluated
  fs::path model, sheet;  // sheet: the contact sheet to write; empty means none
  RunRecord options;
  bool is_run = false;  // otherwise `options` has only the scene
};

// A name with an extension is that of a model, even if there is none.
bool names_model(const fs::path& path) { return !is_run(path) && (fs::exists(path) || path.has_extension()); }

Subject subject_of_model(const EvalArguments& a) {
  if (a.scene.empty()) throw Error(fmt::format("{}: a model does not name its scene; {}", a.run, kGiveScene));
  Subject subject{a.run, a.sheet, {}};
  subject.options.scene = a.scene;
  return subject;
}

Subject subject_of_run(const EvalArguments& a) {
  const fs::path folder = a.run;
  check_run_folder(folder);
  Subject subject{model_file(folder), a.sheet.empty() ? folder / "contact_sheet.png" : fs::path(a.sheet), {}};
  subject.options = load_run_record(folder);
  subject.is_run = true;
  if (!a.scene.empty()) subject.options.scene = a.scene;
  if (!fs::exists(subject.options.scene))
    throw Error(fmt::format("{}: the run's scene is not at {}; {}", a.run, subject.options.scene.string(),
                            kGiveScene));
  if (!a.train && !subject.options.held_out_tests)
    print_warning(
        fmt::format("{} was trained without --eval, so it was also trained on its test views", a.run));
  return subject;
}

std::vector<std::size_t> views_to_score(const Scene& scene, bool train) {
  const std::vector<std::size_t> views = train ? scene.train_views() : scene.test_views();
  if (views.empty())
    throw Error(fmt::format("{}: the scene has no {} views; {} --train", scene.path.string(),
                            train ? "training" : "test", train ? "leave out" : "use"));
  return views;
}

// A file does not say how it was rendered in training, apart from antialiasing; objects are scored over
// white.
RenderOptions render_options(const EvalArguments& a, const Subject& subject, const Scene& scene,
                             const ModelFacts& facts) {
  RenderOptions options = subject.options.render;
  if (!subject.is_run) {
    options = resolve(GivenOptions{}, scene).train.render;
    options.antialiased = facts.antialiased.value_or(options.antialiased);
  }
  apply_flag(a.given, kAntialiased, options.antialiased);
  return options;
}

void print_scores(const Evaluation& evaluation) {
  std::vector<std::vector<std::string>> rows = {{"view", "PSNR", "SSIM"}};
  const auto add = [&](const std::string& name, double psnr, double ssim) {
    rows.push_back({name, format_number(psnr, 2), format_number(ssim, 4)});
  };
  for (const ViewScore& v : evaluation.views) add(v.name, v.psnr, v.ssim);
  add("mean", evaluation.psnr, evaluation.ssim);
  print_table(rows);
}

void print_json(const Subject& subject, const EvalArguments& a, const Evaluation& evaluation) {
  nlohmann::ordered_json out;
  out["model"] = subject.model.string();
  out["scene"] = subject.options.scene.string();
  out["split"] = a.train ? "train" : "test";
  out["psnr"] = evaluation.psnr;
  out["ssim"] = evaluation.ssim;
  out["views"] = nlohmann::ordered_json::array();
  for (const ViewScore& v : evaluation.views)
    out["views"].push_back({{"name", v.name}, {"psnr", v.psnr}, {"ssim", v.ssim}});
  write_json(out);
}

void run_eval(const EvalArguments& a) {
  const Subject subject = names_model(a.run) ? subject_of_model(a) : subject_of_run(a);
  if (!subject.sheet.empty()) OutputFile::check(subject.sheet);
  SceneOptions scene_options = subject.options.scene_options;
  scene_options.random_point_count = 0;  // only photos are needed
  const Scene scene = load_scene(subject.options.scene, scene_options);
  const std::vector<std::size_t> views = views_to_score(scene, a.train);
  const auto backend = a.backend.make();
  ModelFacts facts;
  const DeviceGaussians gaussians = upload(*backend, load_model(subject.model, &facts));
  const RenderOptions options = render_options(a, subject, scene, facts);
  PhotoCache photos(scene.views, kPhotoBytes);

  Progress progress(static_cast<int>(views.size()));
  const Evaluation evaluation =
      evaluate(*backend, gaussians, scene.views, views, photos, options,
               [&](std::size_t done) { progress.update(static_cast<int>(done), "views"); });
  progress.finish(static_cast<int>(views.size()), "views");
  if (a.json)
    print_json(subject, a, evaluation);
  else
    print_scores(evaluation);
  if (!subject.sheet.empty())
    save_png(contact_sheet(*backend, gaussians, scene.views, views, evaluation, photos, options),
             subject.sheet);
}

}  // namespace

void add_eval(CLI::App& app) {
  auto a = std::make_shared<EvalArguments>();
  CLI::App* command = app.add_subcommand("eval", "Score a model on its test views");
  command->add_option("run", a->run, model_help())->required();
  command->add_option("scene", a->scene, "folder of the scene; by default, the scene of the run");
  command->add_option("-o,--output", a->sheet,
                      ".png file for a contact sheet of rendered images beside photos; by default, "
                      "contact_sheet.png in the run's folder");
  command->add_flag("--train", a->train, "use the training views instead of the test views");
  const std::string group = command->add_flag("--json", a->json, "print the scores as JSON")->get_group();
  add_option_flag(*command, kAntialiased, group.c_str(), RenderOptions().antialiased,
                  "render antialiased, or not; by default, as the run did, or as the file says", a->given);
  add_backend_options(*command, a->backend);
  command->callback([a] { run_eval(*a); });
}

}  // namespace stipple
