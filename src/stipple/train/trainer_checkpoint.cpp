// SPDX-License-Identifier: Apache-2.0
// A trainer's state as a file:
//
//   8 bytes   "STIPPLE" and a byte 0
//   u32       version
//   u32       length of the text, u32 checksum of everything after this field
//   text      JSON: counters, view order, sizes, and the options that must agree
//   floats    mean, log_scale, rotation, logit_opacity, sh of the Gaussians, then of both moments; the
//   statistics
//
// Little-endian; the checksum is zlib's CRC-32.
#include <fmt/format.h>
#include <zlib.h>

#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>

#include "stipple/core/error.h"
#include "stipple/io/input_file.h"
#include "stipple/io/output_file.h"
#include "stipple/train/density/gather_in_place.h"
#include "stipple/train/trainer.h"

namespace stipple {

namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "numbers are written as they lie in memory");
constexpr char kMagic[8] = "STIPPLE";
constexpr std::uint32_t kVersion = 2;

struct FileHead {
  char magic[8];
  std::uint32_t version, text_bytes, checksum;
};
static_assert(sizeof(FileHead) == 20);

std::uint32_t checksum(std::uint32_t so_far, std::span<const std::byte> bytes) {
  return static_cast<std::uint32_t>(
      crc32_z(so_far, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

// What a checkpoint must agree with to go on with the same bits.
json identity(const TrainOptions& o, const Scene& scene, std::size_t view_count) {
  return {{"steps", o.steps},
          {"seed", o.seed},
          {"batch", o.batch},
          {"strategy", o.strategy == Strategy::kAdc ? "adc" : "mcmc"},
          {"sh_degree", o.sh_degree},
          {"views", view_count},
          {"first_view", scene.views[0].name},
          {"width", scene.views[0].camera.width_px},
          {"height", scene.views[0].camera.height_px}};
}

// A loss that is no number is saved as null.
float number_or(const json& object, const char* key, float otherwise) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<float>() : otherwise;
}

// The difference between two identities, for a message; empty when there is none.
std::string difference(json saved, const json& mine) {
  if (!saved.contains("batch")) saved["batch"] = 1;  // older ones were of one view a step
  for (const auto& [key, value] : mine.items())
    if (!saved.contains(key) || saved[key] != value)
      return fmt::format("{} {}, not {}", key, saved.contains(key) ? saved[key].dump() : "nothing",
                         value.dump());
  return "";
}

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

// Reads the file's parts, each with the same complaint when it is short.
class StateReader {
 public:
  explicit StateReader(const std::filesystem::path& path) : file_(path) {}

  [[noreturn]] void fail(const std::string& why) const {
    throw Error(fmt::format("{}: {}", file_.name(), why));
  }

  std::span<const std::byte> take(std::size_t count) {
    const std::span<const std::byte> bytes = file_.take(count);
    if (bytes.size() < count) fail("the checkpoint ends early; it cannot be resumed from");
    checksum_ = checksum(checksum_, bytes);
    return bytes;
  }

  FileHead head() {
    FileHead head{};
    const std::span<const std::byte> bytes = file_.take(sizeof(FileHead));
    if (bytes.size() >= sizeof(kMagic)) std::memcpy(&head, bytes.data(), bytes.size());
    if (std::memcmp(head.magic, kMagic, sizeof(kMagic)) != 0) fail("this is no checkpoint of Stipple");
    if (bytes.size() < sizeof(FileHead)) fail("the checkpoint ends early; it cannot be resumed from");
    if (head.version > kVersion)
      fail(fmt::format("the checkpoint has version {}, this program knows {}; use the newer program",
                       head.version, kVersion));
    if (head.version < kVersion)
      fail(fmt::format("the checkpoint has version {}, which is not known", head.version));
    return head;
  }

  template <class T>
  std::vector<T> array(std::size_t count) {
    if (count > file_.remaining_bytes() / sizeof(T))
      fail("the checkpoint ends early; it cannot be resumed from");
    std::vector<T> values(count);
    const std::span<const std::byte> bytes = take(count * sizeof(T));
    if (count > 0) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

  void check_end(std::uint32_t expected) const {
    if (file_.remaining_bytes() > 0) fail("there is more in the checkpoint than there should be");
    if (checksum_ != expected)
      fail("the checkpoint is damaged (its checksum is wrong); it cannot be resumed from");
  }

 private:
  InputFile file_;
  std::uint32_t checksum_ = 0;
};

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

void Trainer::save(const std::filesystem::path& path) const {
  json text = {{"identity", identity(options_, scene_, views_.size())},
               {"step", state_.step},
               {"finished_step", state_.finished_step},
               {"is_unfinished", is_unfinished_},
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

  // Everything twice: for the checksum, which comes first in the file, and then to the file.
  const auto for_each_piece = [&](auto&& f) {
    f(std::as_bytes(std::span(dumped)));
    for (const Gaussians& part : parts) for_each_parameter([&](int, const auto& a) { f(bytes_of(a)); }, part);
    f(bytes_of(statistics));
  };
  FileHead head{{}, kVersion, static_cast<std::uint32_t>(dumped.size()), 0};
  std::memcpy(head.magic, kMagic, sizeof(kMagic));
  for_each_piece([&](std::span<const std::byte> bytes) { head.checksum = checksum(head.checksum, bytes); });
  OutputFile file(path);
  file.write(std::as_bytes(std::span(&head, 1)));
  for_each_piece([&](std::span<const std::byte> bytes) { file.write(bytes); });
  file.commit();
}

void Trainer::restore(const std::filesystem::path& path) {
  StateReader in(path);
  const FileHead head = in.head();
  const std::span<const std::byte> bytes = in.take(head.text_bytes);
  const char* begin = reinterpret_cast<const char*>(bytes.data());
  const json text = json::parse(begin, begin + bytes.size(), nullptr, false);
  if (!text.is_object()) in.fail("the checkpoint is damaged; it cannot be resumed from");
  State state;
  std::size_t count = 0;
  int sh_degree = 0;
  bool is_unfinished = false;
  try {
    const std::string other = difference(text.at("identity"), identity(options_, scene_, views_.size()));
    if (!other.empty())
      in.fail(fmt::format(
          "the checkpoint is of another run: it has {}; start without --resume, or with its options", other));
    state = {text.at("step"),
             text.at("adam_step"),
             text.at("skipped"),
             text.at("skipped_in_a_row"),
             text.at("finished_step"),
             text.at("view_counter"),
             text.at("density_counter"),
             text.at("background_counter"),
             text.at("order").get<std::vector<std::uint32_t>>(),
             text.at("position")};
    is_unfinished = text.value("is_unfinished", false);  // older ones took such a step up without it
    count = text.at("gaussians");
    sh_degree = text.at("sh_degree");
  } catch (const json::exception&) {
    in.fail("the checkpoint is damaged; it cannot be resumed from");
  }
  if (sh_degree < 0 || sh_degree > 3 || state.order.size() != views_.size() ||
      state.position > state.order.size())
    in.fail("the checkpoint is damaged; it cannot be resumed from");
  std::vector<Gaussians> parts;
  for (int i = 0; i < 3; ++i) parts.push_back(read_gaussians(in, count, sh_degree));
  const std::vector<Vec2f> statistics = in.array<Vec2f>(count);
  in.check_end(head.checksum);

  const std::lock_guard lock(model_mutex_);
  // In the place of what there is: both together may be too much for a device.
  const std::size_t needed = train_state_bytes(count, sh_degree);
  const std::size_t freed = train_state_bytes(device_.gaussians.size(), device_.gaussians.sh_degree);
  if (needed > freed) require_room(backend_, needed - freed);
  replace(backend_, parts[0], device_.gaussians);
  replace(backend_, parts[1], device_.moments.first);
  replace(backend_, parts[2], device_.moments.second);
  device_.statistics.upload(backend_, statistics);
  state_ = std::move(state);
  is_unfinished_ = is_unfinished;
  report_ = {};
  report_.step = state_.step;
  report_.loss = number_or(text, "loss", 0);
  report_.psnr = static_cast<double>(number_or(text, "psnr", 0));
}

}  // namespace stipple
