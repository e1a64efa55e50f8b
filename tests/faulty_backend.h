// SPDX-License-Identifier: Apache-2.0
#pragma once
// A backend that now and then computes what is not a number.
#include <limits>
#include <memory>

#include "stipple/backend/backend.h"

namespace stipple {

enum class Fault { kLoss, kGradient };

class FaultyBackend : public Backend {
 public:
  // The fault happens in steps first to last, counted from 1.
  FaultyBackend(std::unique_ptr<Backend> good, Fault fault, int first, int last)
      : good_(std::move(good)), fault_(fault), first_(first), last_(last) {}

  std::unique_ptr<Memory> allocate(std::size_t bytes) override { return good_->allocate(bytes); }
  std::unique_ptr<Memory> wrap(void* data) override { return good_->wrap(data); }
  void upload(std::span<const std::byte> from, Memory& to) override { good_->upload(from, to); }
  void download(const Memory& from, std::span<std::byte> to) const override { good_->download(from, to); }
  void fill_zero(Memory& memory, std::size_t bytes) override { good_->fill_zero(memory, bytes); }
  std::string_view name() const override { return "faulty"; }
  std::string description() const override { return good_->description(); }

  void project(const DeviceGaussians& g, const Precomputed& p, const View& v, Projection& out) override {
    good_->project(g, p, v, out);
  }
  void bin(const Projection& p, const View& v, TileBins& out) override { good_->bin(p, v, out); }
  void blend(const Projection& p, const TileBins& b, const View& v, Frame& out) override {
    good_->blend(p, b, v, out);
  }
  LossValue loss(const Frame& f, const LossTarget& t, float w, FrameGradient& out) override {
    LossValue value = good_->loss(f, t, w, out);
    ++step_;
    if (is_faulty(Fault::kLoss)) value.total = std::numeric_limits<float>::quiet_NaN();
    return value;
  }
  void blend_backward(const Projection& p, const TileBins& b, const View& v, const Frame& f,
                      const FrameGradient& d, SplatGradient& out) override {
    good_->blend_backward(p, b, v, f, d, out);
    if (!is_faulty(Fault::kGradient)) return;
    std::vector<Splat> gradients = out.splat.download(*this);
    gradients[gradients.size() / 2].conic.y = std::numeric_limits<float>::infinity();
    out.splat.upload(*this, gradients);
  }
  void project_backward(const DeviceGaussians& g, const Precomputed& p, const View& v, const Projection& pr,
                        const SplatGradient& d, DeviceGaussians& out, Precomputed& out_precomputed,
                        CameraGradient* camera) override {
    good_->project_backward(g, p, v, pr, d, out, out_precomputed, camera);
  }
  void optimize(DeviceGaussians& g, const DeviceGaussians& d, const Projection& p, AdamMoments& m,
                const AdamOptions& o) override {
    good_->optimize(g, d, p, m, o);
  }
  void project_backward_optimize(DeviceGaussians& g, const View& v, const Projection& p,
                                 const SplatGradient& d, AdamMoments& m, const AdamOptions& o) override {
    good_->project_backward_optimize(g, v, p, d, m, o);
  }
  bool observe(const Projection& p, const SplatGradient& d, const View& v, DensityStatistics& s) override {
    return good_->observe(p, d, v, s);
  }
  void perturb(DeviceGaussians& g, float amount, std::uint64_t seed) override {
    good_->perturb(g, amount, seed);
  }
  void gather(const Memory& from, const DeviceArray<std::uint32_t>& rows, std::size_t row_bytes,
              Memory& to) override {
    good_->gather(from, rows, row_bytes, to);
  }

 private:
  bool is_faulty(Fault fault) const { return fault == fault_ && first_ <= step_ && step_ <= last_; }

  std::unique_ptr<Backend> good_;
  Fault fault_;
  int first_, last_;
  int step_ = 0;
};

}  // namespace stipple
