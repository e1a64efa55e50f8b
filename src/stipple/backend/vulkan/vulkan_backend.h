// SPDX-License-Identifier: Apache-2.0
#pragma once
// The pipeline as Vulkan compute kernels, one .cpp file per stage with the .comp files of its kernels beside
// it. All work runs in order on one queue, and the pass holds what one stage leaves for the next. With
// BackendOptions::deterministic, the same input gives the same bits every time on one GPU.
#include "stipple/backend/backend.h"
#include "stipple/backend/vulkan/shared/kernel_run.h"
#include "stipple/backend/vulkan/vulkan_pass.h"

namespace stipple::vulkan {

// What a device can do, reduced: lets tests exercise the code for lesser devices.
struct Overrides {
  bool no_subgroups = false, no_float_atomics = false;
  std::size_t split_bytes = 0;  // larger arrays are split; a power of two, or 0 for the device's own limit
};

// What blend draws and where it writes: the splats' colours and depths into the frame, or up to four further
// channels of every splat into separate planes.
struct BlendTarget {
  const DeviceArray<Vec4f>* channels = nullptr;  // per splat; null for the splats' own
  int channel_count = 3, first_plane = 0;
  DeviceArray<float>* planes = nullptr;  // null to write nothing
  DeviceArray<float>*depth = nullptr, *transmittance = nullptr;
  Vec3f background{0, 0, 0};
};

// What blend_backward differentiates: the counterpart of BlendTarget, with the gradients.
struct BackwardSource {
  const DeviceArray<Vec4f>* channels = nullptr;
  int channel_count = 3, first_plane = 0;
  const DeviceArray<float>*planes = nullptr, *depth = nullptr, *transmittance = nullptr;
  const DeviceArray<float>*dL_dplanes = nullptr, *dL_ddepth = nullptr, *dL_dalpha = nullptr;
};

class VulkanBackend : public Backend {
 public:
  explicit VulkanBackend(const BackendOptions& options, const Overrides& overrides = {});
  // A further backend on the same device, which shares its memory limit and its compiled kernels.
  VulkanBackend(const VulkanBackend& other, bool deterministic);

  std::unique_ptr<Memory> allocate(std::size_t bytes) override;
  std::unique_ptr<Memory> allocate_on_host(std::size_t bytes) override;
  bool reaches_host() const override { return context_->abilities().has_other_memory; }
  void upload(std::span<const std::byte> from, Memory& to) override;
  void download(const Memory& from, std::span<std::byte> to) const override;
  void fill_zero(Memory& memory, std::size_t bytes) override;
  void copy(const Memory& from, Memory& to, std::size_t bytes) override;
  std::size_t most_bytes_at_once() const override {
    return static_cast<std::size_t>(context_->abilities().max_allocation_bytes);
  }
  std::size_t own_memory_bytes() const override { return context_->max_bytes(); }
  std::size_t used_bytes() const override { return context_->used_bytes(); }
  std::size_t peak_used_bytes() const override { return context_->peak_bytes(); }

  std::string_view name() const override { return "vulkan"; }
  std::string description() const override { return description_; }
  std::size_t pass_bytes(const PassSize&) const override;

  void begin(Pass&, int view_count) override;
  PassResult read(Pass&) override;
  Pass copy_of(const Pass&) override;
  void release(Pass&) override;

  void project(const DeviceGaussians&, const Precomputed&, const View&, Pass&) override;
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

  VulkanPass& own(Pass& pass) const;  // created on first use
  Context& context() const { return *context_; }

 private:
  KernelRun run(std::string shader) const { return KernelRun(*context_, std::move(shader)); }
  // The kernel with subgroup operations, if the device has them.
  std::string with_subgroups(const std::string& shader, std::uint32_t least_size = 1) const;
  Binding status_of(const VulkanPass&) const;  // of the current view
  // Calls f(first, count) for parts of the Gaussians whose arrays, of up to this many bytes per Gaussian, fit
  // into bindings.
  template <class F>
  void for_each_window(std::size_t gaussians, std::size_t bytes_each, F f) const;

  void begin_pass(VulkanPass&, int view_count);
  void begin_view(VulkanPass&, const View&);
  // Rows for the splats of a view, and room for its lists; both wait for a view whose needs are not known.
  std::size_t rows_for(VulkanPass&, const View&, const DeviceArray<VisibleBlock>&, std::size_t gaussians);
  BinRoom room_for(VulkanPass&, const View&);
  void scan_rows(VulkanPass&, DeviceArray<VisibleBlock>&);

  void bin_into(const View&, const BinRoom&, Pass&);
  void select_by_depth(const BinRoom&, Pass&);
  void scan(std::uint32_t what, Pass&, std::size_t direct_items, int indirect,
            const DeviceArray<std::uint32_t>* order, DeviceArray<std::uint32_t>* counters, bool sorts_pairs);
  void sort_pass(SortArrays& arrays, int from, DeviceArray<std::uint32_t>& sorted_value, std::uint32_t shift,
                 std::uint32_t bits, bool sorts_pairs, Pass&);

  void blend_into(const View&, const BlendTarget&, ChunkList*, const Pass&);
  // Leaves the sums in the pass.
  void sum_gradients(const View&, const BackwardSource&, const ChunkList&, bool wants_absolute, Pass&);
  void write_gradients(Pass&, bool has_absolute, SplatGradient& out);
  void write_pending_gradients(Pass&);
  static constexpr int kChannelGroup = 4;  // further channels are blended in groups of four
  void load_channel_group(const Channels&, int first, const Projection&, DeviceArray<Vec4f>& group);

  std::shared_ptr<Context> context_;
  std::string description_;
  bool deterministic_;
};

// The layout of VIEW_PARAMETERS in shared/view.glsl.
struct ViewParameters {
  Math<float>::Pinhole camera;
  float near_plane, blur_px2, scale_modifier, alpha_max;
  std::uint32_t antialiased, inverse_depth;
  Math<float>::Dropout dropout;
  std::uint32_t first_gaussian = 0, count = 0;
  std::int32_t column_count, row_begin, row_end;

  explicit ViewParameters(const View& view);
};

// The specialisation constants of shared/gaussian.glsl.
std::vector<std::uint32_t> form_constants(const DeviceGaussians&, const Precomputed&, const View&);

template <class F>
void VulkanBackend::for_each_window(std::size_t gaussians, std::size_t bytes_each, F f) const {
  // So that every array's window begins at an aligned address: at most a multiple of 256, and a Gaussian has
  // at least 2 bytes.
  constexpr std::size_t kMultiple = 128;
  const std::size_t most = std::max(kMultiple, static_cast<std::size_t>(context_->abilities().split_bytes) /
                                                   bytes_each / kMultiple * kMultiple);
  for (std::size_t first = 0; first < gaussians; first += most) f(first, std::min(most, gaussians - first));
}

}  // namespace stipple::vulkan
