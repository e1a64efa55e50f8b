// SPDX-License-Identifier: Apache-2.0
#pragma once
// The pipeline on the host's cores, one file per stage. Every stage is deterministic by construction: the
// same input gives the same bits for any number of threads. The backend has no state; the pass holds it all.
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "stipple/backend/backend.h"
#include "stipple/backend/cpu/cpu_pass.h"
#include "stipple/backend/render_settings.h"

namespace stipple::cpu {

class HostMemory : public Memory {
 public:
  explicit HostMemory(std::size_t bytes);
  explicit HostMemory(void* borrowed) : size_(0), data_(static_cast<std::byte*>(borrowed)) {}
  ~HostMemory() override;
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;
  std::byte* data() const { return data_; }

 private:
  std::size_t size_;  // in bytes; 0 means borrowed
  std::byte* data_;   // if owned: aligned to at least a cache line, padded by one vector
};

// Accesses an array of this backend, which lies in host memory.
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

class CpuBackend : public Backend, public MemoryBorrower {
 public:
  CpuBackend();
  std::unique_ptr<Memory> allocate(std::size_t bytes) override;
  void upload(std::span<const std::byte> from, Memory& to) override;
  void download(const Memory& from, std::span<std::byte> to) const override;
  void fill_zero(Memory& memory, std::size_t bytes) override;
  void copy(const Memory& from, Memory& to, std::size_t bytes) override;
  MemoryBorrower* borrower() override { return this; }
  std::unique_ptr<Memory> borrow(void* data) override;
  void* address_of(Memory& memory) override { return static_cast<HostMemory&>(memory).data(); }

  std::string_view name() const override { return "cpu"; }
  std::string description() const override;
  std::size_t pass_bytes(const PassSize&) const override;

  void begin(Pass&, int view_count) override;
  PassResult read(Pass&) override;
  Pass copy_of(const Pass&) override;

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

 private:
  void start_view(Pass&);  // the next view of the pass, or the only one of a new pass
};

std::unique_ptr<Backend> make_cpu_backend();

}  // namespace stipple::cpu
