// SPDX-License-Identifier: Apache-2.0
#pragma once
// Saves a run: when it is due, and whatever ends the run.
#include <chrono>
#include <filesystem>
#include <string>

#include "apps/stipple/run/run_writer.h"
#include "apps/stipple/train/run_on_ranks.h"
#include "stipple/options/run_options.h"
#include "stipple/train/trainer.h"

namespace stipple {

struct SavedRun {  // all of it must outlive RunSaver
  const std::string& scene;
  const std::filesystem::path& folder;
  const RunOptions& options;
  const Backend& backend;
  const Trainer& trainer;
  RankPlace place;
};

class RunSaver {
 public:
  RunSaver(const SavedRun& run, RunWriter& writer, bool replaces_earlier_run)
      : run_(run), writer_(writer), replaces_earlier_run_(replaces_earlier_run) {}

  void resume_at(int step) { saved_steps_ = step; }  // of the checkpoint that is there

  bool checkpoint_is_due(int step) const;
  void save();  // checkpoint, model and metrics; all ranks call it
  void save_metrics() const;

  // After an error: saves the state as it was before the step that failed. Never throws.
  void try_to_save();
  // What a run that ends can go on from, as a part of the sentence that says why it ends.
  std::string what_is_left() const;
  // For a run that saves and stops: where it was saved, and the advice. A run that stops in failure before
  // its first save leaves an earlier run in its folder alone; then this is empty.
  std::string was_saved(const std::string& advice) const;

  bool has_saved() const { return has_saved_; }  // since the run was started or resumed
  int saved_steps() const { return saved_steps_; }

 private:
  using Clock = std::chrono::steady_clock;

  double seconds_unsaved() const;
  std::string command_to_continue() const;

  SavedRun run_;
  RunWriter& writer_;
  bool replaces_earlier_run_;
  Clock::time_point last_save_ = Clock::now();
  bool has_saved_ = false;
  int saved_steps_ = 0;  // in the checkpoint
};

}  // namespace stipple
