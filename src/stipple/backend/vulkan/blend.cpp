// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "stipple/backend/vulkan/vulkan_backend.h"

namespace stipple::vulkan {

void VulkanBackend::blend_into(const View& view, const BlendTarget& target, ChunkList* chunks,
                               const Pass& pass) {
  const TileBins& bins = pass.bins;
  const std::size_t tile_count = bins.slot_begin_from_tile.size() - 1;
  const bool has_fourth = target.channels || target.depth;
  if (chunks) {
    const std::size_t most = bins.splat_from_slot.size() / kChunk;  // besides each tile's first
    chunks->count.resize_zero(*this, 1);
    chunks->slot_end_from_tile.resize(*this, tile_count);
    chunks->chunks.resize(*this, most);
    chunks->checkpoint.resize(*this, most * (has_fourth ? 5 : 4) * kTilePixels);
    chunks->has_fourth = has_fourth;
  }
  const struct {
    Vec3f background;
    float log2_alpha_max;
    std::uint32_t columns, first_row, width, height, channel_count, first_plane, writes_planes;
  } parameters{target.background,
               std::log2(view.options.alpha_max),
               static_cast<std::uint32_t>(bins.column_count),
               static_cast<std::uint32_t>(bins.first_row),
               static_cast<std::uint32_t>(view.camera.width_px),
               static_cast<std::uint32_t>(view.camera.height_px),
               static_cast<std::uint32_t>(target.channel_count),
               static_cast<std::uint32_t>(target.first_plane),
               target.planes != nullptr};
  const ChunkList no_chunks;
  const ChunkList& list = chunks ? *chunks : no_chunks;
  run("blend")
      .constants({has_fourth, target.channels != nullptr, chunks != nullptr})
      .split(pass.projection.splat)
      .split(bins.splat_from_slot)
      .bind(bins.slot_begin_from_tile)
      .bind(target.channels)
      .bind(target.planes)
      .bind(target.depth)
      .bind(target.transmittance)
      .bind(list.slot_end_from_tile)
      .bind(list.chunks)
      .bind(list.count)
      .split(list.checkpoint)
      .run(parameters, tile_count, kMostTiles);
}

void VulkanBackend::blend(const View& view, Pass& pass) {
  VulkanPass& mine = own(pass);
  Frame& out = pass.frame;
  out.width_px = view.camera.width_px;
  out.height_px = view.camera.height_px;
  const std::size_t pixels = static_cast<std::size_t>(out.width_px) * static_cast<std::size_t>(out.height_px);
  out.color.resize(*this, 3 * pixels);
  out.transmittance.resize(*this, pixels);
  out.depth.resize(*this, view.options.depth != DepthOutput::kNone ? pixels : 0);
  BlendTarget target;
  target.planes = &out.color;
  target.depth = out.depth.empty() ? nullptr : &out.depth;
  target.transmittance = &out.transmittance;
  target.background = view.options.background;
  blend_into(view, target, &mine.chunks, pass);
  mine.queries.record(Stage::kBlend);
}

void VulkanBackend::load_channel_group(const Channels& channels, int first, const Projection& projection,
                                       DeviceArray<Vec4f>& group) {
  const std::size_t count = channels.value.size() / static_cast<std::size_t>(channels.count);
  group.resize(*this, projection.splat.size());
  if (group.empty()) return;
  const struct {
    std::uint32_t count, stride, first, block_count, row_capacity;
  } parameters{static_cast<std::uint32_t>(count), static_cast<std::uint32_t>(channels.count),
               static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(projection.visible.size()),
               static_cast<std::uint32_t>(group.size())};
  run("channel_group")
      .split(channels.value)
      .bind(group)
      .bind(projection.visible)
      .run(parameters, groups_for(count, 256));
}

void VulkanBackend::blend_channels(const View& view, const Channels& channels, Pass& pass,
                                   DeviceArray<float>& planes) {
  const std::size_t plane = pass.frame.transmittance.size();
  planes.resize(*this, plane * static_cast<std::size_t>(channels.count));
  DeviceArray<Vec4f> group;
  for (int first = 0; first < channels.count; first += kChannelGroup) {
    load_channel_group(channels, first, pass.projection, group);
    if (group.empty()) return fill_zero(*planes.memory(), planes.size() * sizeof(float));
    BlendTarget target;
    target.channels = &group;
    target.channel_count = std::min(kChannelGroup, channels.count - first);
    target.first_plane = first;
    target.planes = &planes;
    blend_into(view, target, nullptr, pass);
  }
  own(pass).queries.record(Stage::kBlend);
}

}  // namespace stipple::vulkan
