// SPDX-License-Identifier: Apache-2.0
// stipple train: trains a model from a folder of posed photos.
#include <fmt/format.h>

#include <chrono>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "apps/stipple/commands.h"
#include "apps/stipple/files/create_folder.h"
#include "apps/stipple/options/number_range.h"
#include "apps/stipple/options/run_flags.h"
#include "apps/stipple/programs/shell_line.h"
#include "apps/stipple/run/memory_reserve.h"
#include "apps/stipple/run/memory_use.h"
#include "apps/stipple/run/run_lock.h"
#include "apps/stipple/run/run_model.h"
#include "apps/stipple/run/run_writer.h"
#include "apps/stipple/terminal/format.h"
#include "apps/stipple/terminal/interrupt.h"
#include "apps/stipple/terminal/message.h"
#include "apps/stipple/terminal/progress.h"
#include "apps/stipple/terminal/standard_files.h"
#include "apps/stipple/view/live_training.h"
#include "apps/stipple/view/server_flags.h"
#include "stipple/core/error.h"
#include "stipple/io/input_file.h"
#include "stipple/io/output_file.h"
#include "stipple/options/option_text.h"
#include "stipple/train/memory_plan.h"

namespace stipple {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int kIntermediateEvaluation = 7'000;  // results are commonly reported at this step and at the last
constexpr int kMaxSkipsInARow = 10;
constexpr double kLongestUnsaved_s = 300;
constexpr double kRunningShare = 0.05;  // weight of the latest step in the running mean of the PSNR

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

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

BackendOptions backend_options(const RunOptions& options) {
  return {.device = options.device,
          .deterministic = options.deterministic,
          .max_bytes = static_cast<std::size_t>(options.max_vram_gib * (1u << 30))};
}

// What the guard did, as a sentence for the user.
std::string describe(const GuardEvent& event) {
  const std::string fall = fmt::format("the watched photos fell from {:.2f} to {:.2f} dB after step {}",
                                       event.best_psnr, event.psnr, event.best_step);
  switch (event.kind) {
    case GuardEvent::Kind::kStoppedGrowth:
      return fmt::format("guard: {}; training continues from the model of that step, without growth", fall);
    case GuardEvent::Kind::kEndsEarly:
      return fmt::format(
          "guard: {}; the model of that step is polished on all photos, and the run ends at step {}", fall,
          event.last_step);
    case GuardEvent::Kind::kGaveViewsBack:
      return fmt::format("guard: {}; the model of that step is polished on all photos until step {}", fall,
                         event.last_step);
    case GuardEvent::Kind::kRecovered:
      break;
  }
  return fmt::format(
      "the model collapsed; training continues from that of step {}, without growth and noise and with half "
      "the "
      "learning rates",
      event.best_step);
}

void print_problems(const Scene& scene) {
  for (const SceneProblem& p : scene.problems) print_warning(fmt::format("{}. {}", p.what, advice_of(p)));
}

void print_alpha(const Scene& scene) {
  if (scene.alpha_reason.empty()) return;
  print("alpha: {}, {}{}\n", to_text(scene.alpha), scene.alpha_reason,
        scene.has_carved_points ? fmt::format("; {} points carved from the masks", scene.points.size()) : "");
}

// So that options.json says where the model was, from whatever folder the run is repeated.
RunOptions with_whole_path(RunOptions options) {
  if (!options.start.empty()) options.start = fs::absolute(model_file(options.start)).lexically_normal();
  return options;
}

class TrainingRun {
 public:
  TrainingRun(const TrainArguments& a, const RunOptions& options)
      : scene_path_(a.scene),
        folder_(a.output),
        scene_(load_scene(a.scene, options.scene)),
        options_(with_whole_path(resolve(a.flags, scene_))),
        backend_(make_backend(options_.backend, backend_options(options_))),
        trainer_(make_trainer(a.resume)),
        replaces_earlier_run_(holds_run(folder_) && !a.resume),
        writer_(folder_, replaces_earlier_run_) {
    print_problems(scene_);
    print_alpha(scene_);
    if (options_.train.max_gaussians > 0) warn_of_memory_cap();
    if (a.resume) continue_files();
    if (const std::size_t watched = trainer_.watched_views().size(); watched > 0)
      print("{} photos are watched instead of trained on until late in the run (--guard off trains on all)\n",
            watched);
    if (a.is_viewed) open_page({server_options(a.server), a.view_budget});  // first, since it may fail
    writer_.save_options(options_, a.scene, *backend_);
  }

