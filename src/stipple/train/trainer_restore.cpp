// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <limits>
#include <optional>

#include "stipple/core/error.h"
#include "stipple/edit/importance.h"
#include "stipple/edit/select.h"
#include "stipple/io/json.h"
#include "stipple/ranks/collectives.h"
#include "stipple/train/checkpoint_format.h"
#include "stipple/train/checkpoint_reader.h"
#include "stipple/train/trainer_impl.h"

namespace stipple {

namespace {

using nlohmann::json;

constexpr std::uint64_t kMostGaussians = std::uint64_t{1} << 32;
constexpr int kMostShDegree = 3;

// A number that is not finite is saved as null.
template <class Real>
Real number_or(const json& object, const char* key, Real otherwise) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? otherwise : found->get<Real>();
}

// Describes the first difference between two identities; empty if they are equal.
std::string difference(const json& saved, const json& mine) {
  for (const auto& [key, value] : mine.items())
    if (!saved.contains(key) || saved[key] != value)
      return fmt::format("a run with {0} {1}, but this run has {0} {2}", key,
                         saved.contains(key) ? saved[key].dump() : "unknown", value.dump());
  return "";
}

// Names the first photo that differs; empty if none does.
std::string changed_photo(const json& saved, const std::vector<std::uint32_t>& mine, const Scene& scene) {
  if (saved.size() != mine.size()) return fmt::format("{} photos", saved.size());
  for (std::size_t i = 0; i < mine.size(); ++i)
    if (saved[i] != mine[i]) return fmt::format("another {}, or another camera of it", scene.views[i].name);
  return "";
}

const char* describe_start(std::optional<std::uint32_t> saved, std::optional<std::uint32_t> mine) {
  if (!saved) return "the scene's points";
  return mine ? "another model" : "a model";
}

// A number in a checkpoint is not what a run can have written. The checksum only says that nothing has
// changed since.
struct Implausible {};

std::uint64_t whole_number(const json& value, std::uint64_t most) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > most) throw Implausible();
  return value.get<std::uint64_t>();
}

int step_number(const json& value, int most) {
  return static_cast<int>(whole_number(value, static_cast<std::uint64_t>(std::max(most, 0))));
}

// The views of an epoch: each occurs once.
std::vector<std::uint32_t> read_order(const json& from, std::size_t view_count) {
  if (!from.is_array() || from.size() != view_count) throw Implausible();
  std::vector<std::uint32_t> order;
  std::vector<bool> is_listed(view_count, false);
  for (const json& value : from) {
    const std::uint64_t view = whole_number(value, view_count - 1);
    if (is_listed[view]) throw Implausible();
    is_listed[view] = true;
    order.push_back(static_cast<std::uint32_t>(view));
  }
  return order;
}

GuardState guard_from_json(const json& from, int step) {
  const auto psnr = [&](const char* key) {
    return number_or(from, key, std::numeric_limits<double>::quiet_NaN());
  };
  return {.best_step = step_number(from.at("best_step"), step),
          .best_psnr = psnr("best_psnr"),
          .best_count = whole_number(from.at("best_count"), kMostGaussians),
          .best_training_psnr = psnr("best_training_psnr"),
          .training_psnr = psnr("training_psnr"),
          .training_steps = step_number(from.at("training_steps"), step),
          .worse_in_a_row = step_number(from.at("worse_in_a_row"), step),
          .collapses = step_number(from.at("collapses"), step),
          .may_grow = from.at("may_grow")};
}

Gaussians read_gaussians(CheckpointReader& in, std::size_t count, int sh_degree) {
  Gaussians g;
  g.sh_degree = sh_degree;
  for_each_parameter(
      [&](int per_gaussian, auto& array) {
        using T = typename std::remove_reference_t<decltype(array)>::value_type;
        array = in.rows<T>(count, per_gaussian);
      },
      g);
  return g;
}

void share_evenly(Ranks& ranks, Gaussians& part) {
  for_each_parameter(
      [&](int per_gaussian, auto& array) { stipple::share_evenly(ranks, per_gaussian, array); }, part);
}

HostMoments read_moments(CheckpointReader& in, std::size_t count, int sh_degree) {
  HostMoments moments;
  moments.sh_degree = sh_degree;
  for_each_moment(
      [&](int per_gaussian, auto& array) {
        using T = typename std::remove_reference_t<decltype(array)>::value_type;
        array = in.rows<T>(count, per_gaussian);
      },
      moments);
  return moments;
}

}  // namespace

