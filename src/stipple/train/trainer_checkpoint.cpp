// SPDX-License-Identifier: Apache-2.0
// The format of a checkpoint:
//
//   8 bytes   "STIPPLE" and a byte 0
//   u32       version
//   u32       length of the text
//   u32       checksum of everything after this field
//   text      JSON: counters, view order, sizes, and the options that must agree
//   floats    mean, log_scale, rotation, logit_opacity, sh of the Gaussians, then of both moments; then the
//             density statistics and the variances of the 3D filter; then the best model, if the guard
//             keeps one, and its filter
//
// The filter is not yet a part of the scales and opacities. A run without a filter has no variances.
//
// Numbers are little-endian. The checksum is zlib's CRC-32.
#include <fmt/format.h>
#include <zlib.h>

#include <bit>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "stipple/core/error.h"
#include "stipple/io/input_file.h"
#include "stipple/io/json.h"
#include "stipple/io/output_file.h"
#include "stipple/train/density/importance.h"
#include "stipple/train/trainer_impl.h"

namespace stipple {

namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "numbers are written in the byte order of memory");
constexpr char kMagic[8] = "STIPPLE";
constexpr std::uint32_t kVersion = 5;
constexpr std::uint64_t kMostGaussians = std::uint64_t{1} << 32;
constexpr int kMostShDegree = 3;

struct FileHead {
  char magic[8];
  std::uint32_t version, text_bytes, checksum;
};
static_assert(sizeof(FileHead) == 20);

