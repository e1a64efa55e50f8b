// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/train/training_run.h"

#include <fmt/format.h>

#include <new>
#include <utility>

#include "apps/stipple/programs/shell_line.h"
#include "apps/stipple/run/memory_reserve.h"
#include "apps/stipple/run/memory_use.h"
#include "apps/stipple/terminal/format.h"
#include "apps/stipple/terminal/interrupt.h"
#include "apps/stipple/terminal/message.h"
#include "apps/stipple/terminal/standard_files.h"
#include "apps/stipple/train/guard_sentence.h"
#include "apps/stipple/train/make_trainer.h"
#include "apps/stipple/train/rank_backend.h"
#include "apps/stipple/train/same_job.h"
#include "stipple/core/error.h"
#include "stipple/options/option_text.h"
#include "stipple/ranks/collectives.h"
#include "stipple/ranks/launched_ranks.h"
#include "stipple/train/memory_plan.h"

namespace stipple {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kIntermediateEvaluation = 7'000;  // results are commonly reported at this step and at the last
constexpr int kMaxSkipsInARow = 10;
constexpr double kRunningShare = 0.05;  // weight of the latest step in the running mean of the PSNR

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void print_problems(const Scene& scene) {
  for (const SceneProblem& p : scene.problems) print_warning(fmt::format("{}. {}", p.what, advice_of(p)));
}

void print_alpha(const Scene& scene) {
  if (scene.alpha_reason.empty()) return;
  print("alpha: {}, {}{}\n", to_text(scene.alpha), scene.alpha_reason,
        scene.has_carved_points ? fmt::format("; {} points carved from the masks", scene.points.size()) : "");
}

void print_watched(const Trainer& trainer) {
  if (const std::size_t watched = trainer.watched_views().size(); watched > 0)
    print("{} photos are watched instead of trained on until late in the run (--guard off trains on all)\n",
          watched);
}

// All ranks load the scene and resolve their options themselves.
RunOptions agreed_options(const RunFlags& flags, const Scene& scene, Ranks& ranks) {
  RunOptions options = with_whole_path(resolve(flags, scene));
  require_same_training(ranks, options, scene);
  return options;
}

}  // namespace

TrainingRun::TrainingRun(const TrainingRunOptions& options, const SceneOptions& scene)
    : scene_path_(options.scene),
      folder_(options.folder),
      place_(options.place),
      scene_(load_scene(options.scene, scene)),
      options_(agreed_options(options.flags, scene_, place_.ranks)),
      backend_(make_rank_backend(options_, place_)),
      trainer_(make_trainer(*backend_, scene_, options_, folder_, options.resume, place_.ranks)),
      writer_(folder_, options.replaces_earlier_run, place_.is_first()),
      saver_({scene_path_, folder_, options_, *backend_, trainer_, place_}, writer_,
             options.replaces_earlier_run) {
  print_problems(scene_);
  print_alpha(scene_);
  if (options_.train.max_gaussians > 0) warn_of_memory_cap();
  tell_of_harmonics_on_host();
  if (options.resume) {
    writer_.resume_at(trainer_.steps_done());
    saver_.resume_at(trainer_.steps_done());
    warn_of_dropped_gaussians();
  }
  print_watched(trainer_);
  if (!place_.is_alone())
    print("{} ranks, which exchange splats over {}\n", place_.ranks.count(), trainer_.link_name());
  if (options.page) {  // before anything is written, since it may fail
    live_.emplace(*options.page, LiveRun{*backend_, scene_, trainer_, folder_, options_.train.sh_degree});
    print("{}\nOpen this address in a browser to watch the training.\n", live_->url());
  }
  writer_.save_options(options_, scene_path_, *backend_);
}

void TrainingRun::run() {
  catch_interrupts();
  ignore_closed_pipes();
  keep_memory_reserve();
  const std::string stopped = with_visitors([&] { return rescue([&] { return train(); }); });
  if (!stopped.empty() && stops_in_failure_) throw Error(stopped);
  if (!stopped.empty()) print("{}\n", stopped);
}

// Trains until the end, or until a reason to stop, which it returns; empty at the end.
std::string TrainingRun::train() {
  Progress progress(trainer_.last_step(), trainer_.steps_done());
  std::string stopped;
  while (!trainer_.done() && stopped.empty()) {
    try {
      stopped = advance(progress);
    } catch (const OutOfMemory&) {
      if (!place_.is_alone()) throw;  // the other ranks are in the middle of the step
      stopped = out_of_memory();
    }
  }
  if (last_.step > 0)  // a run that was complete already is only saved again
    progress.finish(trainer_.steps_done(), note(last_, progress));
  if (stops_in_failure_ && writer_.earlier_run_is_unchanged())
    return fmt::format("{}; {}", stopped, saver_.what_is_left());
  finish();
  return stopped;
}

