// SPDX-License-Identifier: Apache-2.0
// stipple synth: writes a built-in test scene, a folder of photos with cameras and points: the still life, or
// a city of any size.
#include "stipple/synth/synth.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>

#include "apps/stipple/commands.h"
#include "apps/stipple/files/create_folder.h"
#include "apps/stipple/options/picture_size.h"
#include "apps/stipple/options/whole_number.h"
#include "apps/stipple/terminal/interrupt.h"
#include "apps/stipple/terminal/progress.h"
#include "apps/stipple/terminal/standard_files.h"
#include "stipple/camera/pinhole_lens.h"
#include "stipple/core/error.h"
#include "stipple/io/image/image_file.h"
#include "stipple/io/npy.h"
#include "stipple/scene/formats/save_scene.h"
#include "stipple/synth/city/city.h"

namespace stipple {

namespace {

namespace fs = std::filesystem;

struct SynthArguments {
  std::string output, size = "640x480", format = "colmap";
  bool depth = false, is_city = false;
  int block_count = 0;  // of the city; 0 means choose
  SynthOptions options;
};

// What is photographed. Points are made when they are written.
struct Subject {
  std::vector<SynthView> views;
  std::function<SynthPicture(const SynthView&)> render;
  std::function<PointStream()> points;
  std::string description;  // for users
};

Subject still_life(const SynthOptions& options) {
  const auto points = [options] {
    const auto all = std::make_shared<const Points>(synth_points(options));
    return PointStream(all->size(),
                       [all](std::size_t begin, std::size_t end) { return part_of(*all, begin, end); });
  };
  return {synth_cameras(options), [options](const SynthView& view) { return synth_render(view, options); },
          points, ""};
}

Subject city_of(const SynthArguments& a) {
  const auto city = std::make_shared<const City>(CityOptions{a.options, a.block_count});
  const auto points = [city, output = a.output] {
    return PointStream(city->point_count(), [city, output](std::size_t begin, std::size_t end) {
      if (interrupted())
        throw Error(fmt::format("interrupted after {} of {} points; the scene in {} is incomplete", begin,
                                city->point_count(), output));
      return city->points(begin, end);
    });
  };
  return {city->cameras(), [city](const SynthView& view) { return city->render(view); }, points,
          fmt::format(" of a city of {0} x {0} blocks", city->block_count())};
}

void save_depth(const SynthPicture& picture, const fs::path& path) {
  Image depth(picture.photo.width_px, picture.photo.height_px, 1);
  depth.values = picture.depth;
  save_npy(depth, path);
}

ByteImage image_of(const SynthPicture& picture) {
  const Photo& photo = picture.photo;
  const std::size_t channels = picture.alpha.empty() ? 3 : 4;
  ByteImage image(photo.width_px, photo.height_px, static_cast<int>(channels));
  for (std::size_t i = 0; i < photo.pixel_count(); ++i) {
    std::copy_n(&photo.rgb[3 * i], 3, &image.values[channels * i]);
    if (channels == 4) image.values[4 * i + 3] = picture.alpha[i];
  }
  return image;
}

void save_cameras(const SynthArguments& a, const Subject& subject) {
  std::vector<PosedImage> images;
  for (const SynthView& v : subject.views)
    images.push_back({v.name, pinhole_lens(v.written_camera), v.written_camera.camera_from_world});
  const SceneWriter& writer = scene_writer(a.format);
  const PointStream points = subject.points();
  if (writer.save_stream)
    writer.save_stream(images, points, a.output);
  else
    writer.save(images, points.range(0, points.count), a.output);
}

// Refuses a folder with files of another format that would be read instead of the new ones.
void check_output(const SynthArguments& a) {
  const fs::path other = scene_read_instead(a.format, a.output);
  if (!other.empty())
    throw Error(
        fmt::format("{} already exists and would be read instead; give another folder with -o, or remove it",
                    other.string()));
}

void run_synth(SynthArguments a) {
  const PictureSize size = parse_size(a.size);
  a.options.width_px = size.width_px;
  a.options.height_px = size.height_px;
  check_output(a);
  const Subject subject = a.is_city ? city_of(a) : still_life(a.options);
  const std::vector<SynthView>& views = subject.views;
  const fs::path images = create_folder(fs::path(a.output) / scene_writer(a.format).image_folder);
  const fs::path depths = a.depth ? create_folder(fs::path(a.output) / "depth") : fs::path();
  catch_interrupts();
  Progress progress(static_cast<int>(views.size()));
  int done = 0;
  for (const SynthView& view : views) {
    if (interrupted())
      throw Error(fmt::format("interrupted after {} of {} views; the scene in {} is incomplete", done,
                              views.size(), a.output));
    const SynthPicture picture = subject.render(view);
    save_png(image_of(picture), images / view.name);
    if (a.depth) save_depth(picture, depths / fs::path(view.name).replace_extension(".npy"));
    progress.update(++done, "views");
  }
  save_cameras(a, subject);
  progress.finish(done, "views");
  print("{}: {} views of {}x{}{}, seed {}\n", a.output, views.size(), a.options.width_px, a.options.height_px,
        subject.description, a.options.seed);
}

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const SceneWriter& writer : scene_writers()) names.emplace_back(writer.name);
  return names;
}

