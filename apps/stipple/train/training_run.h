// SPDX-License-Identifier: Apache-2.0
#pragma once
// A run of stipple train: steps, evaluations, checkpoints and visitors, until the end or a reason to stop.
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "apps/stipple/options/run_flags.h"
#include "apps/stipple/run/run_writer.h"
#include "apps/stipple/terminal/progress.h"
#include "apps/stipple/train/run_on_ranks.h"
#include "apps/stipple/train/run_saver.h"
#include "apps/stipple/view/live_training.h"
#include "stipple/options/run_options.h"
#include "stipple/train/trainer.h"

namespace stipple {

struct TrainingRunOptions {
  std::string scene;
  std::filesystem::path folder;
  RankPlace place{one_rank()};
  bool resume = false;
  bool replaces_earlier_run = false;
  RunFlags flags;                   // resolved for the scene once it is loaded
  std::optional<LiveOptions> page;  // to watch the run on
};

class TrainingRun {
 public:
  // Loads the scene, with `scene` as the options that apply to that.
  TrainingRun(const TrainingRunOptions& options, const SceneOptions& scene);

  // Trains to the end, or until something stops the run, and saves it. Throws Error if the run failed, or was
  // interrupted.
  void run();

 private:
  std::string train();
  std::string advance(Progress& progress);
  StepReport step();
  void tell(const GuardEvent& event, int step);
  bool evaluation_is_due(int step) const;
  void evaluate(int step);
  void save();
  void finish();

  // What only one rank knows, or may see later than another.
  struct Signals {
    bool is_interrupted = false, memory_ran_out = false, time_is_up = false, checkpoint_is_due = false;
  };
  Signals agreed_signals(const StepReport& report, double seconds);
  std::string reason_to_stop(const StepReport& report, const Signals& signals);
  std::string out_of_memory();
  std::string rescue(const std::function<std::string()>& work);

  std::string with_visitors(const std::function<std::string()>& work);
  bool is_stopped_by_visitor(Progress& progress);
  void save_for_visitor();
  void in_state(LiveTraining::State state, const std::function<void()>& work);

  void warn_of_dropped_gaussians();
  void warn(const std::string& text);
  void warn_of_memory_cap();
  void tell_of_harmonics_on_host();
  std::string note(const StepReport& report, const Progress& progress) const;

  std::string scene_path_;
  std::filesystem::path folder_;
  RankPlace place_;
  Scene scene_;
  RunOptions options_;  // depend on the scene
  std::unique_ptr<Backend> backend_;
  Trainer trainer_;
  RunWriter writer_;
  RunSaver saver_;
  StepReport last_;
  double running_psnr_ = 0;
  bool stops_in_failure_ = false;
  bool has_warned_of_memory_ = false, has_told_of_host_ = false;
  std::optional<LiveTraining> live_;  // last, since it uses the others
};

}  // namespace stipple