  void run() {
    catch_interrupts();
    ignore_closed_pipes();
    keep_memory_reserve();
    const std::string stopped = with_visitors([&] { return rescue([&] { return train(); }); });
    if (!stopped.empty() && stops_in_failure_) throw Error(stopped);
    if (!stopped.empty()) print("{}\n", stopped);
  }

 private:
  // Trains until the end, or until a reason to stop, which it returns; empty at the end.
  std::string train() {
    Progress progress(trainer_.last_step(), trainer_.steps_done());
    std::string stopped;
    while (!trainer_.done() && stopped.empty()) {
      try {
        stopped = advance(progress);
      } catch (const OutOfMemory&) {
        stopped = out_of_memory();
      }
    }
    if (last_.step > 0)  // a run that was complete already is only saved again
      progress.finish(trainer_.steps_done(), note(last_, progress));
    if (stops_in_failure_ && writer_.earlier_run_is_unchanged())
      return fmt::format("{}; {}", stopped, what_is_left());
    finish();
    return stopped;
  }

  void open_page(const LiveOptions& options) {
    live_.emplace(options, LiveRun{*backend_, scene_, trainer_, folder_, options_.train.sh_degree});
    print("{}\nOpen this address in a browser to watch the training.\n", live_->url());
  }

  // Tells them how the run has ended, before the page loses its server.
  std::string with_visitors(const std::function<std::string()>& work) {
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
    if (has_saved_)
      text += fmt::format("; {} shows the model", shell_line({"stipple", "view", folder_.string()}));
    live_->notify(NoticeKind::kInfo, text);
    live_->finish();
    return stopped;
  }

  // Whatever ends a run, the last good state is saved first, and the error says what there is to go on from.
  std::string rescue(const std::function<std::string()>& work) {
    try {
      return work();
    } catch (const DeviceLost& error) {
      throw Error(fmt::format("{}; {}", error.what(), what_is_left()));
    } catch (const Error& error) {
      throw Error(fmt::format("{}; {}", describe(error), save_what_there_is()));
    } catch (const std::bad_alloc&) {
      throw Error(fmt::format("this machine ran out of memory; {}", save_what_there_is()),
                  {"max_gaussians", "max_resolution"});
    } catch (const std::exception& error) {
      throw Error(fmt::format("{}; {}", error.what(), save_what_there_is()));
    }
  }

  // What a run that ends without its state can go on from.
  std::string what_is_left() const {
    if (writer_.earlier_run_is_unchanged())
      return fmt::format("the earlier run in {} is unchanged", folder_.string());
    std::error_code unknown;
    if (saved_steps_ == 0 && replaces_earlier_run_ && fs::exists(folder_ / "model.ply", unknown))
      return fmt::format("nothing had been saved yet, and of the earlier run in {} only model.ply is left",
                         folder_.string());
    if (saved_steps_ == 0) return "nothing had been saved yet";
    const std::string age =
        has_saved_ ? fmt::format(", which was saved {} ago", format_duration(seconds_since(last_save_))) : "";
    return fmt::format("{} continues from step {}{}",
                       shell_line({"stipple", "train", scene_path_, "-o", folder_.string(), "--resume"}),
                       saved_steps_, age);
  }

  // After an error: saves the state as it was before the step that failed, and says what there is to go on
  // from. If the error lies in the saving itself, or has hit the state, that is the last checkpoint.
  std::string save_what_there_is() {
    if (writer_.earlier_run_is_unchanged()) return what_is_left();
    attempt([&] { save(); });
    attempt([&] { writer_.write_line(); });
    return what_is_left();
  }

