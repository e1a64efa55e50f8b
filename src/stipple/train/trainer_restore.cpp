// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <optional>

#include "stipple/core/checksum.h"
#include "stipple/core/error.h"
#include "stipple/edit/importance.h"
#include "stipple/edit/select.h"
#include "stipple/io/input_file.h"
#include "stipple/io/json.h"
#include "stipple/train/checkpoint_format.h"
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

// Reads the parts of the file and checks each of them for truncation.
class StateReader {
 public:
  explicit StateReader(const std::filesystem::path& path) : file_(path) {}

  [[noreturn]] void fail(const std::string& why) const {
    throw DamagedCheckpoint(fmt::format("{}: {}", file_.name(), why));
  }

  std::span<const std::byte> take(std::size_t count) {
    const std::span<const std::byte> bytes = file_.take(count);
    if (bytes.size() < count) fail("the checkpoint is truncated and cannot be used");
    checksum_ = checksum(checksum_, bytes);
    return bytes;
  }

  CheckpointHead head() {
    CheckpointHead head{};
    const std::span<const std::byte> bytes = file_.take(sizeof(CheckpointHead));
    if (bytes.size() >= sizeof(kCheckpointMagic)) std::memcpy(&head, bytes.data(), bytes.size());
    if (std::memcmp(head.magic, kCheckpointMagic, sizeof(kCheckpointMagic)) != 0)
      fail("this file is not a Stipple checkpoint");
    if (bytes.size() < sizeof(CheckpointHead)) fail("the checkpoint is truncated and cannot be used");
    if (head.version > kCheckpointVersion)
      fail(fmt::format(
          "the checkpoint has version {}, but this program supports versions up to {}; use a newer program",
          head.version, kCheckpointVersion));
    if (head.version < kCheckpointVersion)
      fail(fmt::format("the checkpoint has version {}, which this program does not support", head.version));
    return head;
  }

  template <class T>
  std::vector<T> array(std::size_t count) {
    if (count > file_.remaining_bytes() / sizeof(T)) fail("the checkpoint is truncated and cannot be used");
    std::vector<T> values(count);
    const std::span<const std::byte> bytes = take(count * sizeof(T));
    if (count > 0) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

  void check_end(std::uint32_t expected) const {
    if (file_.remaining_bytes() > 0) fail("the checkpoint has extra data at its end and cannot be used");
    if (checksum_ != expected) fail("the checkpoint is damaged (its checksum is wrong) and cannot be used");
  }

 private:
  InputFile file_;
  std::uint32_t checksum_ = 0;
};

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

Gaussians read_gaussians(StateReader& in, std::size_t count, int sh_degree) {
  Gaussians g;
  g.sh_degree = sh_degree;
  for_each_parameter(
      [&](int per_gaussian, auto& array) {
        using T = typename std::remove_reference_t<decltype(array)>::value_type;
        array = in.array<T>(count * static_cast<std::size_t>(per_gaussian));
      },
      g);
  return g;
}

void replace(Backend& backend, const Gaussians& from, DeviceGaussians& to) {
  to.sh_degree = from.sh_degree;
  for_each_parameter([&](int, auto& target, const auto& source) { target.upload(backend, source); }, to,
                     from);
}

}  // namespace

// What a checkpoint holds, on the host.
struct Trainer::Impl::Saved {
  std::optional<std::uint32_t> start;
  State state;
  GuardState guard;
  Phase phase = Phase::kFinished;
  float loss = 0, psnr = 0;
  std::size_t count = 0, best_count = 0, filter_count = 0, best_filter_count = 0;
  int sh_degree = 0, best_sh_degree = 0;
  Gaussians gaussians, first_moment, second_moment, best;
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
  StateReader in(path);
  const CheckpointHead head = in.head();
  const json text = parse_json(as_text(in.take(head.text_bytes)));
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
  for (Gaussians* part : {&saved.gaussians, &saved.first_moment, &saved.second_moment})
    *part = read_gaussians(in, saved.count, saved.sh_degree);
  saved.statistics = in.array<Vec2f>(saved.count);
  saved.filter = in.array<float>(saved.filter_count);
  saved.best = read_gaussians(in, saved.best_count, saved.best_sh_degree);
  saved.best_filter = in.array<float>(saved.best_filter_count);
  in.check_end(head.checksum);
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

// Drops the least important Gaussians beyond the limit, and returns their number.
std::size_t Trainer::Impl::drop_excess(Saved& saved) const {
  const std::size_t most = options_.max_gaussians;
  if (most == 0) return 0;
  if (saved.best.size() > most) {
    const std::vector<std::uint32_t> kept = most_important(saved.best, most, scene_, all_views_);
    keep_rows(kept, saved.best);
    keep_rows(kept, 1, saved.best_filter);
    saved.guard.best_count = most;
  }
  if (saved.gaussians.size() <= most) return 0;
  const std::vector<std::uint32_t> kept = most_important(saved.gaussians, most, scene_, all_views_);
  for (Gaussians* part : {&saved.gaussians, &saved.first_moment, &saved.second_moment})
    keep_rows(kept, *part);
  keep_rows(kept, 1, saved.statistics);
  keep_rows(kept, 1, saved.filter);
  return saved.count - most;
}

// The arrays are replaced one by one, since the device may not have room for both states.
void Trainer::Impl::install(Saved saved) {
  const std::lock_guard lock(model_mutex_);
  const std::size_t needed = train_state_bytes(saved.gaussians.size(), saved.sh_degree);
  const std::size_t freed = train_state_bytes(device_.gaussians.size(), device_.gaussians.sh_degree);
  if (needed > freed) require_room(backend_, needed - freed);
  is_torn_ = true;
  replace(backend_, saved.gaussians, device_.gaussians);
  replace(backend_, saved.first_moment, device_.moments.first);
  replace(backend_, saved.second_moment, device_.moments.second);
  device_.statistics.upload(backend_, saved.statistics);
  device_.precomputed.filter_variance.upload(backend_, saved.filter);
  best_ = {};
  best_filter_ = {};
  guard_.restore(saved.guard);
  try {
    if (saved.best.size() > 0) {
      replace(backend_, saved.best, best_);
      best_filter_.upload(backend_, saved.best_filter);
    }
  } catch (const OutOfMemory&) {  // of a smaller device: the run can do without this copy
    release_best();
  }
  start_ = saved.start;
  state_ = std::move(saved.state);
  views_ = state_.has_all_views ? all_views_ : without(all_views_, watched_);
  phase_ = saved.phase;
  report_ = {};
  report_.step = state_.step;
  report_.loss = saved.loss;
  report_.psnr = static_cast<double>(saved.psnr);
  is_torn_ = false;
}

}  // namespace stipple
