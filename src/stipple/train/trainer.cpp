// SPDX-License-Identifier: Apache-2.0
#include "stipple/train/trainer.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <numeric>

#include "stipple/core/error.h"
#include "stipple/core/parallel.h"
#include "stipple/train/adc.h"
#include "stipple/train/gather_in_place.h"
#include "stipple/train/initialize.h"
#include "stipple/train/mcmc.h"

namespace stipple {

namespace {

// Independent streams of random numbers from one seed.
enum class Stream : std::uint64_t { kViews = 1, kDensity, kBackground, kNoise };

std::uint64_t stream_seed(std::uint64_t seed, Stream stream) {
  return hash_bits(seed * 8 + static_cast<std::uint64_t>(stream));
}

constexpr std::uint32_t kViewsPerPrefetch = 16;

std::vector<std::size_t> views_to_train_on(const Scene& scene, bool hold_out) {
  if (hold_out) return scene.train_views();
  std::vector<std::size_t> all(scene.views.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

// How many Gaussians a run may come to want; 0: there is no saying.
std::size_t wanted_gaussians(const Scene& scene, const TrainOptions& options) {
  if (options.max_gaussians > 0) return options.max_gaussians;
  return options.strategy == Strategy::kMcmc ? scene.points.size() : 0;  // which grows to a cap only
}

MemoryPlan plan_memory_for(const Backend& backend, const Scene& scene, std::span<const std::size_t> views,
                           const TrainOptions& options) {
  if (backend.own_memory_bytes() == 0) return {};
  MemoryNeeds needs = memory_needs(scene, views);
  needs.sh_degree = options.sh_degree;
  needs.wanted_gaussians = wanted_gaussians(scene, options);
  return plan_memory(backend.own_memory_bytes(), needs);
}

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// Rows of coefficients that give every Gaussian `to` instead of `from`: what is new is zero.
std::vector<std::uint32_t> more_coefficients(std::size_t count, std::size_t from, std::size_t to) {
  std::vector<std::uint32_t> rows(count * to);
  parallel_for(
      count,
      [&](std::size_t i) {
        for (std::size_t k = 0; k < to; ++k)
          rows[i * to + k] = k < from ? static_cast<std::uint32_t>(i * from + k) : Backend::kNoRow;
      },
      1 << 14);
  return rows;
}

}  // namespace

Trainer::Trainer(Backend& backend, const Scene& scene, const TrainOptions& options)
    : backend_(backend),
      scene_(scene),
      options_(options),
      views_(views_to_train_on(scene, options.hold_out)),
      extent_(scene_extent(scene, views_)),
      schedule_(options_, extent_),
      photos_(scene.views, options.max_photo_bytes),
      memory_(plan_memory_for(backend, scene, views_, options)),
      targets_(backend, photos_, scene.views.size(), memory_.photo_bytes) {
  if (views_.empty()) throw Error("no view is left to train on; hold out fewer, or add images");
  if (scene.points.size() == 0) throw Error("the scene has no points to start from");
  if (backend.own_memory_bytes() > 0) limit_to_memory();
  device_.gaussians = upload(backend_, initial_gaussians(scene.points, options_));
  device_.moments = {zeros_like(backend_, device_.gaussians), zeros_like(backend_, device_.gaussians)};
  device_.statistics.sum.resize_zero(backend_, device_.gaussians.size());
  shuffle();
}

void Trainer::limit_to_memory() {
  if (memory_.max_gaussians == 0)
    throw OutOfMemory(
        "the device's memory does not hold one picture of this scene; use smaller photos (--max-resolution) "
        "or another backend");
  const std::size_t wanted = wanted_gaussians(scene_, options_);
  is_limited_by_memory_ = wanted == 0 || wanted > memory_.max_gaussians;
  if (is_limited_by_memory_) options_.max_gaussians = memory_.max_gaussians;
}

// Photos on the device are a luxury: they go before the run does.
StepReport Trainer::step() {
  for (;;) {
    try {
      return try_step();
    } catch (const OutOfMemory&) {
      if (!targets_.release()) throw;
    }
  }
}

// What the last step left to be done is done first and noted, so that the rest can be tried again.
StepReport Trainer::try_step() {
  StepReport report;
  const auto start = Clock::now();
  finish_last_step();
  raise_sh_degree();
  const double refine_ms = milliseconds_since(start);
  const State before = state_;
  try {
    train_on_next_view(report);
  } catch (...) {
    state_ = before;
    throw;
  }
  report.ms[static_cast<std::size_t>(Stage::kRefine)] = refine_ms;
  report.gaussian_count = device_.gaussians.size();
  return report;
}

void Trainer::train_on_next_view(StepReport& report) {
  const auto start = Clock::now();
  report.step = ++state_.step;
  const std::size_t view_index = next_view();
  const View view = view_of(view_index);
  const TargetCache::Target& target = targets_.get(view_index);
  const double photo_ms = milliseconds_since(start);
  if (update(view, target, report))
    state_.skipped_in_a_row = 0;
  else
    note_skip(report);
  report.ms[static_cast<std::size_t>(Stage::kPhoto)] = photo_ms;
}

// False, and no parameter is touched, when something is not finite.
bool Trainer::update(const View& view, const TargetCache::Target& target, StepReport& report) {
  TrainStep what;
  what.ssim_weight = options_.ssim_weight;
  what.adam = schedule_.rates(state_.step, state_.adam_step + 1);
  what.absolute_gradients = options_.absolute_gradients;
  if (options_.strategy == Strategy::kMcmc) {
    what.noise = schedule_.mean_rate(state_.step) * options_.noise;
    what.noise_seed = stream_seed(options_.seed, Stream::kNoise) + static_cast<std::uint64_t>(state_.step);
  }
  const TrainOutcome outcome = backend_.train_step(device_, view, target.pixels, what, buffers_);
  report.loss = outcome.loss.total;
  report.psnr =
      -10 *
      std::log10(static_cast<double>(std::max(outcome.loss.mean_squared_error / target.mean_weight, 1e-12f)));
  report.ms = outcome.ms;
  state_.adam_step += outcome.is_finite;
  return outcome.is_finite;
}

void Trainer::note_skip(StepReport& report) {
  ++state_.skipped;
  report.was_skipped = true;
  report.skipped_in_a_row = ++state_.skipped_in_a_row;
}

// Every view once an epoch, in an order of its own.
void Trainer::shuffle() {
  Random random(stream_seed(options_.seed, Stream::kViews), state_.view_counter);
  state_.order.resize(views_.size());
  std::iota(state_.order.begin(), state_.order.end(), 0u);
  for (std::size_t i = state_.order.size(); i > 1; --i)
    std::swap(state_.order[i - 1], state_.order[random.below(i)]);
  state_.view_counter = random.counter();
  state_.position = 0;
}

std::size_t Trainer::next_view() {
  if (state_.position == state_.order.size()) shuffle();
  prefetch();
  const std::size_t view = views_[state_.order[state_.position++]];
  return view;
}

// The cache takes views off its list as it hands them out; told now and then, it also notices when others
// have asked it for something else.
void Trainer::prefetch() {
  if (state_.position % kViewsPerPrefetch != 0) return;
  std::vector<std::size_t> next;
  for (std::size_t i = state_.position; i < state_.order.size(); ++i)
    if (const std::size_t view = views_[state_.order[i]]; !targets_.keeps(view)) next.push_back(view);
  photos_.prefetch(next);
}

View Trainer::view_of(std::size_t index) {
  View view{scene_.views[index].camera, render_options()};
  if (options_.random_background) {
    Random random(stream_seed(options_.seed, Stream::kBackground), state_.background_counter);
    for (int c = 0; c < 3; ++c) view.options.background[c] = random.uniform();
    state_.background_counter = random.counter();
  }
  return view;
}

RenderOptions Trainer::render_options() const {
  RenderOptions options;
  options.background = options_.background;
  options.antialiased = options_.antialiased;
  return options;
}

void Trainer::raise_sh_degree() {
  const int degree = schedule_.sh_degree_at(state_.step + 1);
  if (device_.gaussians.sh_degree >= degree) return;
  const std::size_t count = device_.gaussians.size();
  const auto from = static_cast<std::size_t>(device_.gaussians.sh_count());
  const auto to = static_cast<std::size_t>((degree + 1) * (degree + 1));
  const std::size_t row_bytes = count * to * sizeof(std::uint32_t), sh_bytes = count * to * sizeof(Vec3f);
  require_room(backend_, row_bytes + 3 * sh_bytes - 2 * count * from * sizeof(Vec3f));
  const DeviceArray<std::uint32_t> rows(backend_, more_coefficients(count, from, to));
  for (DeviceGaussians* g : {&device_.gaussians, &device_.moments.first, &device_.moments.second}) {
    gather_in_place(backend_, g->sh, rows, 1);
    g->sh_degree = degree;
  }
}

void Trainer::finish_last_step() {
  if (state_.finished_step == state_.step) return;
  if (state_.skipped_in_a_row == 0 && schedule_.refines_at(state_.step)) refine();
  if (state_.skipped_in_a_row == 0 && schedule_.resets_opacity_at(state_.step))
    reset_opacities(backend_, options_, device_.gaussians, device_.moments);
  state_.finished_step = state_.step;
}

void Trainer::refine() {
  const DensityInput input = download_density_input(backend_, device_.gaussians, device_.statistics);
  Random random(stream_seed(options_.seed, Stream::kDensity), state_.density_counter);
  DensityPlan plan = options_.strategy == Strategy::kMcmc
                         ? plan_mcmc(input, options_, random)
                         : plan_adc(input, options_, extent_, schedule_.prunes_large_at(state_.step), random);
  if (plan.size() == 0)
    throw Error(
        "every Gaussian was pruned; either the cameras or photos of this scene are wrong, see stipple check, "
        "or --prune-opacity or --opacity-penalty is too high");
  if (schedule_.sorts_at(state_.step)) sort_along_curve(plan);
  carry_out(backend_, plan, device_);
  state_.density_counter = random.counter();
}

}  // namespace stipple
