// SPDX-License-Identifier: Apache-2.0
// stipple train: a folder of posed photos to a model.
#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <utility>

#include "apps/stipple/commands.h"
#include "apps/stipple/options/scene_flags.h"
#include "apps/stipple/options/train_flags.h"
#include "apps/stipple/run/memory_use.h"
#include "apps/stipple/run/run_writer.h"
#include "apps/stipple/terminal/format.h"
#include "apps/stipple/terminal/interrupt.h"
#include "apps/stipple/terminal/progress.h"
#include "stipple/core/error.h"
#include "stipple/io/output_file.h"
#include "stipple/io/ply/ply.h"

namespace stipple {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int kCustomaryEvaluation = 7'000;  // the step at which results are compared, besides the last
constexpr int kMaxSkipsInARow = 10;
constexpr double kRunningShare = 0.05;  // of a step in the running PSNR

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct TrainArguments {
  std::string scene, output;
  bool resume = false, overwrite = false;
  GivenOptions given;
};

void prepare_folder(const TrainArguments& a) {
  const fs::path folder = a.output;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw Error(fmt::format("cannot make the folder {}: {}", folder.string(), error.message()));
  OutputFile::check(folder / "model.ply");
  const bool holds_run = fs::exists(folder / "options.json") || fs::exists(folder / "model.ply");
  if (a.resume && !fs::exists(folder / "options.json"))
    throw Error(fmt::format("{}: there is no run to resume; start one without --resume", folder.string()));
  if (holds_run && !a.resume && !a.overwrite)
    throw Error(
        fmt::format("{}: there is a run already; give another folder, or --resume to go on with it, or "
                    "--overwrite to lose it",
                    folder.string()));
  if (a.resume) return;
  for (const char* name : {"model.ply", "checkpoint", "log.jsonl", "metrics.json"})
    fs::remove(folder / name, error);
}

BackendOptions backend_options(const RunOptions& settings) {
  return {.device = settings.device,
          .deterministic = settings.deterministic,
          .max_bytes = static_cast<std::size_t>(settings.max_vram_gib * (1u << 30))};
}

void print_problems(const Scene& scene) {
  for (const SceneProblem& p : scene.problems) fmt::print(stderr, "warning: {}. {}\n", p.what, p.advice);
}

class TrainingRun {
 public:
  TrainingRun(const TrainArguments& a, const RunOptions& settings)
      : folder_(a.output),
        settings_(settings),
        scene_(load_scene(a.scene, settings.scene)),
        backend_(make_backend(settings.backend, backend_options(settings))),
        trainer_(*backend_, scene_, settings.train),
        writer_(folder_) {
    print_problems(scene_);
    if (settings_.train.max_gaussians > 0) warn_of_memory_cap();
    if (a.resume) restore();
    writer_.save_options(settings_, a.scene, *backend_);
  }

  void run() {
    catch_interrupts();
    Progress progress(trainer_.schedule().last_step(), trainer_.steps_done());
    std::string stopped;
    while (!trainer_.done() && stopped.empty()) {
      try {
        stopped = advance(progress);
      } catch (const OutOfMemory&) {
        stopped = say_what_fits();
      }
    }
    progress.finish(trainer_.steps_done(), note(last_, progress));
    finish();
    if (!stopped.empty() && stops_in_failure_) throw Error(stopped);
    if (!stopped.empty()) fmt::print("{}\n", stopped);
  }

 private:
  // Why to stop, as a sentence, or nothing.
  std::string advance(Progress& progress) {
    const StepReport report = step();
    if (progress.is_due()) progress.update(report.step, note(report, progress));
    if (checkpoint_is_due(report.step)) save();
    return reason_to_stop(report, progress.seconds());
  }

  void restore() {
    const fs::path checkpoint = folder_ / "checkpoint";
    if (fs::exists(checkpoint))
      trainer_.restore(checkpoint);
    else
      fmt::print(stderr, "warning: the run stopped before its first checkpoint; it starts anew\n");
    writer_.resume_at(trainer_.steps_done());
  }

  StepReport step() {
    const auto start = Clock::now();
    double scoring_s = 0;
    const StepReport report = trainer_.step([&](const StepReport& trained) {
      if (trained.step != kCustomaryEvaluation || trained.step == trainer_.schedule().last_step()) return;
      const auto before = Clock::now();
      evaluate_now(trained.step);
      scoring_s = seconds_since(before);
    });
    writer_.add(report, seconds_since(start) - scoring_s);
    last_ = report;
    if (report.gaussian_count >= trainer_.memory_cap()) warn_of_memory_cap();
    if (report.was_skipped) {
      fmt::print(stderr, "warning: step {} gave numbers that are not finite, and was skipped\n", report.step);
      return report;
    }
    running_psnr_ =
        running_psnr_ == 0 ? report.psnr : running_psnr_ + kRunningShare * (report.psnr - running_psnr_);
    return report;
  }

