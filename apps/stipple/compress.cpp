// SPDX-License-Identifier: Apache-2.0
// stipple compress: the best model of a given size, or the smallest of a given quality.
#include "stipple/compress/compress.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "apps/stipple/commands.h"
#include "apps/stipple/compress/judge.h"
#include "apps/stipple/files/temporary_folder.h"
#include "apps/stipple/options/backend_choice.h"
#include "apps/stipple/options/number_range.h"
#include "apps/stipple/options/whole_number.h"
#include "apps/stipple/run/run_model.h"
#include "apps/stipple/run/run_scene.h"
#include "apps/stipple/terminal/format.h"
#include "apps/stipple/terminal/interrupt.h"
#include "apps/stipple/terminal/message.h"
#include "apps/stipple/terminal/progress.h"
#include "apps/stipple/terminal/standard_files.h"
#include "apps/stipple/terminal/table.h"
#include "apps/stipple/terminal/write_json.h"
#include "stipple/compress/effect.h"
#include "stipple/compress/tune.h"
#include "stipple/core/device.h"
#include "stipple/core/error.h"
#include "stipple/edit/finite.h"
#include "stipple/edit/select.h"
#include "stipple/options/resolve.h"

namespace stipple {

namespace {

namespace fs = std::filesystem;

// CLI11 has such a list for whole numbers only.
const std::map<std::string, double> kSizeUnits = {{"b", 1},
                                                  {"kb", 1e3},
                                                  {"mb", 1e6},
                                                  {"gb", 1e9},
                                                  {"kib", 1024},
                                                  {"mib", 1024.0 * 1024},
                                                  {"gib", 1024.0 * 1024 * 1024}};

struct CompressArguments {
  std::string model, output, scene;
  double target_bytes = 0, target_psnr = 0;
  int tune_steps = 2'000;
  BackendChoice backend;
  bool json = false;
};

std::vector<std::uint32_t> rank(Backend& backend, const Gaussians& model, const Judge& judge) {
  const std::vector<Camera> cameras = judge.cameras();
  Progress progress(static_cast<int>(cameras.size()));
  int done = 0;
  const std::vector<float> effects = picture_effects(backend, model, cameras, judge.render_options(), [&] {
    stop_if_interrupted();
    progress.update(++done, "views rendered");
  });
  progress.finish(done, "views rendered");
  if (std::all_of(effects.begin(), effects.end(), [](float effect) { return effect == 0; }))
    throw Error(
        "no Gaussian of the model is seen from the cameras; it must be in the frame of the scene, as a model "
        "that was trained from it is");
  return order_of_effects(effects);
}

// Writes models beside the output, to learn their sizes and what is left of them. Each has a new folder,
// since some formats have several files.
CompressTools::Stored store(const Gaussians& model, const fs::path& name, const fs::path& beside,
                            const SaveModelOptions& options) {
  stop_if_interrupted();
  const TemporaryFolder folder(beside / "trial");
  const fs::path trial = folder.path() / name;
  save_model(model, trial, options);
  return {model_bytes(trial), load_model(trial)};
}

Gaussians tuned(Backend& backend, const Scene& scene, const Gaussians& model,
                const TuneOptions& options) try {
  Progress progress(options.steps);
  Gaussians result = tune(backend, scene, model, options, [&](int done) {
    stop_if_interrupted();
    progress.update(done, "steps");
  });
  progress.finish(options.steps, "steps");
  return result;
} catch (const OutOfMemory& e) {
  print_warning(fmt::format("{}; they are left as they are", e.what()));
  return model;
}

struct Summary {
  std::uint64_t bytes = 0;
  std::size_t count = 0;
  int sh_degree = 0;
  double psnr = 0;
};

void print_summary(const CompressArguments& a, const Summary& before, const Summary& after,
                   double psnr_untuned, bool was_tuned, const std::string& basis) {
  std::vector<std::vector<std::string>> rows = {{"", "bytes", "Gaussians", "SH degree", "PSNR"}};
  const auto add = [&](const std::string& name, const Summary& s) {
    rows.push_back({name, fmt::format("{}", s.bytes), fmt::format("{}", s.count),
                    fmt::format("{}", s.sh_degree), format_number(s.psnr, 2)});
  };
  add(model_file(a.model).string(), before);
  add(a.output, after);
  print_table(rows);
  print("PSNR is in dB {}", basis);
  if (was_tuned) print("; before tuning, it was {}", format_number(psnr_untuned, 2));
  print("\n");
}

void print_json(const Summary& before, const Summary& after, double psnr_untuned, const std::string& basis) {
  const auto to_json = [](const Summary& s) {
    return nlohmann::ordered_json{
        {"bytes", s.bytes}, {"count", s.count}, {"sh_degree", s.sh_degree}, {"psnr", s.psnr}};
  };
  write_json(nlohmann::ordered_json{{"before", to_json(before)},
                                    {"after", to_json(after)},
                                    {"psnr_before_tuning", psnr_untuned},
                                    {"psnr_basis", basis}});
}

// The Gaussians of the model that can be rendered.
Gaussians usable_part(Gaussians model, const std::string& name) {
  const std::vector<std::uint32_t> rows = usable_rows(model);
  if (rows.empty())
    throw Error(fmt::format("{}: the model has no Gaussian whose values are all finite", name));
  if (rows.size() == model.size()) return model;
  print_warning(fmt::format("{} of the {} Gaussians in {} have values that are not finite and are left out",
                            model.size() - rows.size(), model.size(), name));
  keep_rows(rows, model);
  return model;
}

CompressGoal goal_of(const CompressArguments& a) {
  CompressGoal goal;
  if (a.target_bytes > 0) goal.max_bytes = static_cast<std::uint64_t>(a.target_bytes);
  if (a.target_psnr > 0) goal.min_quality = a.target_psnr;
  if (goal.max_bytes.has_value() == goal.min_quality.has_value())
    throw CLI::RequiredError("either --target-size or --target-psnr");
  return goal;
}

void run_compress(const CompressArguments& a) {
  const CompressGoal goal = goal_of(a);
  check_model_name(a.output);
  check_model_output(a.output);
  const std::optional<RunRecord> record = record_of_model(a.model, a.scene);
  const std::unique_ptr<Backend> backend = a.backend.make();
  catch_interrupts();
  RunModel model = load_run_model(a.model);
  const std::uint64_t bytes_before = model_bytes(model_file(a.model));
  const Gaussians original = usable_part(std::move(model.gaussians), a.model);
  const Scene scene = record ? load_scene(record->scene, record->scene_options) : Scene();
  // A file alone does not say over what it was rendered in training; objects are scored over white.
  if (record && !is_run(a.model))
    model.render.background = resolve(GivenOptions{}, scene).train.render.background;

  const bool has_held_out = record && record->held_out_tests;
  const std::unique_ptr<Judge> judge =
      record ? photo_judge(*backend, scene, model.render, has_held_out, stop_if_interrupted)
             : picture_judge(*backend, original, model.render, stop_if_interrupted);
  const std::vector<std::uint32_t> by_effect = rank(*backend, original, *judge);

  const fs::path output = (fs::path(a.output) / "").parent_path();  // garden.lod/ is garden.lod
  const TemporaryFolder folder(output);
  const SaveModelOptions save{.antialiased = model.render.antialiased};
  CompressTools tools;
  tools.store = [&](const Gaussians& g) { return store(g, output.filename(), folder.path(), save); };
  tools.quality = [&](const Gaussians& g) { return judge->rate(g); };
  if (record && a.tune_steps > 0)
    tools.tune = [&](const Gaussians& g) {
      return tuned(*backend, scene, g,
                   {.render = model.render, .hold_out = has_held_out, .steps = a.tune_steps});
    };
  tools.note = [](const std::string& text) { write_message(text + "\n"); };
  const Compressed result = compress(original, by_effect, goal, tools);

  stop_if_interrupted();
  save_model(result.model, a.output, save);
  const Summary before{bytes_before, original.size(), original.sh_degree, judge->rate_fully(original)},
      after{model_bytes(a.output), result.model.size(), result.model.sh_degree,
            judge->rate_fully(load_model(a.output))};
  if (a.json)
    print_json(before, after, result.quality_untuned, judge->basis());
  else
    print_summary(a, before, after, result.quality_untuned, static_cast<bool>(tools.tune), judge->basis());
}

}  // namespace

void add_compress(CLI::App& app) {
  auto a = std::make_shared<CompressArguments>();
  CLI::App* command = app.add_subcommand(
      "compress", "Make a model smaller: the best of a given size, or the smallest of a given quality");
  command->add_option("model", a->model, model_help())->required();
  command
      ->add_option("-o,--output", a->output,
                   written_model_help() +
                       "; its format decides how small a model can become, and .sog makes the "
                       "smallest files")
      ->required();
  auto* size =
      command
          ->add_option("--target-size", a->target_bytes,
                       "largest allowed size of the file, such as 10MB, 800kB or 1.5MiB")
          ->transform(
              CLI::AsNumberWithUnit(kSizeUnits, CLI::AsNumberWithUnit::CASE_INSENSITIVE).description(""))
          ->check(number_range(1, 1e15).description(""))
          ->type_name("SIZE");
  command
      ->add_option(
          "--target-psnr", a->target_psnr,
          "least PSNR, in dB: on the photos that the model was not trained on, if the run kept some, "
          "or else on all; without a scene, against pictures of the whole model")
      ->check(number_range(1, 100))
      ->excludes(size);
  command->add_option(
      "--scene", a->scene,
      "folder of the scene, whose photos the model is rated by and tuned on; by default, the scene "
      "of the run; for a file without it, pictures of the model are used, and it is not tuned");
  command
      ->add_option("--tune-steps", a->tune_steps,
                   "training steps on the photos that make up for what was removed; 0 to leave them out")
      ->check(whole_number(0, 1'000'000))
      ->capture_default_str();
  command->add_flag("--json", a->json, "print sizes and PSNR as JSON");
  add_backend_options(*command, a->backend);
  command->callback([a] { run_compress(*a); });
}

}  // namespace stipple