  static void attempt(const std::function<void()>& work) {
    try {
      work();
    } catch (const std::exception&) {  // there is an earlier error to report
    }
  }

  // The reason to stop as a sentence; empty if training continues.
  std::string advance(Progress& progress) {
    const StepReport report = step();
    if (report.guard) progress.set_total(trainer_.last_step());
    if (progress.is_due()) progress.update(report.step, note(report, progress));
    if (checkpoint_is_due(report.step)) save();
    if (live_ && !trainer_.done() && is_stopped_by_visitor(progress))
      return fmt::format("stopped by a visitor at step {}; continue with --resume", report.step);
    return reason_to_stop(report, progress.seconds());
  }

  // Serves the visitors, if there are any. While the run is paused, nothing else happens.
  bool is_stopped_by_visitor(Progress& progress) {
    const double paused_s = live_->paused_s();
    LiveTraining::Wish wish;
    while ((wish = live_->serve()) == LiveTraining::Wish::kSave) save_for_visitor();
    progress.exclude(live_->paused_s() - paused_s);
    return wish == LiveTraining::Wish::kStop;
  }

  // The training does not end because the disk is full at a moment that a visitor has chosen.
  void save_for_visitor() {
    try {
      save();
      live_->notify(NoticeKind::kInfo, fmt::format("the run was saved at step {}", saved_steps_));
    } catch (const DeviceLost&) {
      throw;
    } catch (const Error& error) {
      print_warning(error.what());
      live_->notify(NoticeKind::kError, error.what());
    }
  }

  // What the visitors see while `work` is done instead of training.
  template <class F>
  void in_state(LiveTraining::State state, F work) {
    if (live_) live_->enter(state);
    work();
    if (live_) live_->carry_on();
  }

  Trainer make_trainer(bool resume) const {
    const fs::path checkpoint = folder_ / "checkpoint";
    if (resume && fs::exists(checkpoint)) return resumed_trainer(checkpoint);
    if (resume)
      print_warning(
          fmt::format("there is no checkpoint in {}; training starts from step 0", folder_.string()));
    if (!options_.start.empty()) return started_trainer();
    return {*backend_, scene_, options_.train};
  }

  Trainer resumed_trainer(const fs::path& checkpoint) const {
    try {
      return Trainer::resumed(*backend_, scene_, options_.train, checkpoint);
    } catch (const DamagedCheckpoint& e) {
      throw Error(
          fmt::format("{}; {} is the last model that was saved, and --overwrite --config {} starts the run "
                      "again with its options",
                      e.what(), (folder_ / "model.ply").string(), (folder_ / "options.json").string()));
    }
  }

  Trainer started_trainer() const {
    ModelFacts facts;
    Gaussians model = load_model(options_.start, &facts);
    const std::size_t count = model.size();
    const bool is_antialiased = options_.train.render.antialiased;
    if (facts.antialiased.value_or(is_antialiased) != is_antialiased)
      print_warning(fmt::format("{} was trained {} antialiasing, and this run is {} it; {} changes that",
                                options_.start.string(), is_antialiased ? "without" : "with",
                                is_antialiased ? "with" : "without",
                                is_antialiased ? "--no-antialiased" : "--antialiased"));
    Trainer trainer(*backend_, scene_, options_.train, std::move(model));
    if (trainer.dropped_count() > 0)
      print_warning(fmt::format(
          "{} of the {} Gaussians in {} were left out: those with values that are not finite, and "
          "the least important beyond {}",
          trainer.dropped_count(), count, options_.start.string(), limit_of(trainer)));
    return trainer;
  }

  static const char* limit_of(const Trainer& trainer) {
    return trainer.memory_cap() > 0 ? "what the device's memory allows" : "--max-gaussians";
  }

