// SPDX-License-Identifier: Apache-2.0
#include "stipple/backend/vulkan/vulkan_backend.h"

namespace stipple::vulkan {

namespace {

struct LossParameters {
  std::uint32_t width, height;
  float l1_weight, ssim_weight;
  Vec3f background;
  float window[Math<float>::ssim_window_radius_px + 1];
};

}  // namespace

void VulkanBackend::loss(const View& view, const LossTarget& target, const LossOptions& options, Pass& pass) {
  VulkanPass& mine = own(pass);
  if (mine.view_ids.empty()) begin_view(mine, {});  // the frame was rendered elsewhere
  const Frame& frame = pass.frame;
  FrameGradient& out = pass.dL_dframe;
  out.color.resize(*this, frame.color.size());
  out.alpha.resize(*this, 0);
  out.depth.resize(*this, 0);
  if (frame.color.empty()) return;
  LossParameters parameters{static_cast<std::uint32_t>(frame.width_px),
                            static_cast<std::uint32_t>(frame.height_px),
                            options.l1_weight,
                            options.ssim_weight,
                            view.options.background,
                            {}};
  for (int i = 0; i <= Math<float>::ssim_window_radius_px; ++i)
    parameters.window[i] = Math<float>::ssim_window_weight(i);
  const std::size_t groups = 3 * groups_for(static_cast<std::size_t>(frame.width_px), 16) *
                             groups_for(static_cast<std::size_t>(frame.height_px), 16);
  for (DeviceArray<float>& d : mine.derivatives) d.resize(*this, frame.color.size());
  constexpr std::size_t kSums = 8;  // floats of a group, from both kernels
  mine.loss_sums.resize(*this, kSums * groups);
  const auto kernel = [&](const char* name) {
    KernelRun k = run(name);
    k.constants({!target.weight.empty(), !target.alpha.empty()})
        .bind(frame.color)
        .bind(target.color)
        .bind(target.weight)
        .bind(target.alpha)
        .bind(mine.derivatives[0])
        .bind(mine.derivatives[1])
        .bind(mine.derivatives[2])
        .bind(mine.loss_sums);
    return k;
  };
  kernel("loss_similarity").run(parameters, groups);
  kernel("loss_gradient").bind(out.color).run(parameters, groups);
  const struct {
    std::uint32_t count;
    float pixel_count, l1_weight, ssim_weight;
  } last{static_cast<std::uint32_t>(2 * groups), static_cast<float>(frame.color.size()), options.l1_weight,
         options.ssim_weight};
  run("loss_value").bind(mine.loss_sums).bind(status_of(mine)).run(last, 1);
  if (!mine.keeps_scratch())
    for (DeviceArray<float>& d : mine.derivatives) d = {};
  mine.queries.record(Stage::kLoss);
}

}  // namespace stipple::vulkan
