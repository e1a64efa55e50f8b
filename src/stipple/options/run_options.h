// SPDX-License-Identifier: Apache-2.0
#pragma once
// The options of a training run, and the one list of them. The command's flags, Python's keyword arguments
// and options.json are generated from this list. resolve() (resolve.h) turns what a user gave into a
// RunOptions.
#include <filesystem>
#include <string>

#include "stipple/scene/scene.h"
#include "stipple/train/train_options.h"

namespace stipple {

struct RunOptions {
  SceneOptions scene;
  TrainOptions train;
  std::filesystem::path start;  // a model of any format; empty means the scene's points
  std::string backend = "best";
  std::string device = "0";
  int checkpoint_every = 1'000;    // steps; 0 saves only at the end
  double checkpoint_seconds = 60;  // minimum time between two checkpoints
  int eval_every = 0;              // steps between scores of the test views; 0 means the customary steps
  double time_limit_s = 0;         // 0 means no limit
  double target_psnr = 0;          // in dB; 0 means no target
  double max_ram_gib = 4;          // for decoded photos
  double max_vram_gib = 0;         // GPU memory; 0 means all that is free
  bool deterministic = false;
};

// The help of these options, which the commands that render have, too.
inline constexpr const char* kBackendHelp =
    "cuda, vulkan, cpu, or best: the fastest that works on this machine, but no Vulkan driver that computes "
    "on "
    "the CPU";
inline constexpr const char* kDeviceHelp =
    "number of the backend's device, or a part of its name, as \"stipple devices\" lists them; with best, a "
    "name also selects the backend";

// Throws OptionError for the first option whose value is out of range.
void check(const RunOptions& options);

// Calls f(name, group, value, help) for every option.
template <class F, class Options>
void for_each_scene_option(Options& o, F f) {
  f("max_resolution", "Photos", o.max_resolution_px,
    "shrink photos whose longer side has more pixels than this; 0 keeps the original size");
  f("downscale", "Photos", o.downscale,
    "shrink photos by this factor; uses the folder images_N if it exists");
  f("images", "Photos", o.images,
    "folder of the photos, relative to the scene; found automatically by default");
  f("alpha", "Photos", o.alpha,
    "treatment of transparent pixels: empty space around an object (object), pixels to ignore (weight), or "
    "blend the photo over white or black; auto recognises objects");
  f("random_points", "Photos", o.random_point_count,
    "number of initial points to make if the scene has none: carved from the masks of an object, or random");
}

template <class F, class Options>
void for_each_run_option(Options& o, F f) {
  auto& t = o.train;
  f("strategy", "Run", t.strategy,
    "density control: mcmc (relocate and add Gaussians where the photos ask for detail) or adc (clone, "
    "split, "
    "prune); the defaults shown are mcmc's");
  f("steps", "Run", t.steps, "number of training steps; all schedules are scaled to it");
  f("stop_at", "Run", t.stop_at, "stop at this step without changing the schedules; 0 trains to the end");
  f("seed", "Run", t.seed, "seed of all random numbers");
  f("start", "Run", o.start,
    "start from this model instead of the scene's points: a file of any format, in the frame of the scene");
  f("eval", "Run", t.hold_out,
    "hold out the test views (every 8th, unless the scene names its own) and report their scores");
  f("eval_every", "Run", o.eval_every,
    "with eval, also score the test views every so many steps; 0 scores them at step 7,000 and at the end");
  f("guard", "Run", t.guard,
    "auto: from 24 training views on, watch a few instead of training on them, stop growth or go back when "
    "they "
    "get worse, and train on them at the end; off: train on all views throughout");
  f("batch", "Run", t.batch, "views per step; learning rates are multiplied by sqrt(batch)");
  f("backend", "Run", o.backend, kBackendHelp);
  f("device", "Run", o.device, kDeviceHelp);
  f("checkpoint_every", "Run", o.checkpoint_every,
    "steps between checkpoints, or five minutes if that is less; 0 saves only at the end");
  f("checkpoint_seconds", "Run", o.checkpoint_seconds, "minimum time between checkpoints, in seconds");
  f("time_limit", "Run", o.time_limit_s, "stop and save after this many seconds; 0 means no limit");
  f("target_psnr", "Run", o.target_psnr,
    "stop and save when the training views reach this PSNR, in dB; 0 means no target");
  f("max_ram", "Run", o.max_ram_gib, "maximum memory for decoded photos, in GiB");
  f("max_vram", "Run", o.max_vram_gib, "maximum GPU memory, in GiB; 0 means all that is free");
  f("offload", "Run", t.offload,
    "auto: keep the harmonics of a model that is too large for the GPU in the host's memory, which is "
    "slower; "
    "off: limit the number of Gaussians instead");
  f("deterministic", "Run", o.deterministic,
    "make a GPU give the same bits for the same seed, at some cost in speed; the CPU always does");
  f("max_gaussians", "Density", t.max_gaussians,
    "maximum number of Gaussians; 0 means no limit but the memory");
  f("refine_from", "Density", t.refine_from, "first step of density control in a run of 30,000 steps");
  f("refine_until", "Density", t.refine_until, "last step of density control in a run of 30,000 steps");
  f("refine_every", "Density", t.refine_every,
    "steps between refinements in a run of 30,000 steps; at least 50 in shorter runs");
  f("prune_opacity", "Density", t.prune_opacity,
    "remove (adc) or relocate (mcmc) Gaussians with a lower opacity");
  f("grow_gradient", "Density", t.grow_gradient,
    "add a Gaussian for each whose mean screen-space gradient is above this threshold; mcmc starts at 0.3 of "
    "it");
  f("absgrad", "Density", t.absolute_gradients,
    "accumulate the absolute gradients of all pixels; without this, the default of grow_gradient is 2e-4");
  f("clone_scale", "Density", t.clone_scale,
    "adc: clone Gaussians up to this size, split larger ones; a fraction of the scene extent");
  f("prune_scale", "Density", t.prune_scale,
    "adc: remove Gaussians larger than this fraction of the scene extent; 0 removes none");
  f("reset_every", "Density", t.reset_every,
    "adc: steps between opacity resets in a run of 30,000 steps; 0 means no resets");
  f("reset_opacity", "Density", t.reset_opacity, "adc: opacity after a reset");
  f("growth", "Density", t.growth,
    "mcmc: maximum factor by which the number of Gaussians grows per refinement");
  f("noise", "Density", t.noise,
    "mcmc: strength of the noise that moves faint Gaussians, as a multiple of 1 / scene extent");
  f("sh_degree", "Model", t.sh_degree, "degree of the spherical harmonics (view-dependent colour), 0 to 3");
  f("sh_every", "Model", t.sh_every, "steps between increases of the degree in a run of 30,000 steps");
  for_each_render_option(t.render, [&](const char* name, auto& value, OptionRange, const char* help) {
    f(name, "Model", value, help);
  });
  f("random_background", "Model", t.random_background,
    "train over a different random colour in every step; the default for objects");
  f("min_size", "Model", t.min_size_px,
    "smallest Gaussian, as a standard deviation in pixels of the photo that shows it largest: with "
    "antialiased a 3D filter, otherwise a limit on the scales of a quarter of it; 0 means none");
  f("start_opacity", "Model", t.start_opacity, "opacity of the initial Gaussians");
  f("start_scale", "Model", t.start_scale,
    "size of the initial Gaussians, as a multiple of the distance to their neighbours");
  f("ssim_weight", "Loss", t.ssim_weight, "weight of D-SSIM in the loss; the rest is the weight of L1");
  f("dropout", "Loss", t.dropout,
    "share of the Gaussians that is left out of a step, chosen anew for each; it rises to this from 0; auto: "
    "0.2 with fewer than 12 training views, else 0");
  f("opacity_penalty", "Loss", t.opacity_penalty, "weight of the mean opacity in the loss");
  f("scale_penalty", "Loss", t.scale_penalty,
    "weight of the mean scale in the loss; scales are fractions of the scene extent");
  f("depth_weight", "Loss", t.depth_weight,
    "weight of the difference between rendered depths and those of the scene's points; 0 ignores them");
  f("depth_decay", "Loss", t.depth_decay,
    "share of depth_weight that is left at the last step; 1 keeps it constant");
  f("depth_every", "Loss", t.depth_every,
    "compare depths only in every so many steps, with as many times the weight, which saves time");
  f("mean_rate", "Learning rates", t.mean_rate, "means, at the first step; multiplied by the scene extent");
  f("final_mean_rate", "Learning rates", t.final_mean_rate,
    "means, at the last step; multiplied by the scene extent");
  f("log_scale_rate", "Learning rates", t.log_scale_rate, "logarithms of the scales");
  f("rotation_rate", "Learning rates", t.rotation_rate, "quaternions");
  f("logit_opacity_rate", "Learning rates", t.logit_opacity_rate, "logits of the opacities");
  f("sh_base_rate", "Learning rates", t.sh_base_rate, "base colours (degree 0)");
  f("sh_rest_rate", "Learning rates", t.sh_rest_rate, "view-dependent coefficients (degree 1 and up)");
  f("visible_only", "Learning rates", t.visible_only,
    "do not update Gaussians that no view of the step shows");
}

}  // namespace stipple
