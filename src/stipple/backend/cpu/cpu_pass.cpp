// SPDX-License-Identifier: Apache-2.0
#include "stipple/backend/cpu/cpu_pass.h"

#include "stipple/backend/cpu/cpu_backend.h"

namespace stipple::cpu {

CpuPass& cpu_pass(Pass& pass) {
  if (!pass.scratch) pass.scratch = std::make_unique<CpuPass>();
  return static_cast<CpuPass&>(*pass.scratch);
}

void CpuBackend::begin(Pass& pass, int view_count) {
  CpuPass& own = cpu_pass(pass);
  own.result = {};
  own.view_count = view_count;
  own.clock.restart();
}

void CpuBackend::start_view(Pass& pass) {
  CpuPass& own = cpu_pass(pass);
  if (own.result.views.size() >= static_cast<std::size_t>(own.view_count)) begin(pass, 1);
  own.result.views.emplace_back();
}

PassResult CpuBackend::read(Pass& pass) {
  CpuPass& own = cpu_pass(pass);
  own.result.ms = own.clock.ms();
  return own.result;
}

Pass CpuBackend::copy_of(const Pass& from) {
  Pass to;
  copy_public(*this, from, to);
  if (!from.scratch) return to;
  const auto& own = static_cast<const CpuPass&>(*from.scratch);
  CpuPass& copied = cpu_pass(to);
  copied.pair_from_slot = own.pair_from_slot.copy(*this);
  copied.pairs_from_gaussian = own.pairs_from_gaussian.copy(*this);
  copied.result = own.result;
  copied.view_count = own.view_count;
  return to;
}

// Assumes about five pairs per Gaussian, each with its depth, its place in the order and its partial sums.
std::size_t CpuBackend::pass_bytes(std::size_t gaussians, std::size_t pixels) const {
  constexpr std::size_t kPairs = 5, kSumBytes = 16 * sizeof(float) + 1;
  constexpr std::size_t kPairBytes = 4 * sizeof(std::uint32_t) + sizeof(UnsortedSlot) + kSumBytes;
  constexpr std::size_t kPixelBytes = (3 + 1 + 3) * sizeof(float);
  return gaussians * (sizeof(ProjectedSplat) + sizeof(Splat) + sizeof(Vec2f) + sizeof(PairRange) +
                      kPairs * kPairBytes) +
         pixels * kPixelBytes;
}

}  // namespace stipple::cpu
