// SPDX-License-Identifier: Apache-2.0
// stipple synth: writes the built-in test scene, a folder of photos with cameras and points.
#include "stipple/synth/synth.h"

#include <fmt/format.h>

#include <memory>

#include "apps/stipple/commands.h"
#include "apps/stipple/files/create_folder.h"
#include "apps/stipple/options/picture_size.h"
#include "apps/stipple/options/whole_number.h"
#include "apps/stipple/terminal/interrupt.h"
#include "apps/stipple/terminal/progress.h"
#include "stipple/core/error.h"
#include "stipple/io/image/image_file.h"
#include "stipple/io/npy.h"
#include "stipple/scene/formats/save_scene.h"

namespace stipple {

namespace {

namespace fs = std::filesystem;

struct SynthArguments {
  std::string output, size = "640x480", format = "colmap";
  bool depth = false;
  SynthOptions options;
};

Lens lens_of(const Camera& camera) {
  Lens lens;
  lens.model = "PINHOLE";
  lens.focal_px = {camera.focal_px.x, camera.focal_px.y};
  lens.center_px = {camera.center_px.x, camera.center_px.y};
  lens.width_px = camera.width_px;
  lens.height_px = camera.height_px;
  return lens;
}

void save_depth(const SynthPicture& picture, const fs::path& path) {
  Image depth(picture.photo.width_px, picture.photo.height_px, 1);
  depth.values = picture.depth;
  save_npy(depth, path);
}

void save_photo(const Photo& photo, const fs::path& path) {
  ByteImage image(photo.width_px, photo.height_px, 3);
  image.values = photo.rgb;
  save_png(image, path);
}

void save_cameras(const SynthArguments& a, const std::vector<SynthView>& views) {
  std::vector<PosedImage> images;
  for (const SynthView& v : views) images.push_back({v.name, lens_of(v.camera), v.camera.camera_from_world});
  const Points points = synth_points(a.options);
  if (a.format == "transforms") return save_transforms(images, points, a.output);
  const ColmapFormat format = a.format == "colmap" ? ColmapFormat::kBinary : ColmapFormat::kText;
  save_colmap(images, points, format, create_folder(fs::path(a.output) / "sparse" / "0"));
}

// Refuses a folder with files of another format that would be read instead of the new ones.
void check_output(const SynthArguments& a) {
  const fs::path other = fs::path(a.output) / (a.format == "transforms" ? "sparse" : "sparse/0/images.bin");
  std::error_code ignored;
  if (a.format != "colmap" && fs::exists(other, ignored))
    throw Error(
        fmt::format("{} already exists and would be read instead; give another folder with -o, or remove it",
                    other.string()));
}

void run_synth(SynthArguments a) {
  const PictureSize size = parse_size(a.size);
  a.options.width_px = size.width_px;
  a.options.height_px = size.height_px;
  check_output(a);
  const fs::path images = create_folder(fs::path(a.output) / "images");
  const fs::path depths = a.depth ? create_folder(fs::path(a.output) / "depth") : fs::path();
  const std::vector<SynthView> views = synth_cameras(a.options);
  catch_interrupts();
  Progress progress(static_cast<int>(views.size()));
  int done = 0;
  for (const SynthView& view : views) {
    if (interrupted())
      throw Error(fmt::format("interrupted after {} of {} views; the scene in {} is incomplete", done,
                              views.size(), a.output));
    const SynthPicture picture = synth_render(view.camera, a.options.seed);
    save_photo(picture.photo, images / view.name);
    if (a.depth) save_depth(picture, depths / fs::path(view.name).replace_extension(".npy"));
    progress.update(++done, "views");
  }
  save_cameras(a, views);
  progress.finish(done, "views");
  fmt::print("{}: {} views of {}x{}, seed {}\n", a.output, views.size(), a.options.width_px,
             a.options.height_px, a.options.seed);
}

}  // namespace

void add_synth(CLI::App& app) {
  auto a = std::make_shared<SynthArguments>();
  CLI::App* command =
      app.add_subcommand("synth", "Make the built-in test scene: ray-traced photos with cameras and points");
  command->add_option("-o,--output", a->output, "folder for the scene")->required();
  command->add_option("--views", a->options.view_count, "number of photos")
      ->check(whole_number(1, 100'000))
      ->capture_default_str();
  command->add_option("--size", a->size, "size of the photos, in pixels")->capture_default_str();
  command->add_option("--seed", a->options.seed, "seed of the cameras, textures and points")
      ->check(whole_number(0, INT64_MAX))
      ->capture_default_str();
  command->add_option("--format", a->format, "format of the cameras and points")
      ->check(CLI::IsMember({"colmap", "colmap-text", "transforms"}))
      ->capture_default_str();
  command->add_flag("--depth", a->depth, "also write the true depth of every pixel, as depth/*.npy");
  command->callback([a] { run_synth(*a); });
}

}  // namespace stipple
