// SPDX-License-Identifier: Apache-2.0
#pragma once
// The pipeline on an NVIDIA GPU, one file per stage. All work runs in order on one stream, but for what
// prefetch copies meanwhile, and the pass holds what one stage leaves for the next. With
// BackendOptions::deterministic, the same input gives the same bits every time on one GPU.
#include <memory>
#include <mutex>

#include "stipple/backend/backend.h"
#include "stipple/backend/cuda/cuda_pass.h"
#include "stipple/backend/cuda/runtime/device_memory.h"

namespace stipple::cuda {

// What blend draws and where it writes: the splats' colours and depths into the frame, or up to four further
// channels of every splat into separate planes.
struct BlendTarget {
  const float4* channels = nullptr;  // per splat; null for the splats' own
  int channel_count = 3;             // at most 4
  float* planes = nullptr;           // for the first three channels; null to write nothing
  float* fourth = nullptr;           // for the depth or the fourth channel; may be null
  float* transmittance = nullptr;
  Vec3f background{0, 0, 0};
};

// What blend_backward differentiates: the counterpart of BlendTarget, with the gradients.
struct BackwardSource {
  const float4* channels = nullptr;
  int channel_count = 3;
  const float *planes = nullptr, *fourth = nullptr, *transmittance = nullptr;
  const float *dL_dplanes = nullptr, *dL_dfourth = nullptr, *dL_dalpha = nullptr;
  const unsigned* chunk_count = nullptr;
};

class CudaBackend : public Backend, public MemoryBorrower {
 public:
  explicit CudaBackend(const BackendOptions& options);

  std::unique_ptr<Memory> allocate(std::size_t bytes) override;
  std::unique_ptr<Memory> allocate_on_host(std::size_t bytes) override;
  bool reaches_host() const override { return context_->host_ranges() != nullptr; }
  void upload(std::span<const std::byte> from, Memory& to) override;
  void download(const Memory& from, std::span<std::byte> to) const override;
  void fill_zero(Memory& memory, std::size_t bytes) override;
  void copy(const Memory& from, Memory& to, std::size_t bytes) override;
  bool resize_in_place(Memory& memory, std::size_t bytes) override;
  bool resizes_in_place(std::size_t bytes, Place place) const override {
    return place == Place::kHost || context_->is_paged(bytes);
  }
  MemoryBorrower* borrower() override { return this; }
  std::unique_ptr<Memory> borrow(void* data) override;
  void* address_of(Memory& memory) override { return static_cast<CudaMemory&>(memory).data(); }
  void wait_for_stream(void* stream) override { context_->wait_for(static_cast<cudaStream_t>(stream)); }
  void make_stream_wait(void* stream) override { context_->make_wait(static_cast<cudaStream_t>(stream)); }
  std::size_t own_memory_bytes() const override { return context_->max_bytes(); }
  std::size_t used_bytes() const override { return context_->used_bytes(); }
  std::size_t peak_used_bytes() const override { return context_->peak_bytes(); }

  const std::shared_ptr<CudaContext>& context() const { return context_; }

  std::string_view name() const override { return "cuda"; }
  std::string description() const override;
  std::unique_ptr<RankLink> link(Ranks&) override;  // NCCL, where every rank has a GPU of its own
  std::size_t pass_bytes(const PassSize&) const override;

  void begin(Pass&, int view_count) override;
  PassResult read(Pass&) override;
  Pass copy_of(const Pass&) override;
  void release(Pass&) override;
  bool release_copies(Pass&) override;

  void project(const DeviceGaussians&, const Precomputed&, const View&, Pass&) override;
  void prefetch(const DeviceGaussians&, const Precomputed&, const View&, Pass&) override;
  void receive(const View&, const DeviceArray<ProjectedSplat>&, Pass&) override;
  void bin(const View&, Pass&) override;
  void blend(const View&, Pass&) override;
  void blend_channels(const View&, const Channels&, Pass&, DeviceArray<float>& planes) override;
  void loss(const View&, const LossTarget&, const LossOptions&, Pass&) override;
  void depth_loss(const DepthSamples&, float weight, Pass&) override;
  void blend_backward(const View&, const WantedGradients&, Pass&) override;
  void blend_channels_backward(const View&, const Channels&, const DeviceArray<float>& planes,
                               const DeviceArray<float>& dL_dplanes, Pass&,
                               DeviceArray<float>& dL_dchannels) override;
  void project_backward(const DeviceGaussians&, const Precomputed&, const View&, const WantedGradients&,
                        Pass&, GradientSum&) override;
  void optimize(TrainState&, const GradientSum&, const AdamOptions&, const LossOptions&, Pass&) override;
  void perturb(TrainState&, float amount, std::uint64_t seed, Pass&) override;
  void project_backward_optimize(TrainState&, const View&, const WantedGradients&, const AdamOptions&,
                                 const LossOptions&, Pass&) override;
  void copy_rows(const Memory& from, const RowPart& from_part, const DeviceArray<std::uint32_t>* rows,
                 Memory& to, const RowPart& to_part, std::size_t count, std::size_t halves) override;

  CudaPass& own(Pass& pass) const;  // created on first use

 private:
  cudaStream_t stream() const { return context_->stream(); }
  bool is_on_host(const void* data) const {
    return context_->host_ranges() && context_->host_ranges()->contains(data);
  }

  void begin_pass(CudaPass&, int view_count);
  void begin_view(CudaPass&, const View&);
  // Rows for the splats of a view, and room for its lists; both wait for a view whose needs are not known.
  std::size_t rows_for(CudaPass&, const View&, const DeviceArray<VisibleBlock>&, std::size_t gaussians);
  BinRoom room_for(CudaPass&, const View&);
  void scan_rows(CudaPass&, DeviceArray<VisibleBlock>&);
  // Rows of coefficients that a pass may copy to the device in each of two arrays, if those of the model lie
  // on the host.
  std::size_t most_coefficient_rows(int sh_degree) const;
  // Room for those of so many Gaussians that the view shows, as far as there may be.
  void keep_shown_coefficients(CudaPass&, std::size_t rows, int sh_degree);

  // If the capacity is too small the tiles' lists are left empty, and later kernels must change nothing but
  // the pass.
  void bin_into(const View&, const BinRoom&, Pass&);
  template <class Key>
  void bin_with_keys(const BinRoom&, Pass&);
  void blend_into(const View&, const BlendTarget&, ChunkList*, unsigned* chunk_count, const Pass&);
  // Writes the splats' gradients to `out`, or leaves them in the pass as sums.
  void sum_gradients(const View&, const BackwardSource&, const ChunkList&, bool leaves_sums,
                     bool wants_absolute, SplatGradient& out, Pass&);
  void prepare_sums(CudaPass&, std::size_t rows, int stride);
  static constexpr int kChannelGroup = 4;  // further channels are blended in groups of four
  void load_channel_group(const Channels&, int first, const Projection&, DeviceArray<float4>& group);
  void write_pending_gradients(Pass&);  // from the sums that blend_backward left in the pass

  std::shared_ptr<CudaContext> context_;
  bool deterministic_;
  std::mutex cub_mutex_;
  struct {  // scratch bytes of CUB in bin for up to these counts: querying takes longer than a small sort
    std::size_t key_bytes = 0;
    BinRoom room;
    std::size_t bytes = 0;
  } cub_;
};

}  // namespace stipple::cuda
