// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/train/run_saver.h"

#include <fmt/format.h>

#include <functional>

#include "apps/stipple/programs/shell_line.h"
#include "apps/stipple/terminal/format.h"
#include "stipple/model/model_file.h"

namespace stipple {

namespace {

namespace fs = std::filesystem;

constexpr double kLongestUnsaved_s = 300;

void attempt(const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception&) {  // there is an earlier error to report
  }
}

}  // namespace

double RunSaver::seconds_unsaved() const {
  return std::chrono::duration<double>(Clock::now() - last_save_).count();
}

// On a fast device, many steps pass in the time that writing a checkpoint takes; on a slow one, the wanted
// number of steps may take long.
bool RunSaver::checkpoint_is_due(int step) const {
  if (run_.options.checkpoint_every == 0) return false;
  const double seconds = seconds_unsaved();
  const bool is_overdue = seconds >= kLongestUnsaved_s;
  return seconds >= run_.options.checkpoint_seconds &&
         (is_overdue || step % run_.options.checkpoint_every == 0);
}

void RunSaver::save() {
  if (writer_.is_waiting()) writer_.replace_earlier_run();
  run_.trainer.save(run_.folder / "checkpoint");
  last_save_ = Clock::now();
  has_saved_ = true;
  saved_steps_ = run_.trainer.steps_done();
  const Gaussians model = run_.trainer.gaussians();
  if (run_.place.is_first())
    save_model(model, run_.folder / "model.ply", {.antialiased = run_.options.train.render.antialiased});
  save_metrics();
}

void RunSaver::save_metrics() const {
  writer_.save_metrics(run_.trainer.steps_done(), run_.trainer.gaussian_count(), run_.backend);
}

void RunSaver::try_to_save() {
  if (writer_.earlier_run_is_unchanged()) return;
  attempt([&] { save(); });
  attempt([&] { writer_.write_line(); });
}

std::string RunSaver::what_is_left() const {
  if (writer_.earlier_run_is_unchanged())
    return fmt::format("the earlier run in {} is unchanged", run_.folder.string());
  std::error_code unknown;
  if (saved_steps_ == 0 && replaces_earlier_run_ && fs::exists(run_.folder / "model.ply", unknown))
    return fmt::format("nothing had been saved yet, and of the earlier run in {} only model.ply is left",
                       run_.folder.string());
  if (saved_steps_ == 0) return "nothing had been saved yet";
  const std::string age =
      has_saved_ ? fmt::format(", which was saved {} ago", format_duration(seconds_unsaved())) : "";
  return fmt::format("{} continues from step {}{}", command_to_continue(), saved_steps_, age);
}

// The number of ranks may be another one.
std::string RunSaver::command_to_continue() const {
  std::vector<std::string> words{"stipple", "train", run_.scene, "-o", run_.folder.string(), "--resume"};
  if (!run_.place.is_alone())
    words.insert(words.begin(), {"mpirun", "-n", std::to_string(run_.place.ranks.count())});
  return shell_line(words);
}

std::string RunSaver::was_saved(const std::string& advice) const {
  if (writer_.earlier_run_is_unchanged()) return "";
  return fmt::format("; the run was saved in {}{}", run_.folder.string(), advice);
}

}  // namespace stipple
