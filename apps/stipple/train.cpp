// SPDX-License-Identifier: Apache-2.0
// stipple train: trains a model from a folder of posed photos.
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "apps/stipple/commands.h"
#include "apps/stipple/files/create_folder.h"
#include "apps/stipple/options/number_range.h"
#include "apps/stipple/options/run_flags.h"
#include "apps/stipple/run/run_lock.h"
#include "apps/stipple/terminal/standard_files.h"
#include "apps/stipple/train/make_trainer.h"
#include "apps/stipple/train/run_on_ranks.h"
#include "apps/stipple/train/same_job.h"
#include "apps/stipple/train/training_run.h"
#include "apps/stipple/view/server_flags.h"
#include "stipple/core/error.h"
#include "stipple/io/input_file.h"
#include "stipple/io/output_file.h"
#include "stipple/options/option_text.h"
#include "stipple/ranks/collectives.h"

namespace stipple {

namespace {

namespace fs = std::filesystem;

struct TrainArguments {
  std::string scene, output;
  bool resume = false, overwrite = false;
  RunFlags flags;
  bool is_viewed = false;
  ServerFlags server;
  double view_budget = LiveOptions().budget;
};

bool holds_run(const fs::path& folder) {
  return fs::exists(folder / "options.json") || fs::exists(folder / "model.ply");
}

std::string options_file(const TrainArguments& a) { return (fs::path(a.output) / "options.json").string(); }

void check_folder(const TrainArguments& a) {
  const fs::path folder = a.output;
  if (a.resume && !fs::exists(folder / "options.json"))
    throw Error(fmt::format("{}: this folder holds no run to resume; leave out --resume to start one",
                            folder.string()));
  if (holds_run(folder) && !a.resume && !a.overwrite)
    throw Error(
        fmt::format("{}: this folder already holds a run; continue it with --resume, replace it with "
                    "--overwrite, or name another folder",
                    folder.string()));
}

// A run that is resumed does not need the model that it started from, and it cannot start from another one.
void check_start(const TrainArguments& a, const fs::path& start) {
  if (!a.resume) {
    if (!start.empty()) InputFile{start};  // before the scene is loaded, so that a mistake costs nothing
    return;
  }
  const fs::path recorded = with_whole_path(resolve(RunFlags{{}, "", options_file(a)})).start;
  if (recorded != start)
    throw Error(fmt::format("{}: this run started from {}; leave out --start, or start a new run",
                            options_file(a), recorded.empty() ? "the scene's points" : recorded.string()));
}

TrainingRunOptions run_options(const TrainArguments& a, const RankPlace& place) {
  const bool replaces = place.is_first() && !a.resume && holds_run(a.output);
  TrainingRunOptions options{.scene = a.scene,
                             .folder = a.output,
                             .place = place,
                             .resume = a.resume,
                             .replaces_earlier_run = is_true_on_any(place.ranks, replaces),
                             .flags = a.flags,
                             .page = {}};
  if (a.is_viewed) options.page = {server_options(a.server), a.view_budget};
  return options;
}

// The first rank holds the lock, and looks into the folder before any rank writes there.
void train_in_folder(TrainArguments a, const RankPlace& place, bool& is_under_way) {
  std::optional<RunLock> lock;
  if (place.is_first()) {
    lock.emplace(a.output);
    check_folder(a);  // again: another run may have ended in the meantime
  }
  is_true_on_any(place.ranks, false);  // the first has found nothing wrong with the folder
  if (a.resume && a.flags.config.empty()) a.flags.config = options_file(a);
  const RunOptions options = resolve(a.flags);
  check_start(a, with_whole_path(options).start);
  TrainingRun training(run_options(a, place), options.scene);
  is_under_way = true;
  training.run();
}

void run_as_first(const TrainArguments& a, const RankPlace& place, bool& is_under_way) {
  check_folder(a);
  const bool is_new = !fs::exists(a.output);
  OutputFile::check(create_folder(a.output) /
                    "model.ply");  // before the work, so that a mistake costs nothing
  try {
    train_in_folder(a, place, is_under_way);
  } catch (...) {
    std::error_code is_not_empty;
    if (is_new) fs::remove(a.output, is_not_empty);
    throw;
  }
}

std::vector<Fact> facts_of(const TrainArguments& a) {
  return {{"the scene", a.scene},
          {"the folder", a.output},
          {"--resume", to_text(a.resume)},
          {"--overwrite", to_text(a.overwrite)},
          {"--view", to_text(a.is_viewed)}};
}

void run_train(const TrainArguments& a) {
  run_on_ranks([&](const RankPlace& place, bool& is_under_way) {
    require_same_arguments(place.ranks, facts_of(a));
    if (a.is_viewed && !place.is_alone())
      throw Error(
          "--view shows runs of one process only; start this one without the launcher, or without --view");
    if (place.is_first()) return run_as_first(a, place, is_under_way);
    report_only_errors();
    train_in_folder(a, place, is_under_way);
  });
}

}  // namespace

void add_train(CLI::App& app) {
  auto a = std::make_shared<TrainArguments>();
  CLI::App* command = app.add_subcommand("train", "Train a model from a scene: photos with known cameras");
  command
      ->add_option("scene", a->scene,
                   "folder with a COLMAP model, a transforms.json or cameras of another program")
      ->required();
  command
      ->add_option("-o,--output", a->output,
                   "folder for model.ply, checkpoint, metrics.json, log.jsonl and options.json")
      ->required();
  command->add_flag("--resume", a->resume, "continue the run in the folder, with its options");
  command->add_flag("--overwrite", a->overwrite, "replace the run in the folder");
  add_run_flags(*command, a->flags);
  CLI::Option* view = command->add_flag(
      "--view", a->is_viewed, "serve a page on which the training can be watched, paused, saved and stopped");
  add_server_flags(*command, a->server);
  command
      ->add_option("--view-budget", a->view_budget,
                   "share of the time that visitors of the page may cost, from 0 to 1 (no limit)")
      ->check(number_range(0, 1))
      ->capture_default_str();
  for (const char* name : {"--port", "--address", "--view-budget"}) command->get_option(name)->needs(view);
  command->callback([a] { run_train(*a); });
}

}  // namespace stipple
