// SPDX-License-Identifier: Apache-2.0
// Part of the public interface.
#pragma once
// Trains Gaussians from photographs, in the same way on every backend. On the CPU, and on a GPU with
// BackendOptions::deterministic, the same seed gives the same bits.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include "stipple/backend/backend.h"
#include "stipple/core/error.h"
#include "stipple/evaluate/evaluation.h"
#include "stipple/ranks/ranks.h"
#include "stipple/scene/scene.h"
#include "stipple/train/guard_event.h"
#include "stipple/train/train_options.h"

namespace stipple {

struct StepReport {
  int step = 0;
  float loss = 0;   // mean over the views of the step
  double psnr = 0;  // likewise
  std::size_t gaussian_count = 0;
  std::size_t visible = 0, pairs = 0;  // the most of a view of the step, as in ViewResult
  StageTimes ms{};
  std::uint64_t exchanged_bytes = 0;  // that the ranks have sent to one another for the passes
  bool was_skipped = false;           // the loss or a gradient was not finite, so that nothing was changed
  int skipped_in_a_row = 0;
  std::optional<GuardEvent> guard;  // what the guard did after this step
};

// Thrown by Trainer::restore() for a file that is not a checkpoint, is truncated, or fails its checksum.
class DamagedCheckpoint : public Error {
 public:
  using Error::Error;
};

class Trainer {
 public:
  // The backend, the scene and the ranks must outlive the trainer.
  //
  // If there are several ranks, each has a trainer with the same scene and options and a backend of its own,
  // and a part of the Gaussians. Their trainers call the same functions in the same order, up to those for
  // other threads, and end with the bits of a run in one process. Photos are loaded by the rank that draws
  // them. When a function throws on one rank, the run has to end on all of them.
  Trainer(Backend& backend, const Scene& scene, const TrainOptions& options, Ranks& ranks = one_rank());

  // Starts from a model in the frame of the scene instead of the scene's points. All else is that of a run
  // from its first step. Harmonics above options.sh_degree are dropped; missing ones are added when their
  // time comes. Gaussians with values that are not finite are left out, and so are the least important ones
  // beyond the limit; dropped_count() is their number. Throws Error if nothing remains, or if no photo shows
  // any of the Gaussians.
  Trainer(Backend& backend, const Scene& scene, const TrainOptions& options, Gaussians start,
          Ranks& ranks = one_rank());

  // Continues the run of a checkpoint, whatever it started from: what restore() does, but without anything to
  // start from.
  static Trainer resumed(Backend& backend, const Scene& scene, const TrainOptions& options,
                         const std::filesystem::path& checkpoint, Ranks& ranks = one_rank());
  ~Trainer();
  Trainer(Trainer&&) noexcept;
  Trainer& operator=(Trainer&&) noexcept;

  // One step: forward, loss, backward and update over the next views, then the refinement if one is due. The
  // last step of a run is not refined, unless the run is continued from its checkpoint.
  //
  // If this throws, the step is not done, the state can be saved, and the next call resumes the step where it
  // stopped. OutOfMemory is thrown only after photos that were cached on the device have been released. Only
  // if the device or the host's memory fails in the middle of a change of the model is the state lost: all
  // further calls throw, except restore().
  //
  // `after_update` is called before the refinement, and sees the model as it was trained: once per step, or
  // again if it threw. It must not call with_model(), which waits for the end of the step.
  using AfterUpdate = std::function<void(const StepReport&)>;
  StepReport step(const AfterUpdate& after_update = {});
  bool done() const;
  int steps_done() const;
  int last_step() const;  // may become smaller if the guard ends the run early
  std::span<const std::size_t> watched_views()
      const;  // the guard's; empty if it has none, or has given them back
  int skipped_count() const;

  // What splats travel over from rank to rank, for people.
  std::string_view link_name() const;

  // The number of Gaussians to which the memory of the device and the host limits the run; 0 if it does not.
  std::size_t memory_cap() const;
  // Whether harmonics now lie in the host's memory, since the device's is too small for so many Gaussians.
  bool has_harmonics_on_host() const;

  // Calls f(Gaussians on the device) between two steps and returns its result. Other threads use this to look
  // at the model while it is trained. As in gaussians() and evaluate(), the 3D filter is a part of the model.
  template <class F>
  auto with_model(F f) const {
    using Result = std::invoke_result_t<F, const DeviceGaussians&>;
    if constexpr (std::is_void_v<Result>) {
      call_between_steps(f);
    } else {
      std::optional<Result> result;
      call_between_steps([&](const DeviceGaussians& model) { result.emplace(f(model)); });
      return *std::move(result);
    }
  }

  // These are for the thread that calls step().
  std::size_t gaussian_count() const;  // of the whole model
  const DeviceGaussians& device_gaussians()
      const;                                    // this rank's, as they are optimised: without the 3D filter
  Gaussians gaussians() const;                  // the whole model, on rank 0; none on other ranks
  const RenderOptions& render_options() const;  // for evaluation
  Evaluation evaluate(std::span<const std::size_t> views, const EvaluationProgress& progress = {});
  // Renders this rank's part of the model for someone who watches: what with_model() shows, but without a
  // copy of the model. Harmonics of a higher degree than this are left out. The frame stays until the next
  // call of the trainer. It changes nothing that training depends on, and when training runs out of memory,
  // that of the frame is released first. release_frame() does so when nobody watches any more.
  const Frame& render(const View& view, int sh_degree = 3);
  void release_frame();

  // Saves everything that later steps depend on, in one file that is replaced atomically. A trainer of the
  // same scene, options and start that restores it continues with the same bits. If restore() throws because
  // of the file or because the device's memory is too small, the trainer is unchanged.
  //
  // A checkpoint with more Gaussians than TrainOptions::max_gaussians, or the device's memory, allows is
  // restored without the least important ones. dropped_count() is their number. The file is the same for any
  // number of ranks, each of which writes its part of it, so a run can be continued on another number.
  void save(const std::filesystem::path& path) const;
  void restore(const std::filesystem::path& path);
  std::size_t dropped_count() const;

 private:
  class Impl;

  explicit Trainer(std::unique_ptr<Impl> impl);

  void call_between_steps(const std::function<void(const DeviceGaussians&)>& f) const;

  std::unique_ptr<Impl> impl_;
};

}  // namespace stipple