  void continue_files() {
    writer_.resume_at(trainer_.steps_done());
    saved_steps_ = trainer_.steps_done();
    if (saved_steps_ > 0 && trainer_.dropped_count() > 0)
      print_warning(
          fmt::format("the checkpoint has {} Gaussians; the {} least important were dropped to keep to {}",
                      trainer_.device_gaussians().size() + trainer_.dropped_count(), trainer_.dropped_count(),
                      limit_of(trainer_)));
  }

  StepReport step() {
    const auto start = Clock::now();
    double scoring_s = 0;
    const StepReport report = trainer_.step([&](const StepReport& trained) {
      if (!evaluation_is_due(trained.step)) return;
      const auto before = Clock::now();
      evaluate_now(trained.step);
      scoring_s = seconds_since(before);
    });
    writer_.add(report, seconds_since(start) - scoring_s);
    last_ = report;
    if (live_) live_->stepped(report, writer_.seconds());
    if (report.gaussian_count >= trainer_.memory_cap()) warn_of_memory_cap();
    if (report.guard) tell(*report.guard, report.step);
    if (report.was_skipped) {
      warn(fmt::format("step {} was skipped, because its loss or gradients were not finite", report.step));
      return report;
    }
    running_psnr_ =
        running_psnr_ == 0 ? report.psnr : running_psnr_ + kRunningShare * (report.psnr - running_psnr_);
    return report;
  }

  void tell(const GuardEvent& event, int step) {
    writer_.add(event, step);
    if (event.kind == GuardEvent::Kind::kRecovered) return warn(describe(event));
    print("{}\n", describe(event));
    if (live_) live_->notify(NoticeKind::kInfo, describe(event));
  }

  // In the terminal, and on the page.
  void warn(const std::string& text) {
    print_warning(text);
    if (live_) live_->notify(NoticeKind::kWarning, text);
  }

  bool evaluation_is_due(int step) const {
    if (step == trainer_.last_step()) return false;  // finish() evaluates the last one
    return options_.eval_every > 0 ? step % options_.eval_every == 0 : step == kIntermediateEvaluation;
  }

  // Warns once, and only if the limit is below the requested number of Gaussians or has been reached.
  void warn_of_memory_cap() {
    if (trainer_.memory_cap() == 0 || std::exchange(has_warned_of_memory_, true)) return;
    warn(fmt::format("the device's memory limits the number of Gaussians to {}", trainer_.memory_cap()));
  }

  std::string note(const StepReport& r, const Progress& progress) const {
    return fmt::format("{:.1f} it/s  loss {:.4f}  PSNR {:.2f} dB  {} Gaussians  {}", progress.rate(r.step),
                       r.loss, running_psnr_, r.gaussian_count, format_bytes(memory_bytes()));
  }

  std::string reason_to_stop(const StepReport& report, double seconds) {
    stops_in_failure_ = true;
    if (interrupted())
      return fmt::format("interrupted at step {}{}", report.step, was_saved(", continue it with --resume"));
    if (memory_ran_out())
      return fmt::format("this machine ran out of memory at step {}{}", report.step,
                         was_saved(", continue it with --resume and fewer Gaussians or smaller photos"));
    if (report.skipped_in_a_row >= kMaxSkipsInARow)
      return fmt::format("{} steps in a row had a loss or gradients that were not finite{}", kMaxSkipsInARow,
                         was_saved(", try lower learning rates"));
    stops_in_failure_ = false;
    if (options_.time_limit_s > 0 && seconds >= options_.time_limit_s)
      return fmt::format("the time limit was reached at step {}; continue with --resume", report.step);
    if (options_.target_psnr > 0 && running_psnr_ >= options_.target_psnr)
      return fmt::format("the target of {} dB was reached at step {}", options_.target_psnr, report.step);
    return "";
  }

  // A run that stops in failure before its first save leaves an earlier run in its folder alone.
  std::string was_saved(const std::string& advice) const {
    if (writer_.earlier_run_is_unchanged()) return "";
    return fmt::format("; the run was saved in {}{}", folder_.string(), advice);
  }