// The reason to stop as a sentence; empty if training continues.
std::string TrainingRun::advance(Progress& progress) {
  const StepReport report = step();
  if (report.guard) progress.set_total(trainer_.last_step());
  if (progress.is_due()) progress.update(report.step, note(report, progress));
  const Signals signals = agreed_signals(report, progress.seconds());
  if (signals.checkpoint_is_due) save();
  if (live_ && !trainer_.done() && is_stopped_by_visitor(progress))
    return fmt::format("stopped by a visitor at step {}; continue with --resume", report.step);
  return reason_to_stop(report, signals);
}

StepReport TrainingRun::step() {
  const auto start = Clock::now();
  double scoring_s = 0;
  const StepReport report = trainer_.step([&](const StepReport& trained) {
    if (!evaluation_is_due(trained.step)) return;
    const auto before = Clock::now();
    evaluate(trained.step);
    scoring_s = seconds_since(before);
  });
  writer_.add(report, seconds_since(start) - scoring_s);
  last_ = report;
  if (live_) live_->stepped(report, writer_.seconds());
  if (report.gaussian_count >= trainer_.memory_cap()) warn_of_memory_cap();
  tell_of_harmonics_on_host();
  if (report.guard) tell(*report.guard, report.step);
  if (report.was_skipped) {
    warn(fmt::format("step {} was skipped, because its loss or gradients were not finite", report.step));
    return report;
  }
  running_psnr_ =
      running_psnr_ == 0 ? report.psnr : running_psnr_ + kRunningShare * (report.psnr - running_psnr_);
  return report;
}

void TrainingRun::tell(const GuardEvent& event, int step) {
  writer_.add(event, step);
  const std::string sentence = guard_sentence(event);
  if (event.kind == GuardEvent::Kind::kRecovered) return warn(sentence);
  print("{}\n", sentence);
  if (live_) live_->notify(NoticeKind::kInfo, sentence);
}

bool TrainingRun::evaluation_is_due(int step) const {
  if (step == trainer_.last_step()) return false;  // finish() evaluates the last one
  return options_.eval_every > 0 ? step % options_.eval_every == 0 : step == kIntermediateEvaluation;
}

void TrainingRun::evaluate(int step) {
  if (!options_.train.hold_out) return;
  Evaluation e;
  in_state(LiveTraining::State::kEvaluating, [&] { e = trainer_.evaluate(scene_.test_views()); });
  if (live_) live_->evaluated(e, step);
  writer_.add(e, step, trainer_.gaussian_count());
  print("step {}: PSNR {:.2f} dB, SSIM {:.4f} on {} held-out views, {} Gaussians, {}\n", step, e.psnr, e.ssim,
        e.views.size(), trainer_.gaussian_count(), format_duration(writer_.seconds()));
}

void TrainingRun::save() {
  in_state(LiveTraining::State::kSaving, [&] { saver_.save(); });
}

void TrainingRun::finish() {
  writer_.write_line();
  save();  // before the evaluation, which may take long or run out of memory
  if (trainer_.done()) {
    evaluate(trainer_.steps_done());
    saver_.save_metrics();
  }
  print("{}: {} Gaussians, {} steps, {} (model.ply, checkpoint, metrics.json, log.jsonl)\n", folder_.string(),
        trainer_.gaussian_count(), trainer_.steps_done(), format_duration(writer_.seconds()));
  if (trainer_.skipped_count() > 0)
    print_warning(fmt::format("{} steps were skipped, because their loss or gradients were not finite",
                              trainer_.skipped_count()));
}

TrainingRun::Signals TrainingRun::agreed_signals(const StepReport& report, double seconds) {
  Signals own{.is_interrupted = interrupted(),
              .memory_ran_out = memory_ran_out(),
              .time_is_up = options_.time_limit_s > 0 && seconds >= options_.time_limit_s,
              .checkpoint_is_due = saver_.checkpoint_is_due(report.step)};
  for (const Signals& other : gather_value(place_.ranks, own)) {
    own.is_interrupted |= other.is_interrupted;
    own.memory_ran_out |= other.memory_ran_out;
    own.time_is_up |= other.time_is_up;
    own.checkpoint_is_due |= other.checkpoint_is_due;
  }
  return own;
}

std::string TrainingRun::reason_to_stop(const StepReport& report, const Signals& signals) {
  stops_in_failure_ = true;
  if (signals.is_interrupted)
    return fmt::format("interrupted at step {}{}", report.step,
                       saver_.was_saved(", continue it with --resume"));
  if (signals.memory_ran_out)
    return fmt::format("this machine ran out of memory at step {}{}", report.step,
                       saver_.was_saved(", continue it with --resume and fewer Gaussians or smaller photos"));
  if (report.skipped_in_a_row >= kMaxSkipsInARow)
    return fmt::format("{} steps in a row had a loss or gradients that were not finite{}", kMaxSkipsInARow,
                       saver_.was_saved(", try lower learning rates"));
  stops_in_failure_ = false;
  if (signals.time_is_up)
    return fmt::format("the time limit was reached at step {}; continue with --resume", report.step);
  if (options_.target_psnr > 0 && running_psnr_ >= options_.target_psnr)
    return fmt::format("the target of {} dB was reached at step {}", options_.target_psnr, report.step);
  return "";
}