std::uint32_t checksum(std::uint32_t so_far, std::span<const std::byte> bytes) {
  if (bytes.empty()) return so_far;  // zlib starts afresh if the pointer is null
  return static_cast<std::uint32_t>(
      crc32_z(so_far, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

// JSON is UTF-8, but the name of a file may be anything.
std::string as_utf8(const std::string& name) {
  return json::parse(json(name).dump(-1, ' ', false, json::error_handler_t::replace)).get<std::string>();
}

// What a checkpoint must agree with: facts that tell one run from another. Other options may be changed on
// purpose when a run is resumed.
json identity(const TrainOptions& o, const Scene& scene, std::size_t view_count, std::size_t watched_count) {
  return {{"steps", o.steps},
          {"seed", o.seed},
          {"batch", o.batch},
          {"strategy", o.strategy == Strategy::kAdc ? "adc" : "mcmc"},
          {"sh_degree", o.sh_degree},
          {"guard", o.guard == GuardUse::kAuto ? "auto" : "off"},
          {"antialiased", o.render.antialiased},
          {"min_size", o.min_size_px},
          {"views", view_count},
          {"watched_views", watched_count},
          {"first_view", as_utf8(scene.views[0].name)},
          {"width", scene.views[0].camera.width_px},
          {"height", scene.views[0].camera.height_px}};
}

// A loss that is not finite is saved as null.
float number_or(const json& object, const char* key, float otherwise) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<float>() : otherwise;
}

// Describes the first difference between two identities; empty if they are equal.
std::string difference(json saved, const json& mine) {
  if (!saved.contains("batch")) saved["batch"] = 1;  // older checkpoints are of runs with one view per step
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

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
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

  FileHead head() {
    FileHead head{};
    const std::span<const std::byte> bytes = file_.take(sizeof(FileHead));
    if (bytes.size() >= sizeof(kMagic)) std::memcpy(&head, bytes.data(), bytes.size());
    if (std::memcmp(head.magic, kMagic, sizeof(kMagic)) != 0) fail("this file is not a Stipple checkpoint");
    if (bytes.size() < sizeof(FileHead)) fail("the checkpoint is truncated and cannot be used");
    if (head.version > kVersion)
      fail(fmt::format(
          "the checkpoint has version {}, but this program supports versions up to {}; use a newer program",
          head.version, kVersion));
    if (head.version < kVersion)
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

json to_json(const GuardState& g) {
  return {{"best_step", g.best_step},
          {"best_psnr", g.best_psnr},
          {"best_count", g.best_count},
          {"best_training_psnr", g.best_training_psnr},
          {"training_psnr", g.training_psnr},
          {"training_steps", g.training_steps},
          {"worse_in_a_row", g.worse_in_a_row},
          {"collapses", g.collapses},
          {"may_grow", g.may_grow}};
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
  return {.best_step = step_number(from.at("best_step"), step),
          .best_psnr = from.at("best_psnr"),
          .best_count = whole_number(from.at("best_count"), kMostGaussians),
          .best_training_psnr = from.at("best_training_psnr"),
          .training_psnr = from.at("training_psnr"),
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

// Keeps the listed rows of an array with `per_row` elements in each.
template <class T>
void keep_rows(const std::vector<std::uint32_t>& rows, int per_row, std::vector<T>& array) {
  if (array.empty()) return;
  const auto n = static_cast<std::size_t>(per_row);
  std::vector<T> kept(rows.size() * n);
  for (std::size_t i = 0; i < rows.size(); ++i)
    std::copy_n(array.begin() + static_cast<std::ptrdiff_t>(rows[i] * n), n,
                kept.begin() + static_cast<std::ptrdiff_t>(i * n));
  array = std::move(kept);
}

void keep_rows(const std::vector<std::uint32_t>& rows, Gaussians& g) {
  for_each_parameter([&](int per_gaussian, auto& array) { keep_rows(rows, per_gaussian, array); }, g);
}

void replace(Backend& backend, const Gaussians& from, DeviceGaussians& to) {
  to.sh_degree = from.sh_degree;
  for_each_parameter([&](int, auto& target, const auto& source) { target.upload(backend, source); }, to,
                     from);
}

}  // namespace

void Trainer::Impl::save(const std::filesystem::path& path) const {
  require_whole();
  json text = {{"identity", identity(options_, scene_, all_views_.size(), watched_.size())},
               {"step", state_.step},
               {"finished_step", state_.finished_step},
               {"checked_step", state_.checked_step},
               {"polish_from", state_.polish_from},
               {"polish_until", state_.polish_until},
               {"has_all_views", state_.has_all_views},
               {"guard", to_json(guard_.state())},
               {"best_gaussians", best_.size()},
               {"best_sh_degree", best_.sh_degree},
               {"filter", device_.precomputed.filter_variance.size()},
               {"best_filter", best_filter_.size()},
               {"photos", fingerprints_},
               {"phase", static_cast<int>(phase_)},
               {"loss", report_.loss},
               {"psnr", report_.psnr},
               {"adam_step", state_.adam_step},
               {"skipped", state_.skipped},
               {"skipped_in_a_row", state_.skipped_in_a_row},
               {"view_counter", state_.view_counter},
               {"density_counter", state_.density_counter},
               {"background_counter", state_.background_counter},
               {"order", state_.order},
               {"position", state_.position},
               {"gaussians", device_.gaussians.size()},
               {"sh_degree", device_.gaussians.sh_degree}};
  const std::string dumped = text.dump();
  const std::vector<Vec2f> statistics = device_.statistics.download(backend_);
  std::vector<Gaussians> parts;
  for (const DeviceGaussians* g : {&device_.gaussians, &device_.moments.first, &device_.moments.second})
    parts.push_back(download(backend_, *g));
  const std::vector<float> filter = device_.precomputed.filter_variance.download(backend_);
  const Gaussians best = download(backend_, best_);
  const std::vector<float> best_filter = best_filter_.download(backend_);

  // The data are traversed twice, since the checksum precedes them in the file.
  const auto for_each_piece = [&](auto&& f) {
    f(std::as_bytes(std::span(dumped)));
    for (const Gaussians& part : parts) for_each_parameter([&](int, const auto& a) { f(bytes_of(a)); }, part);
    f(bytes_of(statistics));
    f(bytes_of(filter));
    for_each_parameter([&](int, const auto& a) { f(bytes_of(a)); }, best);
    f(bytes_of(best_filter));
  };
  FileHead head{{}, kVersion, static_cast<std::uint32_t>(dumped.size()), 0};
  std::memcpy(head.magic, kMagic, sizeof(kMagic));
  for_each_piece([&](std::span<const std::byte> bytes) { head.checksum = checksum(head.checksum, bytes); });
  OutputFile file(path);
  file.write(std::as_bytes(std::span(&head, 1)));
  for_each_piece([&](std::span<const std::byte> bytes) { file.write(bytes); });
  file.commit();
}

void Trainer::Impl::restore(const std::filesystem::path& path) {
  StateReader in(path);
  const FileHead head = in.head();
  const std::span<const std::byte> bytes = in.take(head.text_bytes);
  const char* begin = reinterpret_cast<const char*>(bytes.data());
  const json text = parse_json(std::string_view(begin, bytes.size()));
  if (!text.is_object()) in.fail("the checkpoint is damaged and cannot be used");
  State state;
  GuardState guard;
  std::size_t count = 0, best_count = 0, filter_count = 0, best_filter_count = 0;
  int sh_degree = 0, best_sh_degree = 0;
  Phase phase = Phase::kFinished;
  try {
    const std::string other =
        difference(text.at("identity"), identity(options_, scene_, all_views_.size(), watched_.size()));
    if (!other.empty())
      throw Error(
          fmt::format("{}: the checkpoint is from {}; resume it with the scene and the options of that run",
                      path.string(), other));
    const std::string changed = changed_photo(text.at("photos"), fingerprints_, scene_);
    if (!changed.empty())
      throw Error(fmt::format(
          "{}: the checkpoint is from a run with {}; resume it with the scene of that run, or start again",
          path.string(), changed));
    const auto steps_up_to = [&](const char* key, int most) { return step_number(text.at(key), most); };
    const auto counter = [&](const char* key) {
      return whole_number(text.at(key), std::numeric_limits<std::uint64_t>::max());
    };
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
    state.order =
        read_order(text.at("order"), all_views_.size() - (state.has_all_views ? 0 : watched_.size()));
    state.position = static_cast<std::uint32_t>(whole_number(text.at("position"), state.order.size()));
    phase = static_cast<Phase>(step_number(text.at("phase"), kLastPhase));
    count = whole_number(text.at("gaussians"), kMostGaussians);
    sh_degree = step_number(text.at("sh_degree"), kMostShDegree);
    guard = guard_from_json(text.at("guard"), state.step);
    best_count = whole_number(text.at("best_gaussians"), kMostGaussians);
    best_sh_degree = step_number(text.at("best_sh_degree"), kMostShDegree);
    filter_count = whole_number(text.at("filter"), count);
    best_filter_count = whole_number(text.at("best_filter"), best_count);
  } catch (const json::exception&) {
    in.fail("the checkpoint is damaged and cannot be used");
  } catch (const Implausible&) {
    in.fail("the checkpoint holds numbers that no run writes and cannot be used");
  }
  if ((filter_count != 0 && filter_count != count) ||
      (best_filter_count != 0 && best_filter_count != best_count))
    in.fail("the checkpoint is damaged and cannot be used");
  std::vector<Gaussians> parts;
  for (int i = 0; i < 3; ++i) parts.push_back(read_gaussians(in, count, sh_degree));
  std::vector<Vec2f> statistics = in.array<Vec2f>(count);
  std::vector<float> filter = in.array<float>(filter_count);
  Gaussians best = read_gaussians(in, best_count, best_sh_degree);
  std::vector<float> best_filter = in.array<float>(best_filter_count);
  in.check_end(head.checksum);

  const std::size_t saved_count = count;
  if (const std::size_t most = options_.max_gaussians; most > 0) {
    if (count > most) {
      const std::vector<std::uint32_t> kept = most_important(parts[0], most, scene_, all_views_);
      for (Gaussians& part : parts) keep_rows(kept, part);
      keep_rows(kept, 1, statistics);
      keep_rows(kept, 1, filter);
      count = most;
    }
    if (best_count > most) {
      const std::vector<std::uint32_t> kept = most_important(best, most, scene_, all_views_);
      keep_rows(kept, best);
      keep_rows(kept, 1, best_filter);
      best_count = guard.best_count = most;
    }
  }

  const std::lock_guard lock(model_mutex_);
  // The arrays are replaced one by one, since the device may not have room for both states.
  const std::size_t needed = train_state_bytes(count, sh_degree);
  const std::size_t freed = train_state_bytes(device_.gaussians.size(), device_.gaussians.sh_degree);
  if (needed > freed) require_room(backend_, needed - freed);
  is_torn_ = true;
  replace(backend_, parts[0], device_.gaussians);
  replace(backend_, parts[1], device_.moments.first);
  replace(backend_, parts[2], device_.moments.second);
  device_.statistics.upload(backend_, statistics);
  device_.precomputed.filter_variance.upload(backend_, filter);
  best_ = {};
  best_filter_ = {};
  guard_.restore(guard);
  try {
    if (best_count > 0) {
      replace(backend_, best, best_);
      best_filter_.upload(backend_, best_filter);
    }
  } catch (const OutOfMemory&) {  // of a smaller device: the run can do without this copy
    release_best();
  }
  state_ = std::move(state);
  views_ = state_.has_all_views ? all_views_ : without(all_views_, watched_);
  phase_ = phase;
  dropped_count_ = saved_count - count;
  is_torn_ = false;
  report_ = {};
  report_.step = state_.step;
  report_.loss = number_or(text, "loss", 0);
  report_.psnr = static_cast<double>(number_or(text, "psnr", 0));
}

}  // namespace stipple
