// SPDX-License-Identifier: Apache-2.0
#pragma once
// The private part of Trainer. trainer.cpp implements training, trainer_memory.cpp what lies where,
// trainer_guard.cpp what the guard decides, trainer_checkpoint.cpp saving and trainer_restore.cpp restoring.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <type_traits>
#include <vector>

#include "stipple/core/fair_mutex.h"
#include "stipple/evaluate/evaluate.h"
#include "stipple/photo/photo_cache.h"
#include "stipple/train/density/min_size.h"
#include "stipple/train/density/trim.h"
#include "stipple/train/depth_samples.h"
#include "stipple/train/filtered_model.h"
#include "stipple/train/guard.h"
#include "stipple/train/memory_plan.h"
#include "stipple/train/schedule.h"
#include "stipple/train/shards.h"
#include "stipple/train/target_cache.h"
#include "stipple/train/trainer.h"

namespace stipple {

inline double psnr_of(float mean_squared_error) {
  return -10 * std::log10(static_cast<double>(std::max(mean_squared_error, 1e-12f)));
}

// Both are sorted.
inline std::vector<std::size_t> without(const std::vector<std::size_t>& views,
                                        const std::vector<std::size_t>& left_out) {
  std::vector<std::size_t> rest;
  std::set_difference(views.begin(), views.end(), left_out.begin(), left_out.end(), std::back_inserter(rest));
  return rest;
}

class Trainer::Impl {
 public:
  // One of these three follows the constructor: start_from_points(), start_from() or resume().
  Impl(Backend& backend, const Scene& scene, const TrainOptions& options, Ranks& ranks);
  void start_from_points();
  void start_from(Gaussians model);
  void resume(const std::filesystem::path& checkpoint);

  StepReport step(const AfterUpdate& after_update);
  int steps_done() const { return state_.step - (phase_ == Phase::kFinished ? 0 : 1); }
  int last_step() const {
    return state_.polish_until > 0 ? std::min(state_.polish_until, schedule_.last_step())
                                   : schedule_.last_step();
  }
  std::span<const std::size_t> watched_views() const {
    return state_.has_all_views ? std::span<const std::size_t>() : watched_;
  }
  int skipped_count() const { return state_.skipped; }
  std::string_view link_name() const { return link_->name(); }
  std::size_t memory_cap() const { return is_limited_by_memory_ ? memory_.max_gaussians() : 0; }
  bool has_harmonics_on_host() const;
  const RenderOptions& render_options() const { return options_.render; }
  const DeviceGaussians& device_gaussians() const { return device_.gaussians; }
  std::size_t gaussian_count() const { return device_.size_of_model(); }
  std::size_t dropped_count() const { return dropped_count_; }
  Gaussians gaussians() const;

  void call_between_steps(const std::function<void(const DeviceGaussians&)>& f) const {
    const std::lock_guard lock(model_mutex_);
    with_filtered(f);
  }
  Evaluation evaluate(std::span<const std::size_t> views, const EvaluationProgress& progress) {
    release_frame();
    release_buffers();
    return with_filtered([&](const DeviceGaussians& model) {
      return stipple::evaluate(backend_, *link_, model, scene_.views, views, photos_, options_.render,
                               progress);
    });
  }

  const Frame& render(const View& view, int sh_degree);
  bool release_frame();  // false if there was none

  void save(const std::filesystem::path& path) const;
  void restore(const std::filesystem::path& path) { restore(path, StartCheck::kSame); }

 private:
  struct State {  // the part of the training state that is not on the device
    int step = 0, adam_step = 0, skipped = 0, skipped_in_a_row = 0;
    // The last step whose refinement is done: `step`, or the one before if the refinement failed.
    int finished_step = 0;
    int checked_step = 0;  // the last one that the guard judged
    // Set if the guard ends the run early: the steps between which the best model is polished.
    int polish_from = 0, polish_until = 0;
    bool has_all_views = false;  // the watched views have been given back, or there are none
    // Harmonics once had to lie on the host: from then on, they are only updated in steps that show their
    // Gaussian, wherever they lie now.
    bool visible_harmonics_only = false;
    std::uint64_t view_counter = 0, density_counter = 0, background_counter = 0;  // of random numbers
    std::vector<std::uint32_t> order;  // of the views in this epoch
    std::uint32_t position = 0;        // in `order`
  };
  // How far the current step has got. Each phase can be repeated until it succeeds, in this run or in one
  // that restores its checkpoint.
  enum class Phase { kFinished, kUpdated, kReported };
  static constexpr int kLastPhase = static_cast<int>(Phase::kReported);

  // The views of a step, and the photos of those that this rank draws, which it keeps alive.
  struct Batch {
    std::vector<TrainView> views;
    std::vector<std::shared_ptr<const TargetCache::Target>> targets;  // null: another rank draws the view
  };