std::string TrainingRun::out_of_memory() {
  stops_in_failure_ = true;
  const std::size_t count = trainer_.gaussian_count();
  return fmt::format("the device ran out of memory at step {} with {} Gaussians{}", trainer_.steps_done(),
                     count,
                     saver_.was_saved(fmt::format(", continue it with --resume --max-gaussians {}",
                                                  fewer_gaussians(count))));
}

// Whatever ends a run, the last good state is saved first, and the error says what there is to go on from. If
// the error lies in the saving itself, or has hit the state, that is the last checkpoint. So it is with
// several ranks, since the state cannot be saved without the others.
std::string TrainingRun::rescue(const std::function<std::string()>& work) {
  const auto saved = [&] {
    if (!place_.is_alone()) return saver_.what_is_left();
    in_state(LiveTraining::State::kSaving, [&] { saver_.try_to_save(); });
    return saver_.what_is_left();
  };
  try {
    return work();
  } catch (const DeviceLost& error) {
    throw Error(fmt::format("{}; {}", error.what(), saver_.what_is_left()));
  } catch (const RankLost& error) {
    throw Error(error.is_explained() ? error.what()
                                     : fmt::format("{}; {}", error.what(), saver_.what_is_left()));
  } catch (const Error& error) {
    throw Error(fmt::format("{}; {}", describe(error), saved()));
  } catch (const std::bad_alloc&) {
    throw Error(fmt::format("this machine ran out of memory; {}", saved()),
                {"max_gaussians", "max_resolution"});
  } catch (const std::exception& error) {
    throw Error(fmt::format("{}; {}", error.what(), saved()));
  }
}

// Tells the visitors how the run has ended, before the page loses its server.
std::string TrainingRun::with_visitors(const std::function<std::string()>& work) {
  if (!live_) return work();
  std::string stopped;
  try {
    stopped = work();
  } catch (const std::exception& error) {
    live_->notify(NoticeKind::kError, error.what());
    live_->enter(LiveTraining::State::kFinished);
    throw;
  }
  std::string text = stopped.empty() ? "the training has finished" : stopped;
  if (saver_.has_saved())
    text += fmt::format("; {} shows the model", shell_line({"stipple", "view", folder_.string()}));
  live_->notify(NoticeKind::kInfo, text);
  live_->finish();
  return stopped;
}

// Serves the visitors, if there are any. While the run is paused, nothing else happens.
bool TrainingRun::is_stopped_by_visitor(Progress& progress) {
  const double paused_s = live_->paused_s();
  LiveTraining::Wish wish;
  while ((wish = live_->serve()) == LiveTraining::Wish::kSave) save_for_visitor();
  progress.exclude(live_->paused_s() - paused_s);
  return wish == LiveTraining::Wish::kStop;
}

// The training does not end because the disk is full at a moment that a visitor has chosen.
void TrainingRun::save_for_visitor() {
  try {
    save();
    live_->notify(NoticeKind::kInfo, fmt::format("the run was saved at step {}", saver_.saved_steps()));
  } catch (const DeviceLost&) {
    throw;
  } catch (const Error& error) {
    print_warning(error.what());
    live_->notify(NoticeKind::kError, error.what());
  }
}

// What the visitors see while `work` is done instead of training.
void TrainingRun::in_state(LiveTraining::State state, const std::function<void()>& work) {
  if (live_) live_->enter(state);
  work();
  if (live_) live_->carry_on();
}

void TrainingRun::warn_of_dropped_gaussians() {
  if (trainer_.steps_done() == 0 || trainer_.dropped_count() == 0) return;
  print_warning(
      fmt::format("the checkpoint has {} Gaussians; the {} least important were dropped to keep to {}",
                  trainer_.gaussian_count() + trainer_.dropped_count(), trainer_.dropped_count(),
                  limit_of_gaussians(trainer_)));
}

// In the terminal, and on the page.
void TrainingRun::warn(const std::string& text) {
  print_warning(text);
  if (live_) live_->notify(NoticeKind::kWarning, text);
}

// Warns once, and only if the limit is below the requested number of Gaussians or has been reached.
void TrainingRun::warn_of_memory_cap() {
  if (trainer_.memory_cap() == 0 || std::exchange(has_warned_of_memory_, true)) return;
  warn(fmt::format("the memory limits the number of Gaussians to {}", trainer_.memory_cap()));
}

// Once.
void TrainingRun::tell_of_harmonics_on_host() {
  if (!trainer_.has_harmonics_on_host() || std::exchange(has_told_of_host_, true)) return;
  warn(
      "the model is too large for the device's memory, so that its harmonics lie in the host's memory, which "
      "is slower; --offload off limits the number of Gaussians instead");
}

std::string TrainingRun::note(const StepReport& r, const Progress& progress) const {
  return fmt::format("{:.1f} it/s  loss {:.4f}  PSNR {:.2f} dB  {} Gaussians  {}", progress.rate(r.step),
                     r.loss, running_psnr_, r.gaussian_count, format_bytes(memory_bytes()));
}

}  // namespace stipple
