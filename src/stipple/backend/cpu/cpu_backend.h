// SPDX-License-Identifier: Apache-2.0
#pragma once
// The pipeline on the host's cores. One file a stage; each is deterministic by construction: the same input
// gives the same bits for any number of threads.
#include <memory>
#include <span>
#include <vector>

#include "stipple/backend/backend.h"
#include "stipple/backend/render_settings.h"

namespace stipple {

class HostMemory : public Memory {
 public:
  explicit HostMemory(std::size_t bytes);
  explicit HostMemory(void* others) : size_(0), data_(static_cast<std::byte*>(others)) {}
  ~HostMemory() override;
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;
  std::byte* data() const { return data_; }

 private:
  std::size_t size_;  // 0: somebody else's
  std::byte* data_;   // our own: aligned to a cache line or more, with room for one vector past the end
};

// A device array of this backend as what it is: host memory.
template <class T>
std::span<T> host(DeviceArray<T>& array) {
  if (array.empty()) return {};
  return {reinterpret_cast<T*>(static_cast<HostMemory*>(array.memory())->data()), array.size()};
}
template <class T>
std::span<const T> host(const DeviceArray<T>& array) {
  if (array.empty()) return {};
  return {reinterpret_cast<const T*>(static_cast<const HostMemory*>(array.memory())->data()), array.size()};
}

struct UnsortedSlot {  // bin's, before tiles are sorted by depth
  std::uint32_t emission, gaussian;
};

class CpuBackend : public Backend {
 public:
  CpuBackend();
  std::unique_ptr<Memory> allocate(std::size_t bytes) override;
  std::unique_ptr<Memory> wrap(void* data) override;
  void upload(std::span<const std::byte> from, Memory& to) override;
  void download(const Memory& from, std::span<std::byte> to) const override;
  void fill_zero(Memory& memory, std::size_t bytes) override;

  std::string_view name() const override { return "cpu"; }
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
  void gather(const Memory& from, const DeviceArray<std::uint32_t>& rows, std::size_t row_bytes,
              Memory& to) override;

 private:
  // Scratch that grows to what a frame needs and is then kept.
  DeviceArray<std::uint32_t> unsorted_depth_;     // bin
  DeviceArray<UnsortedSlot> unsorted_slot_;       // bin
  DeviceArray<float> partial_;                    // blend_backward: kPartialSize floats per emission
  DeviceArray<std::uint8_t> partial_is_written_;  // blend_backward: one per emission
};

std::unique_ptr<Backend> make_cpu_backend();

}  // namespace stipple
