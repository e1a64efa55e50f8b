// SPDX-License-Identifier: Apache-2.0
#pragma once
// The pipeline on an NVIDIA GPU. One file a stage; everything happens in order on one stream. Where it is
// asked to be deterministic, the same input gives the same bits every time on one GPU.
#include <memory>
#include <unordered_map>

#include "stipple/backend/backend.h"
#include "stipple/backend/cuda/device_memory.h"
#include "stipple/backend/cuda/stage_events.h"

namespace stipple {

// What kernels tell each other and, at the end of a step, the host.
struct StepStatus {
  unsigned has_overflowed = 0;  // there are more pairs than there was room for
  unsigned is_bad = 0;          // a loss or a gradient that is not finite
  LossValue loss;
};

// What bin sets aside.
struct BinRoom {
  std::size_t gaussians = 0;  // that touch a tile
  std::size_t pairs = 0;      // of Gaussian and tile
};

void check_pair_count(std::uint64_t pairs);  // throws Error when they are more than can be counted

class CudaBackend : public Backend {
 public:
  explicit CudaBackend(const BackendOptions& options);
  ~CudaBackend() override;

  std::unique_ptr<Memory> allocate(std::size_t bytes) override;
  std::unique_ptr<Memory> wrap(void* data) override;
  void wait_for_stream(void* stream) override { context_->wait_for(static_cast<cudaStream_t>(stream)); }
  void make_stream_wait(void* stream) override { context_->make_wait(static_cast<cudaStream_t>(stream)); }
  void upload(std::span<const std::byte> from, Memory& to) override;
  void download(const Memory& from, std::span<std::byte> to) const override;
  void fill_zero(Memory& memory, std::size_t bytes) override;
  std::size_t own_memory_bytes() const override { return context_->max_bytes(); }
  std::size_t used_bytes() const override { return context_->used_bytes(); }
  std::size_t peak_used_bytes() const override { return context_->peak_bytes(); }

  std::string_view name() const override { return "cuda"; }
  std::string description() const override;

  void project(const DeviceGaussians&, const Precomputed&, const View&, Projection& out) override;
  void bin(const Projection&, const View&, TileBins& out) override;
  void blend(const Projection&, const TileBins&, const View&, Frame& out) override;
  LossValue loss(const Frame&, const LossTarget&, float ssim_weight, FrameGradient& out) override;
  void blend_backward(const Projection&, const TileBins&, const View&, const Frame&, const FrameGradient&,
                      SplatGradient& out) override;
  void project_backward(const DeviceGaussians&, const Precomputed&, const View&, const Projection&,
                        const SplatGradient&, DeviceGaussians& dL_dgaussians, Precomputed& dL_dprecomputed,
                        CameraGradient* dL_dcamera) override;
  void optimize(DeviceGaussians&, const DeviceGaussians& dL_dgaussians, const Projection&, AdamMoments&,
                const AdamOptions&) override;
  void project_backward_optimize(DeviceGaussians&, const View&, const Projection&, const SplatGradient&,
                                 AdamMoments&, const AdamOptions&) override;
  bool observe(const Projection&, const SplatGradient&, const View&, DensityStatistics&) override;
  void perturb(DeviceGaussians&, float amount, std::uint64_t seed) override;
  TrainOutcome train_step(TrainState&, const View&, const LossTarget&, const TrainStep&,
                          TrainBuffers&) override;
  void gather(const Memory& from, const DeviceArray<std::uint32_t>& rows, std::size_t row_bytes,
              Memory& to) override;

  // For tests: what train_step sets aside for views that it has not seen yet.
  void set_first_room(const BinRoom& room) { first_room_ = room; }
  int rerun_count() const { return rerun_count_; }  // of steps, because of too little room

 private:
  cudaStream_t stream() const { return context_->stream(); }

  // The stages without a word to the host in between. Kernels after `bin_into` may run on lists that were cut
  // off, and must not change anything but buffers then.
  void bin_into(const Projection&, const View&, const BinRoom&, TileBins& out);
  template <class Key>
  void bin_with_keys(const Projection&, const BinRoom&, TileBins& out);
  void loss_into(const Frame&, const LossTarget&, float ssim_weight, FrameGradient& out);
  // May leave the splats' sums for optimize_into, which saves writing out their gradients.
  void blend_backward_into(const Projection&, const TileBins&, const View&, const Frame&,
                           const FrameGradient&, bool leaves_sums, SplatGradient& out);
  void prepare_sums(std::size_t rows, int stride);
  void optimize_into(DeviceGaussians&, const View&, const Projection&, const SplatGradient&, AdamMoments&,
                     const AdamOptions&, DensityStatistics*);
  void perturb_into(DeviceGaussians&, float amount, std::uint64_t seed);
  StepStatus read_status();
  void clear_status();
  StepStatus* status();
  void enqueue_step(TrainState&, const View&, const LossTarget&, const TrainStep&, TrainBuffers&,
                    const BinRoom&);

  std::shared_ptr<CudaContext> context_;
  Arena arena_;
  struct {  // what CUB wants in bin for at most so much
    std::size_t key_bytes = 0, count = 0;
    BinRoom room;
    std::size_t bytes = 0;
  } scratch_;
  DeviceArray<StepStatus> status_;
  StepStatus* host_status_ = nullptr;          // pinned
  Projection::Totals* host_totals_ = nullptr;  // pinned
  bool deterministic_;
  DeviceArray<float> sums_;  // blend_backward: of every Gaussian, or of every pair
  int sums_stride_ = 0;
  std::uint32_t sums_stamp_ = 0;
  bool sums_are_pending_ = false;  // for optimize_into
  DeviceArray<double> loss_sums_;
  DeviceArray<unsigned> loss_blocks_done_;

  // What a camera needed the last time, by a hash of it: the views of a scene come again and again.
  std::unordered_map<std::uint64_t, BinRoom> room_from_camera_;
  BinRoom first_room_;
  int rerun_count_ = 0;
  StageEvents events_;
};

}  // namespace stipple
