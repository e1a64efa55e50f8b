// SPDX-License-Identifier: Apache-2.0
#pragma once
// From photographs to Gaussians. The same on every backend; on one, the same seed gives the same bits.
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>

#include "stipple/backend/backend.h"
#include "stipple/core/fair_mutex.h"
#include "stipple/core/random.h"
#include "stipple/photo/photo_cache.h"
#include "stipple/scene/scene.h"
#include "stipple/train/memory_plan.h"
#include "stipple/train/schedule.h"
#include "stipple/train/target_cache.h"
#include "stipple/train/train_options.h"

namespace stipple {

struct StepReport {
  int step = 0;
  float loss = 0;   // the mean over the step's views
  double psnr = 0;  // likewise
  std::size_t gaussian_count = 0;
  StageTimes ms{};
  bool was_skipped = false;  // something was not finite: nothing was changed
  int skipped_in_a_row = 0;
};

class Trainer {
 public:
  // The scene must outlive it.
  Trainer(Backend& backend, const Scene& scene, const TrainOptions& options);

  // One step, from the next views to the refinement that is due after it; the last step of a run is not
  // refined after, unless the run goes on from its checkpoint. Whatever is thrown, the step is not done, the
  // state can be saved, and the next call takes the step up again where it was left. OutOfMemory comes once
  // photos on the device have made room and that was not enough. `after_update` is called once a step, before
  // the refinement: there the model is as it was trained, without what is then added to it. It must not call
  // with_model(), which waits for the end of the step.
  using AfterUpdate = std::function<void(const StepReport&)>;
  StepReport step(const AfterUpdate& after_update = {});
  bool done() const { return steps_done() >= schedule_.last_step(); }
  int steps_done() const { return state_.step - (is_unfinished_ ? 1 : 0); }
  int skipped_count() const { return state_.skipped; }
  const Schedule& schedule() const { return schedule_; }
  const TrainOptions& options() const { return options_; }

  // How many Gaussians the device's memory keeps the run to; 0: it does not.
  std::size_t memory_cap() const { return is_limited_by_memory_ ? memory_.max_gaussians : 0; }

  // f(Gaussians on the device), between two steps: for other threads that look at the model while it is
  // trained.
  template <class F>
  auto with_model(F f) const {
    const std::lock_guard lock(model_mutex_);
    return f(device_.gaussians);
  }

  // For the thread that calls step().
  const DeviceGaussians& device_gaussians() const { return device_.gaussians; }
  Gaussians gaussians() const { return download(backend_, device_.gaussians); }
  PhotoCache& photos() { return photos_; }
  const RenderOptions& render_options() const { return options_.render; }  // as in evaluation

  // Everything that the steps to come depend on, in one file that appears whole or not at all; restore() then
  // goes on with the same bits. It must be of the same scene and options. Errors leave the trainer as it was.
  void save(const std::filesystem::path& path) const;
  void restore(const std::filesystem::path& path);

 private:
  struct State {  // what is not on the device
    int step = 0, adam_step = 0, skipped = 0, skipped_in_a_row = 0;
    int finished_step =
        0;  // `step`, or the one before where there was no room for the refinement that ends it
    std::uint64_t view_counter = 0, density_counter = 0, background_counter = 0;  // of random numbers
    std::vector<std::uint32_t> order;                                             // of views in this epoch
    std::uint32_t position = 0;                                                   // in it
  };
  struct Batch {  // the views of a step, and their photos while it lasts
    std::vector<TrainView> views;
    std::vector<std::shared_ptr<const TargetCache::Target>> targets;
  };

  void limit_to_memory();
  template <class F>
  void with_room_for(F work);

  StepReport train();
  Batch next_batch();
  std::size_t next_view();
  void shuffle();
  void prefetch();
  View view_of(std::size_t view);
  TrainStep plan_step() const;
  void note(const PassResult& result, const Batch& batch, StepReport& report);

  void finish_step();
  void refine();
  void raise_sh_degree();

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
  StepReport report_;           // of the step that is being done
  bool is_unfinished_ = false;  // it has been trained, but there was no room for its refinement

  mutable FairMutex model_mutex_;  // held while a step changes what is on the device
  TrainState device_;
  TrainBuffers buffers_;
};

}  // namespace stipple