  // Calls f with the model as everything outside of the trainer sees it: with the filter as a part of it.
  template <class F>
  std::invoke_result_t<F, const DeviceGaussians&> with_filtered(F f) const {
    require_whole();  // the arrays of a torn model may differ in length
    const DeviceArray<float>& variance = device_.precomputed.filter_variance;
    if (variance.empty()) return f(device_.gaussians);
    return f(filtered_model(backend_, device_.gaussians, variance, options_.render.scale_modifier));
  }

  nlohmann::json checkpoint_text() const;  // trainer_checkpoint.cpp

  // trainer_restore.cpp
  struct Saved;
  enum class StartCheck { kSame, kAny };
  void restore(const std::filesystem::path& path, StartCheck check);
  Saved load(const std::filesystem::path& path, StartCheck check) const;
  void check_identity(const nlohmann::json& text, const std::filesystem::path& path) const;
  void read_text(const nlohmann::json& text, Saved& to) const;
  std::size_t drop_excess(Saved& saved) const;
  void install(Saved saved);

  // trainer_memory.cpp
  MemoryPlan plan_for_device() const;
  void limit_to_memory();
  Place place_of_harmonics(std::size_t gaussians);
  void place_harmonics(Place place);
  bool make_room_for_harmonics(std::size_t gaussians);
  void try_to_move_harmonics_back();
  bool move_harmonics_to_host();
  void release_buffers();

  void begin(Gaussians first, std::vector<float> filter);
  template <class F>
  void retry_with_less_memory(F work);
  void require_whole() const;

  StepReport train();
  Batch next_batch();
  std::size_t next_view(int place);
  void shuffle();
  void prefetch(int place);
  std::optional<View> announced_view() const;
  View view_of(std::size_t view);
  TrainStep plan_step() const;
  bool has_several_ranks() const { return ranks_.count() > 1; }
  std::vector<float> mean_weights(const Batch& batch) const;
  void record(const PassResult& result, const Batch& batch, StepReport& report);

  void finish_step();

  // trainer_guard.cpp
  void check_model();
  ModelScore score_model();
  bool uses_dropout() const { return schedule_.dropout(options_.steps, all_views_.size()) > 0; }
  double psnr_without_dropout(std::span<const std::size_t> views);
  double psnr_of_view(std::size_t index, const View& view, Pass& pass);
  bool act_on(Verdict verdict, const ModelScore& score);  // whether it went back
  bool recover_from_collapse();                           // false if no model has been kept
  void keep_model();
  void release_best();
  void go_back();
  void return_to_best(const ModelScore& score);
  void give_views_back();
  void end_early();
  AdamOptions rates() const;

  // Of Precomputed; empty if this run has no filter.
  std::vector<float> filter_variance(std::span<const Vec3f> means) const;
  bool limits_sizes() const;
  void limit_sizes();
  void refine();
  void carry_out_alone(const DensityPlan& plan);
  void carry_out_over_ranks(const DensityPlan& plan);
  void raise_sh_degree();

  Backend& backend_;
  Ranks& ranks_;
  std::unique_ptr<RankLink> link_;
  const Scene& scene_;
  TrainOptions options_;
  std::vector<std::size_t> all_views_;  // the training views
  std::vector<std::size_t> watched_;    // the guard's
  std::vector<std::size_t> views_;      // those that are trained on now
  float extent_;
  std::vector<std::uint32_t> fingerprints_;  // of all views of the scene
  Schedule schedule_;
  Trimmer trimmer_;
  MinSize min_size_;
  PhotoCache photos_;
  MemoryPlan memory_;  // of the whole model; empty for a device that works in host memory
  bool is_limited_by_memory_ = false;
  std::size_t most_restored_ = 0;  // Gaussians of a checkpoint, as many as a device can have; 0 means all
  TargetCache targets_;
  DepthSampleCache depths_;
  State state_;
  Guard guard_;
  StepReport report_;  // of the current step
  Phase phase_ = Phase::kFinished;
  // Something failed in the middle of a change to several arrays, so that they no longer belong together.
  // Such a state must not be saved.
  bool is_torn_ = false;
  std::size_t dropped_count_ = 0;
  std::optional<std::uint32_t> start_;  // fingerprint of the model that the run started from, if it did

  mutable FairMutex model_mutex_;  // held while a step changes what is on the device
  TrainState device_;
  TrainBuffers buffers_;
  Gaussians best_;  // the model that the guard keeps, and its filter, on the host
  std::vector<float> best_filter_;
  ModelPart best_part_;
  bool has_replaced_best_ = false;  // in the current check of the guard
  Pass watch_pass_;
  Pass picture_pass_;  // of render()
};

}  // namespace stipple