  // Once, and only where it matters: where it is less than was asked for, or is reached.
  void warn_of_memory_cap() {
    if (trainer_.memory_cap() == 0 || std::exchange(has_warned_of_memory_, true)) return;
    fmt::print(
        stderr,
        "warning: no more than {} Gaussians fit into the device's memory; their number is kept to that\n",
        trainer_.memory_cap());
  }

  std::string note(const StepReport& r, const Progress& progress) const {
    return fmt::format("{:.1f} it/s  loss {:.4f}  PSNR {:.2f} dB  {} Gaussians  {}", progress.rate(r.step),
                       r.loss, running_psnr_, r.gaussian_count, format_bytes(memory_bytes()));
  }

  // A sentence, or nothing.
  std::string reason_to_stop(const StepReport& report, double seconds) {
    const std::string saved = fmt::format("what there is was saved in {}", folder_.string());
    stops_in_failure_ = true;
    if (interrupted())
      return fmt::format("interrupted at step {}; {}, go on with --resume", report.step, saved);
    if (report.skipped_in_a_row >= kMaxSkipsInARow)
      return fmt::format("{} steps in a row gave numbers that are not finite; {}, try lower rates",
                         kMaxSkipsInARow, saved);
    stops_in_failure_ = false;
    if (settings_.time_limit_s > 0 && seconds >= settings_.time_limit_s)
      return fmt::format("the time limit was reached at step {}; go on with --resume", report.step);
    if (settings_.target_psnr > 0 && running_psnr_ >= settings_.target_psnr)
      return fmt::format("{} dB were reached at step {}", settings_.target_psnr, report.step);
    return "";
  }

  std::string say_what_fits() {
    stops_in_failure_ = true;
    const std::size_t count = trainer_.device_gaussians().size();
    return fmt::format(
        "the device ran out of memory at step {} with {} Gaussians; what there is was saved in {}, "
        "go on with --resume --max-gaussians {}",
        trainer_.steps_done(), count, folder_.string(), fewer_gaussians(count));
  }

  void evaluate_now(int step) {
    if (!settings_.train.hold_out) return;
    const Evaluation e = evaluate(*backend_, trainer_.device_gaussians(), scene_.views, scene_.test_views(),
                                  trainer_.photos(), trainer_.render_options());
    writer_.add(e, step, trainer_.device_gaussians().size());
    fmt::print("step {}: PSNR {:.2f} dB, SSIM {:.4f} on {} held-out views, {} Gaussians, {}\n", step, e.psnr,
               e.ssim, e.views.size(), trainer_.device_gaussians().size(),
               format_duration(writer_.seconds()));
    std::fflush(stdout);
  }

  // On a fast device steps pass more quickly than the state can be written.
  bool checkpoint_is_due(int step) const {
    return settings_.checkpoint_every > 0 && step % settings_.checkpoint_every == 0 &&
           seconds_since(last_save_) >= settings_.checkpoint_seconds;
  }

  void save() {
    trainer_.save(folder_ / "checkpoint");
    save_ply(trainer_.gaussians(), folder_ / "model.ply");
    save_metrics();
    last_save_ = Clock::now();
  }

  void save_metrics() const {
    writer_.save_metrics(trainer_.steps_done(), trainer_.device_gaussians().size(), *backend_);
  }

  void finish() {
    writer_.write_line();
    save();  // first: scoring may take long, or more memory than there is
    if (trainer_.done()) {
      evaluate_now(trainer_.steps_done());
      save_metrics();
    }
    fmt::print("{}: {} Gaussians, {} steps, {} (model.ply, checkpoint, metrics.json, log.jsonl)\n",
               folder_.string(), trainer_.device_gaussians().size(), trainer_.steps_done(),
               format_duration(writer_.seconds()));
    if (trainer_.skipped_count() > 0)
      fmt::print(stderr, "warning: {} steps were skipped: they gave numbers that are not finite\n",
                 trainer_.skipped_count());
  }

  fs::path folder_;
  RunOptions settings_;
  Scene scene_;
  std::unique_ptr<Backend> backend_;
  Trainer trainer_;
  RunWriter writer_;
  StepReport last_;
  Clock::time_point last_save_ = Clock::now();
  double running_psnr_ = 0;
  bool stops_in_failure_ = false;
  bool has_warned_of_memory_ = false;
};

void run_train(TrainArguments a) {
  prepare_folder(a);
  if (a.resume && a.given.config.empty()) a.given.config = (fs::path(a.output) / "options.json").string();
  TrainingRun(a, resolve(a.given)).run();
}

}  // namespace

void add_train(CLI::App& app) {
  auto a = std::make_shared<TrainArguments>();
  CLI::App* command = app.add_subcommand("train", "Train a model from a folder of posed photos");
  command->add_option("scene", a->scene, "folder with a COLMAP model or a transforms.json")->required();
  command->add_option("-o,--output", a->output, "folder of the run: model.ply, checkpoint, metrics.json ...")
      ->required();
  command->add_flag("--resume", a->resume, "go on with the run in the folder, with its options");
  command->add_flag("--overwrite", a->overwrite, "start anew where there is a run already");
  add_run_options(*command, a->given);
  command->callback([a] { run_train(*a); });
}

}  // namespace stipple
