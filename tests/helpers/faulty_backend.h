// SPDX-License-Identifier: Apache-2.0
#pragma once
// A CPU backend whose loss or gradient is not finite in chosen steps.
#include <limits>

#include "stipple/backend/cpu/cpu_backend.h"

namespace stipple {

enum class Fault { kLoss, kGradient };

class FaultyBackend : public cpu::CpuBackend {
 public:
  // The fault occurs in steps `first` to `last`, counted from 1.
  FaultyBackend(Fault fault, int first, int last) : fault_(fault), first_(first), last_(last) {}

  std::string_view name() const override { return "faulty"; }

  void loss(const View& view, const LossTarget& target, const LossOptions& options, Pass& pass) override {
    ++step_;
    if (is_faulty(Fault::kLoss)) spoil(pass.frame.color, std::numeric_limits<float>::quiet_NaN());
    cpu::CpuBackend::loss(view, target, options, pass);
  }
  void blend_backward(const View& view, const WantedGradients& wanted, Pass& pass) override {
    if (is_faulty(Fault::kGradient)) spoil(pass.dL_dframe.color, std::numeric_limits<float>::infinity());
    cpu::CpuBackend::blend_backward(view, wanted, pass);
  }

 private:
  bool is_faulty(Fault fault) const { return fault == fault_ && first_ <= step_ && step_ <= last_; }
  static void spoil(DeviceArray<float>& planes, float value) { cpu::host(planes)[planes.size() / 2] = value; }

  Fault fault_;
  int first_, last_;
  int step_ = 0;
};

}  // namespace stipple
