// SPDX-License-Identifier: Apache-2.0
#pragma once
// The CPU backend's private part of a pass.
#include <algorithm>

#include "stipple/backend/backend.h"
#include "stipple/backend/stage_clock.h"

namespace stipple::cpu {

struct UnsortedSlot {  // in bin, before tiles are sorted by depth
  std::uint32_t emission, splat;
};

struct CpuPass : PassScratch {
  // bin -> blend_backward
  DeviceArray<std::uint32_t> pair_from_slot;
  DeviceArray<PairRange> pairs_from_splat;

  // Scratch memory that grows as needed and is kept from view to view.
  DeviceArray<std::uint32_t> unsorted_depth;     // bin
  DeviceArray<UnsortedSlot> unsorted_slot;       // bin
  DeviceArray<float> partial;                    // blend_backward: kPartialSize floats per emission
  DeviceArray<std::uint8_t> partial_is_written;  // blend_backward: one per emission
  DeviceArray<Vec4f> channel_group;              // blend_channels: four channels of every splat

  PassResult result;
  int view_count = 0;  // of the whole pass
  StageClock clock;

  ViewResult& view() { return result.views.back(); }
  int projected_count() const { return std::max(1, static_cast<int>(result.views.size())); }
  bool may_update() const { return result.is_finite; }
};

// Created on first use.
CpuPass& cpu_pass(Pass& pass);

}  // namespace stipple::cpu
