// SPDX-License-Identifier: Apache-2.0
#pragma once
// The one list of a run's options: flags, options.json and --config are made from it.
#include <string>

#include "stipple/scene/scene.h"
#include "stipple/train/train_options.h"

namespace stipple {

struct RunOptions {
  SceneOptions scene;
  TrainOptions train;
  std::string backend = "best";
  int device = 0;
  int checkpoint_every = 1'000;    // steps; 0: only at the end
  double checkpoint_seconds = 60;  // at least, between two
  double time_limit_s = 0;         // 0: none
  double target_psnr = 0;          // dB; 0: none
  double max_ram_gib = 4;          // of decoded photos
  double max_vram_gib = 0;         // of a GPU's memory; 0: what is free
  bool deterministic = false;
};

void check(const RunOptions& settings);  // throws Error naming the option that makes no sense

// Calls f(flag without --, group, value, help) for every option.
template <class F, class Options>
void for_each_scene_option(Options& o, F f) {
  f("max-resolution", "Photos", o.max_resolution_px,
    "shrink photos whose longer side has more pixels; 0: never");
  f("downscale", "Photos", o.downscale, "shrink photos by this factor; uses images_N when there");
  f("images", "Photos", o.images, "folder of the photos, relative to the scene; found by itself");
  f("alpha", "Photos", o.alpha,
    "transparent pixels: leave them out (weight), or put the photo on white or black");
  f("random-points", "Photos", o.random_point_count,
    "how many points to start from where the scene has none");
}

template <class F, class Options>
void for_each_run_option(Options& o, F f) {
  auto& t = o.train;
  f("strategy", "Run", t.strategy,
    "adc (clone, split, prune) or mcmc (relocate, grow to a cap); defaults below are adc's");
  f("steps", "Run", t.steps, "all schedules are stretched to this many steps");
  f("stop-at", "Run", t.stop_at, "end at this step of the same schedules; 0: at --steps");
  f("seed", "Run", t.seed, "of everything random: the same seed gives the same model");
  f("eval", "Run", t.hold_out, "hold out every 8th view, and score on those");
  f("batch", "Run", t.batch, "views a step; rates follow the usual rule, sqrt(batch)");
  f("backend", "Run", o.backend, "cuda, cpu, or best: the first that works here");
  f("device", "Run", o.device, "which of several GPUs, as stipple devices counts them");
  f("checkpoint-every", "Run", o.checkpoint_every, "save the state every so many steps; 0: only at the end");
  f("checkpoint-seconds", "Run", o.checkpoint_seconds, "but at most every so many seconds");
  f("time-limit", "Run", o.time_limit_s, "stop and save after so many seconds; 0: none");
  f("target-psnr", "Run", o.target_psnr, "stop and save once training views reach so many dB; 0: none");
  f("max-ram", "Run", o.max_ram_gib, "GiB of decoded photos to keep");
  f("max-vram", "Run", o.max_vram_gib, "GiB of a GPU's memory to use at most; 0: what is free");
  f("deterministic", "Run", o.deterministic,
    "the same bits from run to run on a GPU too; the CPU always gives them");
  f("max-gaussians", "Density", t.max_gaussians, "cap; 0: as many as the strategy wants and a GPU holds");
  f("refine-from", "Density", t.refine_from, "first step of density control, of 30,000");
  f("refine-until", "Density", t.refine_until, "last step of density control, of 30,000");
  f("refine-every", "Density", t.refine_every, "steps between, of 30,000; in shorter runs at least 50");
  f("prune-opacity", "Density", t.prune_opacity, "fainter Gaussians go");
  f("grow-gradient", "Density", t.grow_gradient, "adc: mean gradient from which on to clone or split");
  f("absgrad", "Density", t.absolute_gradients,
    "adc: of gradients without signs (grow-gradient is then 8e-4)");
  f("clone-scale", "Density", t.clone_scale, "adc: up to this part of the extent cloned, above split");
  f("prune-scale", "Density", t.prune_scale,
    "adc: Gaussians larger than this part of the extent go; 0: none");
  f("reset-every", "Density", t.reset_every, "adc: steps between opacity resets, of 30,000; 0: none");
  f("reset-opacity", "Density", t.reset_opacity, "adc: what opacities are reset to");
  f("growth", "Density", t.growth, "mcmc: factor a refinement");
  f("noise", "Density", t.noise, "mcmc: noise, times the rate of the means");
  f("sh-degree", "Model", t.sh_degree, "of view-dependent colour, 0 to 3");
  f("sh-every", "Model", t.sh_every, "steps until the next degree, of 30,000");
  for_each_render_option(t.render, [&](const char* flag, auto& value, OptionRange, const char* help) {
    f(flag, "Model", value, help);
  });
  f("random-background", "Model", t.random_background, "another one each step");
  f("start-opacity", "Model", t.start_opacity, "of the first Gaussians");
  f("start-scale", "Model", t.start_scale, "of the first Gaussians, times the distance of their neighbours");
  f("ssim-weight", "Loss", t.ssim_weight, "D-SSIM's part of the loss; the rest is L1");
  f("opacity-penalty", "Loss", t.opacity_penalty, "times the mean opacity, added to the loss");
  f("scale-penalty", "Loss", t.scale_penalty, "times the mean scale, added to the loss");
  f("mean-rate", "Rates", t.mean_rate, "first rate of the means, times the extent");
  f("final-mean-rate", "Rates", t.final_mean_rate, "last rate of the means");
  f("log-scale-rate", "Rates", t.log_scale_rate, "of the scales' logarithms");
  f("rotation-rate", "Rates", t.rotation_rate, "of the quaternions");
  f("logit-opacity-rate", "Rates", t.logit_opacity_rate, "of the opacities' logits");
  f("sh-base-rate", "Rates", t.sh_base_rate, "of the base colours");
  f("sh-rest-rate", "Rates", t.sh_rest_rate, "of the view-dependent rest");
  f("visible-only", "Rates", t.visible_only, "leave Gaussians that a view does not show alone");
}

}  // namespace stipple
