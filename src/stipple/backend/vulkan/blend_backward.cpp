// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "stipple/backend/vulkan/vulkan_backend.h"

namespace stipple::vulkan {

namespace {

constexpr std::uint32_t kLeastSubgroupForSums = 8;  // blend_backward.comp exchanges sums among eight threads

}  // namespace

void VulkanBackend::sum_gradients(const View& view, const BackwardSource& source, const ChunkList& chunks,
                                  bool wants_absolute, Pass& pass) {
  VulkanPass& mine = own(pass);
  const TileBins& bins = pass.bins;
  const std::size_t tile_count = bins.slot_begin_from_tile.size() - 1;
  const std::size_t rows = deterministic_ ? bins.splat_from_slot.size() : pass.projection.splat.size();
  if (deterministic_ || mine.sums_are_pending || mine.sums.size() < rows * kSumFields)
    mine.sums.resize_zero(*this, rows * kSumFields);

  const std::size_t dispatches = groups_for(tile_count + chunks.chunks.size(), kMostTiles);
  mine.backward_arguments.resize(*this, 3 * dispatches);
  const struct {
    std::uint32_t tile_count, dispatch_count, most_at_once;
  } plan{static_cast<std::uint32_t>(tile_count), static_cast<std::uint32_t>(dispatches),
         static_cast<std::uint32_t>(kMostTiles)};
  run("plan_backward").bind(chunks.count).bind(mine.backward_arguments).run(plan, dispatches > 0);

  const struct {
    float log2_alpha_max;
    std::uint32_t columns, first_row, width, height, tile_count, channel_count, first_plane;
  } parameters{std::log2(view.options.alpha_max),
               static_cast<std::uint32_t>(bins.column_count),
               static_cast<std::uint32_t>(bins.first_row),
               static_cast<std::uint32_t>(view.camera.width_px),
               static_cast<std::uint32_t>(view.camera.height_px),
               static_cast<std::uint32_t>(tile_count),
               static_cast<std::uint32_t>(source.channel_count),
               static_cast<std::uint32_t>(source.first_plane)};
  const char* way = deterministic_                        ? "blend_backward_slots"
                    : context_->abilities().float_atomics ? "blend_backward_atomics"
                                                          : "blend_backward_swaps";
  run(with_subgroups(way, kLeastSubgroupForSums))
      .constants({source.channels || source.dL_ddepth, source.channels != nullptr, wants_absolute,
                  source.dL_dalpha != nullptr, chunks.has_fourth})
      .split(pass.projection.splat)
      .split(bins.splat_from_slot)
      .bind(bins.slot_begin_from_tile)
      .bind(source.channels)
      .bind(chunks.slot_end_from_tile)
      .bind(chunks.chunks)
      .bind(source.planes)
      .bind(source.depth)
      .bind(source.transmittance)
      .bind(source.dL_dplanes)
      .bind(source.dL_ddepth)
      .bind(source.dL_dalpha)
      .split(chunks.checkpoint)
      .bind(status_of(mine))
      .split(mine.sums)
      .run_indirect(parameters, mine.backward_arguments, 0, dispatches, kMostTiles);
  mine.sums_are_pending = true;
  mine.sums_have_absolute = wants_absolute;
}

// Converts the sums that sum_gradients() left in the pass to gradients of the splats.
void VulkanBackend::write_gradients(Pass& pass, bool has_absolute, SplatGradient& out) {
  VulkanPass& mine = own(pass);
  const std::size_t count = pass.projection.splat.size();
  out.splat.resize(*this, count);
  out.absolute_mean_px.resize(*this, has_absolute ? count : 0);
  for_each_window(count, sizeof(Splat), [&](std::size_t first, std::size_t n) {
    const struct {
      std::uint32_t first, count, capacity;
    } parameters{static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(n),
                 static_cast<std::uint32_t>(count)};
    run("splat_gradient")
        .constants({deterministic_, has_absolute})
        .split(pass.projection.splat)
        .split(mine.sums)
        .window(mine.pairs_from_splat, first, n)
        .split(mine.slot_from_pair)
        .window(out.splat, first, n)
        .window(out.absolute_mean_px, first, n)
        .bind(status_of(mine))
        .run(parameters, groups_for(n, 64));
  });
  mine.sums_are_pending = false;
}

void VulkanBackend::write_pending_gradients(Pass& pass) {
  VulkanPass& mine = own(pass);
  if (mine.sums_are_pending) write_gradients(pass, mine.sums_have_absolute, pass.dL_dsplat);
}

void VulkanBackend::blend_backward(const View& view, const WantedGradients& wanted, Pass& pass) {
  check_frame_gradient(pass);
  VulkanPass& mine = own(pass);
  const auto if_any = [](const DeviceArray<float>& array) { return array.empty() ? nullptr : &array; };
  BackwardSource source;
  source.planes = &pass.frame.color;
  source.depth = if_any(pass.frame.depth);
  source.transmittance = &pass.frame.transmittance;
  source.dL_dplanes = &pass.dL_dframe.color;
  source.dL_ddepth = if_any(pass.dL_dframe.depth);
  source.dL_dalpha = if_any(pass.dL_dframe.alpha);
  if (pass.projection.splat.empty()) {
    pass.dL_dsplat.splat.resize(*this, 0);
    pass.dL_dsplat.absolute_mean_px.resize(*this, 0);
    mine.sums_are_pending = false;
  } else {
    sum_gradients(view, source, mine.chunks, wanted.absolute_mean, pass);
    // Sums of slots must be added up before the update, because only then it is known whether they are
    // finite.
    if (wanted.splats || deterministic_) write_gradients(pass, wanted.absolute_mean, pass.dL_dsplat);
  }
  if (wanted.background && !pass.frame.transmittance.empty()) {
    const struct {
      std::uint32_t plane;
    } parameters{static_cast<std::uint32_t>(pass.frame.transmittance.size())};
    run("background")
        .bind(pass.dL_dframe.color)
        .bind(pass.frame.transmittance)
        .bind(status_of(mine))
        .run(parameters, 1);
  }
  mine.queries.record(Stage::kBlendBackward);
}

// A group of channels is blended and differentiated as if it were the colour. Gradients are linear in
// dL_dplanes, so those of a splat's position, shape and opacity are the sums over the groups.
void VulkanBackend::blend_channels_backward(const View& view, const Channels& channels,
                                            const DeviceArray<float>& planes,
                                            const DeviceArray<float>& dL_dplanes, Pass& pass,
                                            DeviceArray<float>& dL_dchannels) {
  write_pending_gradients(pass);
  dL_dchannels.resize_zero(*this, channels.value.size());
  const std::size_t rows = pass.projection.splat.size();
  if (rows == 0) return;
  const std::size_t count = channels.value.size() / static_cast<std::size_t>(channels.count);
  DeviceArray<Vec4f> group;
  ChunkList chunks;
  SplatGradient gradient;
  for (int first = 0; first < channels.count; first += kChannelGroup) {
    load_channel_group(channels, first, pass.projection, group);
    BlendTarget target;
    target.channels = &group;
    blend_into(view, target, &chunks, pass);  // for the checkpoints
    BackwardSource source;
    source.channels = &group;
    source.channel_count = std::min(kChannelGroup, channels.count - first);
    source.first_plane = first;
    source.planes = &planes;
    source.dL_dplanes = &dL_dplanes;
    sum_gradients(view, source, chunks, false, pass);
    write_gradients(pass, false, gradient);
    const struct {
      std::uint32_t count, stride, first, block_count, row_capacity;
    } parameters{static_cast<std::uint32_t>(count), static_cast<std::uint32_t>(channels.count),
                 static_cast<std::uint32_t>(first),
                 static_cast<std::uint32_t>(pass.projection.visible.size()),
                 static_cast<std::uint32_t>(rows)};
    run("add_channel_group")
        .split(gradient.splat)
        .split(pass.dL_dsplat.splat)
        .split(dL_dchannels)
        .bind(pass.projection.visible)
        .run(parameters, groups_for(count, 256));
  }
  own(pass).queries.record(Stage::kBlendBackward);
}

}  // namespace stipple::vulkan
