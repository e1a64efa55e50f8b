// SPDX-License-Identifier: Apache-2.0
// Restores a checkpoint of a run on a tiny scene and trains on. The input is a whole file or, so that the
// text may change its length, a line with the text followed by the floats, both without the checksum at the
// end. That is added, and "photos":null becomes the fingerprints of the scene, since no input would have
// the right ones.
#include <cstring>
#include <optional>

#include "fuzz/fuzz_folder.h"
#include "stipple/scene/fingerprint.h"
#include "stipple/train/checkpoint_format.h"
#include "stipple/train/trainer.h"
#include "tests/helpers/sealed_checkpoint.h"
#include "tests/helpers/synth_scene.h"

namespace stipple {

namespace {

constexpr std::string_view kMagic(kCheckpointMagic, sizeof(kCheckpointMagic));

TrainOptions options() {
  TrainOptions o = default_train_options(Strategy::kMcmc);
  o.steps = 40;
  o.sh_degree = 1;
  o.max_gaussians = 20;
  o.render.antialiased = true;  // has a 3D filter
  return o;
}

// The fingerprints depend on how the photos were compressed, so that they cannot be in the corpus.
void put_fingerprints(const Scene& scene, CheckpointHead& head, std::string& body) {
  constexpr std::string_view kNone = R"("photos":null)";
  static const std::string known = R"("photos":)" + nlohmann::json(fingerprints(scene)).dump();
  const std::size_t at = body.find(kNone);
  if (at == std::string::npos) return;
  body.replace(at, kNone.size(), known);
  if (at < head.text_bytes) head.text_bytes += static_cast<std::uint32_t>(known.size() - kNone.size());
}

std::string checkpoint_from(std::string_view input, const Scene& scene) {
  CheckpointHead head{{}, kCheckpointVersion, 0};
  std::memcpy(head.magic, kCheckpointMagic, sizeof(kCheckpointMagic));
  std::string body;
  if (input.starts_with(kMagic)) {
    if (input.size() < sizeof(head)) return std::string(input);
    std::memcpy(&head, input.data(), sizeof(head));
    body = input.substr(sizeof(head));
  } else {
    head.text_bytes = static_cast<std::uint32_t>(std::min(input.find('\n'), input.size()));
    body = input.substr(0, head.text_bytes);
    if (head.text_bytes < input.size()) body += input.substr(head.text_bytes + 1);
  }
  put_fingerprints(scene, head, body);
  return sealed_checkpoint(head, body);
}

}  // namespace

}  // namespace stipple

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stipple;
  static const FuzzFolder folder;
  static const Scene scene =
      make_synth_scene(folder.path(), {.view_count = 8, .width_px = 12, .height_px = 8}, 5);
  static const auto backend = make_backend("cpu");
  const std::string file = checkpoint_from({reinterpret_cast<const char*>(data), size}, scene);
  const std::filesystem::path path =
      folder.write("checkpoint", reinterpret_cast<const std::uint8_t*>(file.data()), file.size());
  // A restore that fails leaves the trainer as it was; otherwise the next input gets a new one.
  static std::optional<Trainer> trainer;
  if (!trainer) trainer.emplace(*backend, scene, options());
  bool is_restored = false;
  expect_error_or_result([&] {
    trainer->restore(path);
    is_restored = true;
    if (!trainer->done()) trainer->step();
  });
  if (is_restored) trainer.reset();
  return 0;
}