// What a checkpoint holds, on the host: this rank's part of the arrays.
struct Trainer::Impl::Saved {
  std::optional<std::uint32_t> start;
  State state;
  GuardState guard;
  Phase phase = Phase::kFinished;
  float loss = 0, psnr = 0;
  std::size_t count = 0, best_count = 0, filter_count = 0, best_filter_count = 0;  // of the whole model
  int sh_degree = 0, best_sh_degree = 0;
  Gaussians gaussians, best;
  HostMoments moments;
  std::vector<Vec2f> statistics;
  std::vector<float> filter, best_filter;
};

void Trainer::Impl::restore(const std::filesystem::path& path, StartCheck check) {
  Saved saved = load(path, check);
  const std::size_t dropped = drop_excess(saved);
  install(std::move(saved));
  dropped_count_ = dropped;
}

Trainer::Impl::Saved Trainer::Impl::load(const std::filesystem::path& path, StartCheck check) const {
  CheckpointReader in(path, ranks_);
  const json text = parse_json(in.text());
  if (!text.is_object()) in.fail("the checkpoint is damaged and cannot be used");
  Saved saved;
  try {
    check_identity(text, path);
    read_text(text, saved);
  } catch (const json::exception&) {
    in.fail("the checkpoint is damaged and cannot be used");
  } catch (const Implausible&) {
    in.fail("the checkpoint holds numbers that no run writes and cannot be used");
  }
  if (check == StartCheck::kSame && saved.start != start_)
    throw Error(fmt::format(
        "{}: the checkpoint is from a run that started from {}, but this run starts from {}", path.string(),
        describe_start(saved.start, start_), start_ ? "a model" : "the scene's points"));
  saved.gaussians = read_gaussians(in, saved.count, saved.sh_degree);
  saved.moments = read_moments(in, saved.count, saved.sh_degree);
  saved.statistics = in.rows<Vec2f>(saved.count, 1);
  saved.filter = in.rows<float>(saved.filter_count, 1);
  saved.best = read_gaussians(in, saved.best_count, saved.best_sh_degree);
  saved.best_filter = in.rows<float>(saved.best_filter_count, 1);
  in.check_end();
  return saved;
}

void Trainer::Impl::check_identity(const json& text, const std::filesystem::path& path) const {
  const std::string other =
      difference(text.at("identity"), run_identity(options_, scene_, all_views_.size(), watched_.size()));
  if (!other.empty())
    throw Error(
        fmt::format("{}: the checkpoint is from {}; resume it with the scene and the options of that run",
                    path.string(), other));
  const std::string changed = changed_photo(text.at("photos"), fingerprints_, scene_);
  if (!changed.empty())
    throw Error(fmt::format(
        "{}: the checkpoint is from a run with {}; resume it with the scene of that run, or start again",
        path.string(), changed));
}

// Throws json::exception or Implausible.
void Trainer::Impl::read_text(const json& text, Saved& to) const {
  const auto steps_up_to = [&](const char* key, int most) { return step_number(text.at(key), most); };
  const auto count_up_to = [&](const char* key, std::uint64_t most) {
    return whole_number(text.at(key), most);
  };
  const auto counter = [&](const char* key) {
    return count_up_to(key, std::numeric_limits<std::uint64_t>::max());
  };
  if (const auto start = text.find("start"); start != text.end() && !start->is_null())
    to.start = static_cast<std::uint32_t>(whole_number(*start, std::numeric_limits<std::uint32_t>::max()));
  State& state = to.state;
  state.step = steps_up_to("step", options_.steps);
  state.adam_step = steps_up_to("adam_step", state.step);
  state.skipped = steps_up_to("skipped", state.step);
  state.skipped_in_a_row = steps_up_to("skipped_in_a_row", state.skipped);
  state.finished_step = steps_up_to("finished_step", state.step);
  state.checked_step = steps_up_to("checked_step", state.step);
  state.polish_from = steps_up_to("polish_from", state.step);
  state.polish_until = steps_up_to("polish_until", options_.steps);
  state.has_all_views = text.at("has_all_views");
  state.visible_harmonics_only = text.at("visible_harmonics_only");
  state.view_counter = counter("view_counter");
  state.density_counter = counter("density_counter");
  state.background_counter = counter("background_counter");
  state.order = read_order(text.at("order"), all_views_.size() - (state.has_all_views ? 0 : watched_.size()));
  state.position = static_cast<std::uint32_t>(count_up_to("position", state.order.size()));
  to.phase = static_cast<Phase>(steps_up_to("phase", kLastPhase));
  to.guard = guard_from_json(text.at("guard"), state.step);
  to.loss = number_or(text, "loss", 0.0f);
  to.psnr = number_or(text, "psnr", 0.0f);
  to.count = count_up_to("gaussians", kMostGaussians);
  to.sh_degree = steps_up_to("sh_degree", kMostShDegree);
  to.best_count = count_up_to("best_gaussians", kMostGaussians);
  to.best_sh_degree = steps_up_to("best_sh_degree", kMostShDegree);
  to.filter_count = count_up_to("filter", to.count);
  to.best_filter_count = count_up_to("best_filter", to.best_count);
  if ((to.filter_count != 0 && to.filter_count != to.count) ||
      (to.best_filter_count != 0 && to.best_filter_count != to.best_count))
    throw Implausible();
}

