// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "stipple/backend/render.h"
#include "stipple/backend/sharded_step.h"
#include "stipple/core/error.h"
#include "stipple/edit/select.h"
#include "stipple/ranks/collectives.h"
#include "stipple/scene/fingerprint.h"
#include "stipple/scene/layout.h"
#include "stipple/train/color_points.h"
#include "stipple/train/density/adc.h"
#include "stipple/train/density/gather_in_place.h"
#include "stipple/train/density/mcmc.h"
#include "stipple/train/initialize.h"
#include "stipple/train/start_model.h"
#include "stipple/train/trainer_impl.h"

namespace stipple {

namespace {

// Independent streams of random numbers, all derived from one seed.
enum class Stream : std::uint64_t { kViews = 1, kDensity, kBackground, kNoise, kDropout };

std::uint64_t stream_seed(std::uint64_t seed, Stream stream) {
  return hash_bits(seed * 8 + static_cast<std::uint64_t>(stream));
}

constexpr std::uint32_t kViewsPerPrefetch = 16;

std::vector<std::size_t> training_views(const Scene& scene, bool hold_out) {
  if (hold_out) return scene.train_views();
  std::vector<std::size_t> all(scene.views.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// The model with harmonics up to a lower degree. The other arrays are borrowed.
DeviceGaussians with_fewer_harmonics(Backend& backend, const DeviceGaussians& model, int degree) {
  DeviceGaussians result;
  result.sh_degree = degree;
  result.mean = borrowed(backend, model.mean);
  result.log_scale = borrowed(backend, model.log_scale);
  result.rotation = borrowed(backend, model.rotation);
  result.logit_opacity = borrowed(backend, model.logit_opacity);
  const auto halves = [](const DeviceGaussians& g) {
    return static_cast<std::size_t>(g.sh_count()) * sizeof(Vec3f) / sizeof(std::uint16_t);
  };
  result.sh.set_place(model.sh.place());
  result.sh.resize(backend, model.size() * static_cast<std::size_t>(result.sh_count()));
  if (model.size() > 0)
    backend.copy_rows(*model.sh.memory(), {halves(model)}, nullptr, *result.sh.memory(), {halves(result)},
                      model.size(), halves(result));
  return result;
}

}  // namespace

Trainer::Impl::Impl(Backend& backend, const Scene& scene, const TrainOptions& options, Ranks& ranks)
    : backend_(backend),
      ranks_(ranks),
      link_(backend.link(ranks)),
      scene_(scene),
      options_(options),
      all_views_(training_views(scene, options.hold_out)),
      watched_(options.guard == GuardUse::kAuto ? choose_watched(all_views_) : std::vector<std::size_t>()),
      views_(without(all_views_, watched_)),
      extent_(scene_extent(scene, all_views_)),
      fingerprints_(fingerprints(scene)),
      schedule_(options_, extent_),
      trimmer_(scene, all_views_),
      min_size_(scene, all_views_, options.min_size_px, options.render.near_plane),
      photos_(scene.views, options.max_photo_bytes),
      memory_(plan_for_device()),
      targets_(backend, photos_, scene.views.size(), memory_.photo_bytes),
      depths_(backend, scene),
      guard_(std::max(1.0, static_cast<double>(all_views_.size()) / options.batch)) {
  state_.has_all_views = watched_.empty();
  if (views_.empty())
    throw Error("there is no view to train on; add photos, or do not hold out views", {"eval"});
  if (backend.own_memory_bytes() > 0) limit_to_memory();
}

void Trainer::Impl::start_from_points() {
  if (scene_.points.size() == 0) throw Error("the scene has no points to start from");
  Gaussians first = initial_gaussians(colored_points(scene_, views_, photos_), options_);
  std::vector<float> filter = filter_variance(first.mean);
  begin(std::move(first), std::move(filter));
}

// Everything outside of the trainer sees a model with the filter as a part of it, and so it was given.
void Trainer::Impl::start_from(Gaussians model) {
  start_ = fingerprint(model);
  const std::size_t count = model.size();
  model = start_gaussians(std::move(model), scene_, all_views_, options_);
  dropped_count_ = count - model.size();
  std::vector<float> filter = filter_variance(model.mean);
  remove_filter(filter, options_.render.scale_modifier, model.log_scale, model.logit_opacity);
  begin(std::move(model), std::move(filter));
}

void Trainer::Impl::resume(const std::filesystem::path& checkpoint) { restore(checkpoint, StartCheck::kAny); }

void Trainer::Impl::begin(Gaussians first, std::vector<float> filter) {
  if (has_several_ranks()) {
    const RowRange own = even_share(first.size(), ranks_);
    device_.part = {own.begin, first.size()};
    std::vector<std::uint32_t> rows(own.size());
    std::iota(rows.begin(), rows.end(), static_cast<std::uint32_t>(own.begin));
    keep_rows(rows, first);
    keep_rows(rows, 1, filter);
  }
  const ModelPart part = device_.part;
  device_ = make_train_state(backend_, first, place_of_harmonics(part.total_of(first.size())));
  device_.part = part;
  device_.precomputed.filter_variance.upload(backend_, filter);
  raise_sh_degree();
  shuffle();
}

// The model mutex is held for the whole step, so that other threads see the model only between two steps.
StepReport Trainer::Impl::step(const AfterUpdate& after_update) {
  const std::lock_guard lock(model_mutex_);
  require_whole();
  if (phase_ == Phase::kFinished) {
    // A restored checkpoint may lack the refinement of its last step.
    report_.guard.reset();
    retry_with_less_memory([&] { finish_step(); });
    const std::optional<GuardEvent> event = report_.guard;
    retry_with_less_memory([&] { report_ = train(); });
    report_.guard = event;
    phase_ = Phase::kUpdated;
  }
  if (phase_ == Phase::kUpdated) {
    if (limits_sizes()) retry_with_less_memory([&] { limit_sizes(); });
    if (after_update) after_update(report_);
    phase_ = Phase::kReported;
  }
  const auto start = Clock::now();
  if (state_.step < last_step()) retry_with_less_memory([&] { finish_step(); });
  phase_ = Phase::kFinished;
  report_.ms[static_cast<std::size_t>(Stage::kRefine)] = milliseconds_since(start);
  report_.gaussian_count = gaussian_count();
  return report_;
}

// If the device runs out of memory, releases the frame of render(), then the photos that are cached there,
// then moves harmonics to the host, and tries again. Not with several ranks, since the others would not do
// the same.
template <class F>
void Trainer::Impl::retry_with_less_memory(F work) {
  for (;;) {
    try {
      return work();
    } catch (const OutOfMemory&) {
      if (is_torn_ || has_several_ranks()) throw;
      if (!release_frame() && !targets_.release() && !move_harmonics_to_host()) throw;
    }
  }
}

const Frame& Trainer::Impl::render(const View& view, int sh_degree) {
  require_whole();
  Precomputed look;
  look.filter_variance = borrowed(backend_, device_.precomputed.filter_variance);
  if (sh_degree < device_.gaussians.sh_degree)
    render_frame(backend_, with_fewer_harmonics(backend_, device_.gaussians, sh_degree), look, view,
                 picture_pass_);
  else
    render_frame(backend_, device_.gaussians, look, view, picture_pass_);
  return picture_pass_.frame;
}

// On rank 0, that of all ranks. The filter is applied on the host, since this must work even where the device
// has run out of memory.
Gaussians Trainer::Impl::gaussians() const {
  require_whole();
  Gaussians model = download(backend_, device_.gaussians);
  apply_filter(device_.precomputed.filter_variance.download(backend_), options_.render.scale_modifier,
               model.log_scale, model.logit_opacity);
  if (!has_several_ranks()) return model;
  for_each_parameter([&](int, auto& array) { array = gather_on_first(ranks_, std::move(array)); }, model);
  return model;
}

void Trainer::Impl::require_whole() const {
  if (is_torn_)
    throw Error("the training state was lost when a change of the model failed; restore a checkpoint");
}

// If this throws, the state is unchanged, or torn.
StepReport Trainer::Impl::train() {
  State before = state_;
  buffers_.has_begun_update = false;  // it may be left from a step that ran out of memory
  try {
    StepReport report;
    const auto start = Clock::now();
    report.step = ++state_.step;
    const Batch batch = next_batch();
    const double photo_ms = milliseconds_since(start);
    TrainStep step = plan_step();
    const std::optional<View> next = announced_view();
    step.next_view = next ? &*next : nullptr;
    const PassResult result = has_several_ranks()
                                  ? sharded_step(backend_, *link_, device_, batch.views, step, buffers_)
                                  : backend_.train_step(device_, batch.views, step, buffers_);
    record(result, batch, report);
    report.gaussian_count = gaussian_count();
    report.ms[static_cast<std::size_t>(Stage::kPhoto)] = photo_ms;
    return report;
  } catch (const OutOfMemory&) {
    state_ = std::move(before);
    throw;
  } catch (...) {
    state_ = std::move(before);
    is_torn_ = buffers_.has_begun_update;
    throw;
  }
}

TrainStep Trainer::Impl::plan_step() const {
  TrainStep step;
  step.loss = {.l1_weight = 1 - options_.ssim_weight,
               .ssim_weight = options_.ssim_weight,
               .opacity_penalty = options_.opacity_penalty,
               .scale_penalty = options_.scale_penalty / extent_};
  step.depth_weight = schedule_.depth_weight(state_.step);
  step.adam = rates();
  step.adam.visible_harmonics_only = state_.visible_harmonics_only;
  step.absolute_gradients = options_.absolute_gradients;
  step.lifts_clamped_colors = true;
  if (options_.strategy == Strategy::kMcmc && guard_.state().collapses == 0) {
    step.noise = schedule_.noise(state_.step);
    step.noise_seed = stream_seed(options_.seed, Stream::kNoise) + static_cast<std::uint64_t>(state_.step);
  }
  return step;
}

// Those of the photos of a batch, which only the ranks that draw them know.
std::vector<float> Trainer::Impl::mean_weights(const Batch& batch) const {
  std::vector<float> weights;
  for (const auto& target : batch.targets) weights.push_back(target ? target->mean_weight : 0.0f);
  return sum_by_element(ranks_, weights);  // each is known to one rank
}

void Trainer::Impl::record(const PassResult& result, const Batch& batch, StepReport& report) {
  const auto count = static_cast<double>(batch.views.size());
  const std::vector<float> weights = mean_weights(batch);
  for (std::size_t i = 0; i < batch.views.size(); ++i) {
    const LossValue& loss = result.views[i].loss;
    report.visible = std::max(report.visible, result.views[i].visible);
    report.pairs = std::max(report.pairs, result.views[i].pairs);
    report.loss += static_cast<float>(static_cast<double>(loss.total) / count);
    report.psnr += psnr_of(loss.mean_squared_error / weights[i]) / count;
  }
  report.ms = result.ms;
  report.exchanged_bytes = result.exchanged_bytes;
  state_.adam_step += result.is_finite;
  state_.skipped += !result.is_finite;
  state_.skipped_in_a_row = result.is_finite ? 0 : state_.skipped_in_a_row + 1;
  report.was_skipped = !result.is_finite;
  report.skipped_in_a_row = state_.skipped_in_a_row;
  // With dropout, the PSNR of a step says little about the model (trainer_guard.cpp).
  if (result.is_finite && !uses_dropout()) guard_.add_training_step(report.psnr);
}

Trainer::Impl::Batch Trainer::Impl::next_batch() {
  Batch batch;
  const bool uses_depths = schedule_.depth_weight(state_.step) > 0;
  for (int i = 0; i < options_.batch; ++i) {
    const std::size_t view = next_view(i);
    const bool is_drawn_here = draws_view(ranks_, static_cast<std::size_t>(i));
    batch.targets.push_back(is_drawn_here ? targets_.get(view) : nullptr);
    const LossTarget* target = is_drawn_here ? &batch.targets.back()->pixels : nullptr;
    // All ranks need the depths: a view that has some is rendered with another kind of depth.
    const DepthSamples* depths = uses_depths ? depths_.get(view) : nullptr;
    batch.views.push_back({view_of(view), target, depths});
  }
  return batch;
}

// Every epoch visits every view once, in a new random order.
void Trainer::Impl::shuffle() {
  Random random(stream_seed(options_.seed, Stream::kViews), state_.view_counter);
  state_.order.resize(views_.size());
  std::iota(state_.order.begin(), state_.order.end(), 0u);
  for (std::size_t i = state_.order.size(); i > 1; --i)
    std::swap(state_.order[i - 1], state_.order[random.below(i)]);
  state_.view_counter = random.counter();
  state_.position = 0;
}

// `place` is that of the view in its batch.
std::size_t Trainer::Impl::next_view(int place) {
  if (state_.position == state_.order.size()) shuffle();
  prefetch(place);
  return views_[state_.order[state_.position++]];
}

// The cache removes views from its list as it returns them. The list is renewed from time to time, since an
// evaluation replaces it. It has the views that this rank draws.
void Trainer::Impl::prefetch(int place) {
  if (state_.position % kViewsPerPrefetch != 0) return;
  std::vector<std::size_t> next;
  const auto batch = static_cast<std::size_t>(options_.batch), first = static_cast<std::size_t>(place);
  for (std::size_t i = state_.position; i < state_.order.size(); ++i) {
    const std::size_t view = views_[state_.order[i]];
    if (draws_view(ranks_, (first + i - state_.position) % batch) && !targets_.keeps(view))
      next.push_back(view);
  }
  photos_.prefetch(next);
}

// The view that the next step begins with, as far as is known now: the next epoch's order is not.
std::optional<View> Trainer::Impl::announced_view() const {
  if (state_.position == state_.order.size()) return {};
  const std::size_t index = views_[state_.order[state_.position]];
  View view{scene_.views[index].camera, options_.render};
  view.id = static_cast<int>(index);
  return view;
}

View Trainer::Impl::view_of(std::size_t index) {
  View view{scene_.views[index].camera, options_.render};
  if (options_.random_background) {
    Random random(stream_seed(options_.seed, Stream::kBackground), state_.background_counter);
    for (int c = 0; c < 3; ++c) view.options.background[c] = random.uniform();
    state_.background_counter = random.counter();
  }
  view.id = static_cast<int>(index);
  view.dropout = {schedule_.dropout(state_.step, all_views_.size()),
                  stream_seed(options_.seed, Stream::kDropout) + static_cast<std::uint64_t>(state_.step)};
  return view;
}

// Does what is due after the update, unless it has been done. If the refinement fails before it has changed
// anything, the next call repeats it.
void Trainer::Impl::finish_step() {
  if (state_.finished_step == state_.step) return;
  check_model();  // before the refinement, which disturbs the model for some steps
  raise_sh_degree();
  const bool was_skipped = state_.skipped_in_a_row > 0;
  const bool may_change = !was_skipped && state_.polish_until == 0;
  if (may_change && schedule_.refines_at(state_.step)) refine();
  if (may_change && schedule_.resets_opacity_at(state_.step)) {
    is_torn_ = true;
    reset_opacities(backend_, options_, device_.gaussians, device_.moments);
  }
  is_torn_ = false;
  state_.finished_step = state_.step;
}

std::vector<float> Trainer::Impl::filter_variance(std::span<const Vec3f> means) const {
  if (!options_.render.antialiased || options_.min_size_px == 0) return {};
  std::vector<float> variance = min_size_.at(means);
  for (float& v : variance) v *= v;
  return variance;
}

bool Trainer::Impl::limits_sizes() const {
  if (options_.render.antialiased || options_.min_size_px == 0 || state_.skipped_in_a_row > 0) return false;
  const int end = state_.polish_until > 0 ? state_.polish_until : options_.steps;
  return schedule_.limits_sizes_at(state_.step) || state_.step == end;
}

// Without antialiasing, the renders do not dim a splat for its blur. Dimming Gaussians for the filter would
// contradict that, so their scales are limited instead. To do so twice changes nothing.
void Trainer::Impl::limit_sizes() {
  const std::vector<float> least = min_size_.at(device_.gaussians.mean.download(backend_));
  std::vector<Vec3f> log_scale = device_.gaussians.log_scale.download(backend_);
  for (std::size_t i = 0; i < log_scale.size(); ++i) {
    const float limit =
        std::log(MinSize::kLimitShare * least[i] / options_.render.scale_modifier);  // of 0: no limit
    Vec3f& s = log_scale[i];
    s = {std::max(s.x, limit), std::max(s.y, limit), std::max(s.z, limit)};
  }
  device_.gaussians.log_scale.upload(backend_, log_scale);
}

void Trainer::Impl::refine() {
  DensityInput input = download_density_input(backend_, device_);
  const bool trims = schedule_.trims_at(state_.step);
  if (trims) trimmer_.trim(input);
  Random random(stream_seed(options_.seed, Stream::kDensity), state_.density_counter);
  const bool may_grow = guard_.state().may_grow;
  DensityPlan plan =
      options_.strategy == Strategy::kMcmc
          ? plan_mcmc(input, options_,
                      {schedule_.grow_gradient(state_.step), may_grow, schedule_.splits_at(state_.step)},
                      random, ranks_)
          : plan_adc(input, options_, extent_, schedule_.prunes_large_at(state_.step), may_grow, random,
                     ranks_);
  const std::size_t planned = sum_over_ranks(ranks_, plan.size()).total;
  if (planned == 0 && recover_from_collapse()) return;
  if (planned == 0)
    throw Error(
        "every Gaussian was pruned; either the scene's cameras do not match its photos, or pruning is "
        "too strict",
        {"prune_opacity", "opacity_penalty"});
  if (!has_several_ranks() && schedule_.sorts_at(state_.step)) sort_along_curve(plan);
  if (trims) plan.filter_variance = filter_variance(plan.mean);
  release_buffers();
  if (!make_room_for_harmonics(planned)) return refine();
  require_room_for(backend_, plan, device_);
  is_torn_ = true;  // until the step is finished
  if (has_several_ranks())
    carry_out_over_ranks(plan);
  else
    carry_out_alone(plan);
  if (memory_.harmonics_of(planned) == Place::kDevice) try_to_move_harmonics_back();
  state_.density_counter = random.counter();
}

void Trainer::Impl::carry_out_alone(const DensityPlan& plan) {
  carry_out(backend_, plan, device_);
  device_.part = part_of(ranks_, device_.gaussians.size());
}

// A plan is for the Gaussians of this rank; afterwards, all ranks sort theirs together, and share them
// evenly.
void Trainer::Impl::carry_out_over_ranks(const DensityPlan& plan) {
  std::vector<std::uint64_t> keys = schedule_.sorts_at(state_.step) ? keys_along_curve(ranks_, plan.mean)
                                                                    : keys_of_order(ranks_, plan.size());
  carry_out(backend_, plan, device_);
  redistribute(backend_, ranks_, std::move(keys), device_);
}

// Raises the SH degree to that of the next step.
void Trainer::Impl::raise_sh_degree() {
  const int degree = schedule_.sh_degree_at(state_.step + 1);
  if (device_.gaussians.sh_degree >= degree) return;
  release_buffers();
  const std::size_t count = device_.gaussians.size();
  const auto from = static_cast<std::size_t>(device_.gaussians.sh_count());
  const auto to = static_cast<std::size_t>((degree + 1) * (degree + 1));
  const Place place = device_.gaussians.sh.place();
  const PlacedBytes added =
      train_state_bytes(count, degree, place) - train_state_bytes(count, device_.gaussians.sh_degree, place);
  require_room(backend_,
               added + widening_bytes(backend_, place, count, from * sizeof(Vec3f), to * sizeof(Vec3f)));
  is_torn_ = true;
  widen_in_place(backend_, device_.gaussians.sh, from, to);
  device_.gaussians.sh_degree = degree;
  AdamMoments& moments = device_.moments;
  moments.sh_degree = degree;
  if (from == 1)
    moments.sh_rest.resize_zero(backend_, count * static_cast<std::size_t>(moments.sh_rest_count()));
  else
    widen_in_place(backend_, moments.sh_rest, 3 * (from - 1), 3 * (to - 1));
  is_torn_ = false;
}

Trainer::Trainer(Backend& backend, const Scene& scene, const TrainOptions& options, Ranks& ranks)
    : Trainer(std::make_unique<Impl>(backend, scene, options, ranks)) {
  impl_->start_from_points();
}
Trainer::Trainer(Backend& backend, const Scene& scene, const TrainOptions& options, Gaussians start,
                 Ranks& ranks)
    : Trainer(std::make_unique<Impl>(backend, scene, options, ranks)) {
  impl_->start_from(std::move(start));
}
Trainer Trainer::resumed(Backend& backend, const Scene& scene, const TrainOptions& options,
                         const std::filesystem::path& checkpoint, Ranks& ranks) {
  Trainer trainer(std::make_unique<Impl>(backend, scene, options, ranks));
  trainer.impl_->resume(checkpoint);
  return trainer;
}
Trainer::Trainer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Trainer::~Trainer() = default;
Trainer::Trainer(Trainer&&) noexcept = default;
Trainer& Trainer::operator=(Trainer&&) noexcept = default;

StepReport Trainer::step(const AfterUpdate& after_update) { return impl_->step(after_update); }
bool Trainer::done() const { return steps_done() >= last_step(); }
int Trainer::steps_done() const { return impl_->steps_done(); }
int Trainer::last_step() const { return impl_->last_step(); }
std::span<const std::size_t> Trainer::watched_views() const { return impl_->watched_views(); }
int Trainer::skipped_count() const { return impl_->skipped_count(); }
std::string_view Trainer::link_name() const { return impl_->link_name(); }
std::size_t Trainer::memory_cap() const { return impl_->memory_cap(); }
bool Trainer::has_harmonics_on_host() const { return impl_->has_harmonics_on_host(); }
std::size_t Trainer::dropped_count() const { return impl_->dropped_count(); }
std::size_t Trainer::gaussian_count() const { return impl_->gaussian_count(); }
const DeviceGaussians& Trainer::device_gaussians() const { return impl_->device_gaussians(); }
Gaussians Trainer::gaussians() const { return impl_->gaussians(); }
const RenderOptions& Trainer::render_options() const { return impl_->render_options(); }
Evaluation Trainer::evaluate(std::span<const std::size_t> views, const EvaluationProgress& progress) {
  return impl_->evaluate(views, progress);
}
const Frame& Trainer::render(const View& view, int sh_degree) { return impl_->render(view, sh_degree); }
void Trainer::release_frame() { impl_->release_frame(); }
void Trainer::save(const std::filesystem::path& path) const { impl_->save(path); }
void Trainer::restore(const std::filesystem::path& path) { impl_->restore(path); }
void Trainer::call_between_steps(const std::function<void(const DeviceGaussians&)>& f) const {
  impl_->call_between_steps(f);
}

}  // namespace stipple
