// SPDX-License-Identifier: Apache-2.0
#pragma once
// From photographs to Gaussians, one view a step. The same on every backend; on one, the same seed gives the
// same bits.
#include <filesystem>
#include <memory>

#include "stipple/backend/backend.h"
#include "stipple/core/random.h"
#include "stipple/scene/photo_cache.h"
#include "stipple/scene/scene.h"
#include "stipple/train/memory_plan.h"
#include "stipple/train/schedule.h"
#include "stipple/train/target_cache.h"
#include "stipple/train/train_options.h"

namespace stipple {

struct StepReport {
  int step = 0;
  float loss = 0;
  double psnr = 0;  // of this view
  std::size_t gaussian_count = 0;
  StageTimes ms{};
  bool was_skipped = false;  // something was not finite: nothing was changed
  int skipped_in_a_row = 0;
};

class Trainer {
 public:
  // The scene must outlive it.
  Trainer(Backend& backend, const Scene& scene, const TrainOptions& options);

  // Refinement comes at the start of the step after the one that it is due at. Whatever is thrown, the state
  // is that of the steps done before, and the step may be tried again; OutOfMemory comes once photos on the
  // device have made room and that was not enough.
  StepReport step();
  bool done() const { return state_.step >= schedule_.last_step(); }
  int steps_done() const { return state_.step; }
  int skipped_count() const { return state_.skipped; }
  const Schedule& schedule() const { return schedule_; }
  const TrainOptions& options() const { return options_; }

  // How many Gaussians the device's memory keeps the run to; 0: it does not.
  std::size_t memory_cap() const { return is_limited_by_memory_ ? memory_.max_gaussians : 0; }

  const DeviceGaussians& device_gaussians() const { return device_.gaussians; }
  Gaussians gaussians() const { return download(backend_, device_.gaussians); }
  PhotoCache& photos() { return photos_; }
  RenderOptions render_options() const;  // as in evaluation: over the plain background

  // Everything that the steps to come depend on, in one file that appears whole or not at all; restore() then
  // goes on with the same bits. It must be of the same scene and options. Errors leave the trainer as it was.
  void save(const std::filesystem::path& path) const;
  void restore(const std::filesystem::path& path);

 private:
  struct State {  // what is not on the device
    int step = 0, adam_step = 0, skipped = 0, skipped_in_a_row = 0;
    int finished_step = 0;  // `step`, once it has been refined after
    std::uint64_t view_counter = 0, density_counter = 0, background_counter = 0;  // of random numbers
    std::vector<std::uint32_t> order;                                             // of views in this epoch
    std::uint32_t position = 0;                                                   // in it
  };

  void limit_to_memory();
  StepReport try_step();
  void finish_last_step();
  void train_on_next_view(StepReport& report);
  std::size_t next_view();
  void shuffle();
  void prefetch();
  View view_of(std::size_t view);
  bool update(const View& view, const TargetCache::Target& target, StepReport& report);
  void raise_sh_degree();
  void refine();
  void note_skip(StepReport& report);

  Backend& backend_;
  const Scene& scene_;
  TrainOptions options_;
  std::vector<std::size_t> views_;  // to train on
  float extent_;
  Schedule schedule_;
  PhotoCache photos_;
  MemoryPlan memory_;  // nothing where the device works in the host's
  bool is_limited_by_memory_ = false;
  TargetCache targets_;
  State state_;

  TrainState device_;
  TrainBuffers buffers_;
};

}  // namespace stipple
