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
  own.clock.resume();
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
  copied.pairs_from_splat = own.pairs_from_splat.copy(*this);
  copied.result = own.result;
  copied.view_count = own.view_count;
  return to;
}

std::size_t CpuBackend::pass_bytes(const PassSize& size) const {
  constexpr std::size_t kSumBytes = 16 * sizeof(float) + 1;
  constexpr std::size_t kPairBytes = 4 * sizeof(std::uint32_t) + sizeof(UnsortedSlot) + kSumBytes;
  const std::size_t pixel_bytes = (3 + 1 + 3 + (size.has_depth ? 3 : 0)) * sizeof(float);
  return visible_block_count(size.gaussians) * sizeof(VisibleBlock) +
         size.visible * (sizeof(ProjectedSplat) + sizeof(Splat) + (size.has_absolute ? sizeof(Vec2f) : 0) +
                         sizeof(PairRange)) +
         size.pairs * kPairBytes + size.pixels * pixel_bytes;
}

}  // namespace stipple::cpu