  std::string out_of_memory() {
    stops_in_failure_ = true;
    const std::size_t count = trainer_.device_gaussians().size();
    return fmt::format(
        "the device ran out of memory at step {} with {} Gaussians{}", trainer_.steps_done(), count,
        was_saved(fmt::format(", continue it with --resume --max-gaussians {}", fewer_gaussians(count))));
  }

  void evaluate_now(int step) {
    if (!options_.train.hold_out) return;
    Evaluation e;
    in_state(LiveTraining::State::kEvaluating, [&] { e = trainer_.evaluate(scene_.test_views()); });
    if (live_) live_->evaluated(e, step);
    writer_.add(e, step, trainer_.device_gaussians().size());
    print("step {}: PSNR {:.2f} dB, SSIM {:.4f} on {} held-out views, {} Gaussians, {}\n", step, e.psnr,
          e.ssim, e.views.size(), trainer_.device_gaussians().size(), format_duration(writer_.seconds()));
  }

  // On a fast device, many steps pass in the time that writing a checkpoint takes; on a slow one, the wanted
  // number of steps may take long.
  bool checkpoint_is_due(int step) const {
    if (options_.checkpoint_every == 0) return false;
    const double seconds = seconds_since(last_save_);
    const bool is_overdue = seconds >= kLongestUnsaved_s;
    return seconds >= options_.checkpoint_seconds && (is_overdue || step % options_.checkpoint_every == 0);
  }

  void save() {
    in_state(LiveTraining::State::kSaving, [&] { save_now(); });
  }

  void save_now() {
    if (writer_.is_waiting()) writer_.replace_earlier_run();
    trainer_.save(folder_ / "checkpoint");
    last_save_ = Clock::now();
    has_saved_ = true;
    saved_steps_ = trainer_.steps_done();
    save_model(trainer_.gaussians(), folder_ / "model.ply",
               {.antialiased = options_.train.render.antialiased});
    save_metrics();
  }

  void save_metrics() const {
    writer_.save_metrics(trainer_.steps_done(), trainer_.device_gaussians().size(), *backend_);
  }

  void finish() {
    writer_.write_line();
    save();  // before the evaluation, which may take long or run out of memory
    if (trainer_.done()) {
      evaluate_now(trainer_.steps_done());
      save_metrics();
    }
    print("{}: {} Gaussians, {} steps, {} (model.ply, checkpoint, metrics.json, log.jsonl)\n",
          folder_.string(), trainer_.device_gaussians().size(), trainer_.steps_done(),
          format_duration(writer_.seconds()));
    if (trainer_.skipped_count() > 0)
      print_warning(fmt::format("{} steps were skipped, because their loss or gradients were not finite",
                                trainer_.skipped_count()));
  }

  std::string scene_path_;
  fs::path folder_;
  Scene scene_;
  RunOptions options_;  // depend on the scene
  std::unique_ptr<Backend> backend_;
  Trainer trainer_;
  bool replaces_earlier_run_;
  RunWriter writer_;
  StepReport last_;
  Clock::time_point last_save_ = Clock::now();
  bool has_saved_ = false;  // since it was started or resumed
  int saved_steps_ = 0;     // in the checkpoint
  double running_psnr_ = 0;
  bool stops_in_failure_ = false;
  bool has_warned_of_memory_ = false;
  std::optional<LiveTraining> live_;  // last, since it uses the others
};

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

void train_in_folder(TrainArguments a) {
  const RunLock lock(a.output);
  check_folder(a);  // again: another run may have ended in the meantime
  if (a.resume && a.flags.config.empty()) a.flags.config = options_file(a);
  const RunOptions options = resolve(a.flags);
  check_start(a, with_whole_path(options).start);
  TrainingRun(a, options).run();
}

void run_train(const TrainArguments& a) {
  check_folder(a);
  const bool is_new = !fs::exists(a.output);
  OutputFile::check(create_folder(a.output) /
                    "model.ply");  // before the work, so that a mistake costs nothing
  try {
    train_in_folder(a);
  } catch (...) {
    std::error_code is_not_empty;
    if (is_new) fs::remove(a.output, is_not_empty);
    throw;
  }
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