// Options that spoil the scene in known ways. The same seed without them gives the truth.
void add_fault_flags(CLI::App& command, SynthOptions& options) {
  constexpr const char* kGroup =
      "Faults, as real captures have them (the same seed without them gives the truth)";
  const auto add_number = [&](const char* flag, float& value, const char* unit, const char* help) {
    command.add_option(flag, value, help)->type_name(unit)->group(kGroup);
  };
  add_number("--pose-noise", options.pose_noise_degrees, "DEGREES",
             "write cameras that are turned by an angle of this standard deviation, and moved by the tangent "
             "of such an angle times the distance to the middle of the scene; the points stay true");
  add_number("--focal-noise", options.focal_noise, "FRACTION",
             "write a focal length for each photo that is wrong by this fraction (standard deviation)");
  add_number("--blur", options.blur_px, "PIXELS",
             "blur two thirds of the photos by straight motion of the camera, each in another direction and "
             "with another standard deviation up to this one; a third stays sharp");
  add_number("--exposure", options.exposure_stops, "STOPS",
             "multiply the light of each photo by 2^e, where e has this standard deviation; what becomes "
             "brighter than white is clipped");
  command
      .add_option("--passers-by", options.passer_by_count,
                  "number of photos that show a figure in front of the still life, each another one")
      ->type_name("NUMBER")
      ->group(kGroup);
  CLI::Option* black =
      command.add_flag("--black-points", options.black_points, "write black points")->group(kGroup);
  command.add_flag("--no-points", options.no_points, "write no points")->group(kGroup)->excludes(black);
}

// Options of the still life are errors with the city, and the other way round.
void add_city_flags(CLI::App& command, SynthArguments& a) {
  CLI::Option* city =
      command.add_flag("--city", a.is_city,
                       "a city from the air and from its streets, of any size, instead of the still life");
  for (const char* flag : {"--transparent", "--pose-noise", "--passers-by"})
    city->excludes(command.get_option(flag));
  command
      .add_option("--blocks", a.block_count,
                  "blocks along each side of the city; without it, 1 block for about 4 photos")
      ->check(whole_number(1, 256))
      ->needs(city);
}

}  // namespace

void add_synth(CLI::App& app) {
  auto a = std::make_shared<SynthArguments>();
  CLI::App* command =
      app.add_subcommand("synth", "Make a built-in test scene: ray-traced photos with cameras and points");
  command->add_option("-o,--output", a->output, "folder for the scene")->required();
  command->add_option("--views", a->options.view_count, "number of photos")
      ->check(whole_number(1, 100'000))
      ->capture_default_str();
  command->add_option("--size", a->size, "size of the photos, in pixels")->capture_default_str();
  command->add_option("--seed", a->options.seed, "seed of the cameras, textures, points and faults")
      ->check(whole_number(0, INT64_MAX))
      ->capture_default_str();
  command->add_option("--format", a->format, "format of the cameras and points")
      ->check(CLI::IsMember(format_names()))
      ->capture_default_str();
  command->add_flag("--depth", a->depth, "also write the true depth of every pixel, as depth/*.npy");
  command->add_flag("--transparent", a->options.transparent,
                    "show the objects alone, with alpha 0 where the ground and the sky would be");
  add_fault_flags(*command, a->options);
  add_city_flags(*command, *a);
  command->callback([a] { run_synth(*a); });
}

}  // namespace stipple
