// SPDX-License-Identifier: Apache-2.0
#pragma once
// A CPU backend of which one operation fails: an allocation, a copy or a stage, as on a GPU.
#include "stipple/backend/cpu/cpu_backend.h"

namespace stipple {

enum class DeviceFault {
  kOutOfMemory,  // an allocation fails, once
  kError,        // any operation fails, once
  kLost,         // any operation fails, and all that follow
};

class FailingBackend : public cpu::CpuBackend {
 public:
  // Operation number `which`, from 1, fails; 0 only counts them. With memory of its own, of which it reports
  // so many bytes, the device can also use memory of the host.
  FailingBackend(DeviceFault fault, std::size_t which, std::size_t own_bytes = 0)
      : fault_(fault), which_(which), own_bytes_(own_bytes) {}

  std::size_t operation_count() const { return count_; }
  void stop_failing() { which_ = 0; }
  void fail_at(std::size_t which) {  // counted from now on
    which_ = which;
    count_ = 0;
  }

  std::size_t own_memory_bytes() const override { return own_bytes_; }
  bool reaches_host() const override { return own_bytes_ > 0; }
  std::unique_ptr<Memory> allocate_on_host(std::size_t bytes) override { return allocate(bytes); }
  std::unique_ptr<Memory> allocate(std::size_t bytes) override {
    if (fault_ == DeviceFault::kOutOfMemory && ++count_ == which_) throw OutOfMemory("no memory is left");
    operate();
    return CpuBackend::allocate(bytes);
  }
  void upload(std::span<const std::byte> from, Memory& to) override {
    operate();
    CpuBackend::upload(from, to);
  }
  void download(const Memory& from, std::span<std::byte> to) const override {
    operate();
    CpuBackend::download(from, to);
  }
  void fill_zero(Memory& memory, std::size_t bytes) override {
    operate();
    CpuBackend::fill_zero(memory, bytes);
  }
  void copy(const Memory& from, Memory& to, std::size_t bytes) override {
    operate();
    CpuBackend::copy(from, to, bytes);
  }

  PassResult read(Pass& pass) override {
    operate();
    return CpuBackend::read(pass);
  }
  void project(const DeviceGaussians& g, const Precomputed& p, const View& view, Pass& pass) override {
    operate();
    CpuBackend::project(g, p, view, pass);
  }
  void bin(const View& view, Pass& pass) override {
    operate();
    CpuBackend::bin(view, pass);
  }
  void blend(const View& view, Pass& pass) override {
    operate();
    CpuBackend::blend(view, pass);
  }
  void loss(const View& view, const LossTarget& target, const LossOptions& options, Pass& pass) override {
    operate();
    CpuBackend::loss(view, target, options, pass);
  }
  void blend_backward(const View& view, const WantedGradients& wanted, Pass& pass) override {
    operate();
    CpuBackend::blend_backward(view, wanted, pass);
  }
  void project_backward(const DeviceGaussians& g, const Precomputed& p, const View& view,
                        const WantedGradients& wanted, Pass& pass, GradientSum& sum) override {
    operate();
    CpuBackend::project_backward(g, p, view, wanted, pass, sum);
  }
  void optimize(TrainState& state, const GradientSum& sum, const AdamOptions& adam, const LossOptions& loss,
                Pass& pass) override {
    operate();
    CpuBackend::optimize(state, sum, adam, loss, pass);
  }
  void perturb(TrainState& state, float amount, std::uint64_t seed, Pass& pass) override {
    operate();
    CpuBackend::perturb(state, amount, seed, pass);
  }
  void project_backward_optimize(TrainState& state, const View& view, const WantedGradients& wanted,
                                 const AdamOptions& adam, const LossOptions& loss, Pass& pass) override {
    operate();
    CpuBackend::project_backward_optimize(state, view, wanted, adam, loss, pass);
  }
  void copy_rows(const Memory& from, const RowPart& from_part, const DeviceArray<std::uint32_t>* rows,
                 Memory& to, const RowPart& to_part, std::size_t count, std::size_t halves) override {
    operate();
    CpuBackend::copy_rows(from, from_part, rows, to, to_part, count, halves);
  }

 private:
  void operate() const {
    if (fault_ == DeviceFault::kOutOfMemory) return;
    ++count_;
    if (fault_ == DeviceFault::kError && count_ == which_) throw Error("a kernel could not be launched");
    if (fault_ == DeviceFault::kLost && which_ > 0 && count_ >= which_)
      throw DeviceLost("the device is lost");
  }

  DeviceFault fault_;
  std::size_t which_, own_bytes_;
  mutable std::size_t count_ = 0;
};

}  // namespace stipple