// Drops the least important Gaussians beyond the limit, and returns their number. Afterwards, every rank has
// as many as any other: they may all have been in the part of one.
std::size_t Trainer::Impl::drop_excess(Saved& saved) const {
  const std::size_t most = backend_.own_memory_bytes() > 0 ? most_restored_ : options_.max_gaussians;
  if (most == 0) return 0;
  const auto most_important_of = [&](const Gaussians& part) {
    return highest_rows(ranks_, importance(part, scene_, all_views_), most);
  };
  if (saved.best_count > most) {
    const std::vector<std::uint32_t> kept = most_important_of(saved.best);
    keep_rows(kept, saved.best);
    keep_rows(kept, 1, saved.best_filter);
    share_evenly(ranks_, saved.best);
    stipple::share_evenly(ranks_, 1, saved.best_filter);
    saved.guard.best_count = most;
  }
  if (saved.count <= most) return 0;
  const std::vector<std::uint32_t> kept = most_important_of(saved.gaussians);
  keep_rows(kept, saved.gaussians);
  for_each_moment([&](int per_gaussian, auto& array) { keep_rows(kept, per_gaussian, array); },
                  saved.moments);
  keep_rows(kept, 1, saved.statistics);
  keep_rows(kept, 1, saved.filter);
  share_evenly(ranks_, saved.gaussians);
  for_each_moment([&](int per_gaussian, auto& array) { stipple::share_evenly(ranks_, per_gaussian, array); },
                  saved.moments);
  stipple::share_evenly(ranks_, 1, saved.statistics);
  stipple::share_evenly(ranks_, 1, saved.filter);
  return saved.count - most;
}

// The arrays are replaced one by one, since the device may not have room for both states.
void Trainer::Impl::install(Saved saved) {
  const std::lock_guard lock(model_mutex_);
  release_buffers();
  const ModelPart part = part_of(ranks_, saved.gaussians.size());
  const DeviceGaussians& before = device_.gaussians;
  const Place place = memory_.harmonics_of(part.total);
  require_room(backend_, train_state_bytes(saved.gaussians.size(), saved.sh_degree, place) -
                             train_state_bytes(before.size(), before.sh_degree, before.sh.place()));
  is_torn_ = true;
  const auto place_array = [&](auto& array) {
    if (array.place() != place) array.release();
    array.set_place(place);
  };
  for_each_harmonics_array(place_array, device_);
  device_.gaussians.sh_degree = device_.moments.sh_degree = saved.sh_degree;
  const auto upload_and_release = [&](int, auto& to, auto& from) {
    to.upload(backend_, from);
    from = {};
  };
  for_each_parameter(upload_and_release, device_.gaussians, saved.gaussians);
  for_each_moment(upload_and_release, device_.moments, saved.moments);
  device_.statistics.upload(backend_, saved.statistics);
  device_.precomputed.filter_variance.upload(backend_, saved.filter);
  device_.part = part;
  guard_.restore(saved.guard);
  best_part_ = part_of(ranks_, saved.best.size());
  best_ = std::move(saved.best);
  best_filter_ = std::move(saved.best_filter);
  start_ = saved.start;
  state_ = std::move(saved.state);
  place_of_harmonics(part.total);  // for this state
  views_ = state_.has_all_views ? all_views_ : without(all_views_, watched_);
  phase_ = saved.phase;
  report_ = {};
  report_.step = state_.step;
  report_.loss = saved.loss;
  report_.psnr = static_cast<double>(saved.psnr);
  is_torn_ = false;
}

}  // namespace stipple
