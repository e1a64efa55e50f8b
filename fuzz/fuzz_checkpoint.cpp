// SPDX-License-Identifier: Apache-2.0
// Restores a checkpoint of a run on a tiny scene and trains on. The input is a whole file or, so that the
// text may change its length, a line with the text followed by the floats. The checksum is replaced by the
// right one, and "photos":null by the fingerprints of the scene, since no input would get past them.
#include <zlib.h>

#include <cstring>

#include "fuzz/fuzz_folder.h"
#include "stipple/camera/pinhole_lens.h"
#include "stipple/io/image/image_file.h"
#include "stipple/scene/fingerprint.h"
#include "stipple/scene/formats/save_scene.h"
#include "stipple/synth/synth.h"
#include "stipple/train/trainer.h"

namespace stipple {

namespace {

constexpr std::size_t kVersionAt = 8, kTextBytesAt = 12, kChecksumAt = 16, kHeadBytes = 20;
constexpr std::string_view kMagic("STIPPLE\0", 8);
constexpr std::uint32_t kVersion = 5;

Scene make_scene(const std::filesystem::path& folder) {
  const SynthOptions options{.view_count = 8, .width_px = 12, .height_px = 8};
  std::filesystem::create_directories(folder / "images");
  std::vector<PosedImage> images;
  for (const SynthView& view : synth_cameras(options)) {
    const Photo photo = synth_render(view, options).photo;
    ByteImage image(photo.width_px, photo.height_px, 3);
    image.values = photo.rgb;
    save_png(image, folder / "images" / view.name);
    images.push_back({view.name, pinhole_lens(view.camera), view.camera.camera_from_world});
  }
  Points points = synth_points(options);
  points.position.resize(5);
  points.color.resize(5);
  save_transforms(images, points, folder);
  return load_scene(folder);
}

TrainOptions options() {
  TrainOptions o = default_train_options(Strategy::kMcmc);
  o.steps = 40;
  o.sh_degree = 1;
  o.max_gaussians = 20;
  o.render.antialiased = true;  // has a 3D filter
  return o;
}

void put(std::string& file, std::size_t at, std::uint32_t number) {
  std::memcpy(&file[at], &number, sizeof(number));
}

// The fingerprints depend on how the photos were compressed, so that they cannot be in the corpus.
void put_fingerprints(const Scene& scene, std::string& file) {
  constexpr std::string_view kNone = R"("photos":null)";
  const std::size_t at = file.find(kNone);
  if (file.size() < kHeadBytes || at == std::string::npos) return;
  std::string list;
  for (const std::uint32_t number : fingerprints(scene))
    list += (list.empty() ? "" : ",") + std::to_string(number);
  const std::string known = R"("photos":[)" + list + "]";
  file.replace(at, kNone.size(), known);
  std::uint32_t text_bytes = 0;
  std::memcpy(&text_bytes, &file[kTextBytesAt], sizeof(text_bytes));
  if (at < kHeadBytes + text_bytes)
    put(file, kTextBytesAt, text_bytes + static_cast<std::uint32_t>(known.size() - kNone.size()));
}

std::string checkpoint_from(std::string_view input, const Scene& scene) {
  std::string file(input);
  if (!input.starts_with(kMagic)) {
    const std::size_t line_bytes = std::min(input.find('\n'), input.size());
    file = std::string(kMagic) + std::string(kHeadBytes - kMagic.size(), '\0');
    file += input.substr(0, line_bytes);
    if (line_bytes < input.size()) file += input.substr(line_bytes + 1);
    put(file, kVersionAt, kVersion);
    put(file, kTextBytesAt, static_cast<std::uint32_t>(line_bytes));
  }
  if (file.size() < kHeadBytes) return file;
  put_fingerprints(scene, file);
  const auto* body = reinterpret_cast<const Bytef*>(file.data() + kHeadBytes);
  put(file, kChecksumAt, static_cast<std::uint32_t>(crc32_z(0, body, file.size() - kHeadBytes)));
  return file;
}

}  // namespace

}  // namespace stipple

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stipple;
  static const FuzzFolder folder;
  static const Scene scene = make_scene(folder.path());
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
