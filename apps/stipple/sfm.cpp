// SPDX-License-Identifier: Apache-2.0
// stipple sfm: makes a scene from photos or a video, with COLMAP.
#include <fmt/format.h>

#include <memory>

#include "apps/stipple/commands.h"
#include "apps/stipple/files/create_folder.h"
#include "apps/stipple/files/has_extension.h"
#include "apps/stipple/options/number_range.h"
#include "apps/stipple/programs/colmap_program.h"
#include "apps/stipple/programs/ffmpeg_arguments.h"
#include "apps/stipple/programs/video.h"
#include "apps/stipple/terminal/interrupt.h"
#include "apps/stipple/terminal/standard_files.h"
#include "stipple/core/error.h"
#include "stipple/scene/formats/colmap.h"

namespace stipple {

namespace {

namespace fs = std::filesystem;

struct SfmArguments {
  std::string input, output;
  bool camera_per_image = false;
  double frames_per_second = 2;
  ColmapOptions options;
};

bool is_video(const fs::path& path) {
  return fs::is_regular_file(path) && has_extension(path, {".mp4", ".mov", ".mkv", ".avi", ".webm"});
}

bool is_within(const fs::path& inner, const fs::path& outer) {
  const fs::path relative = fs::weakly_canonical(inner).lexically_relative(fs::weakly_canonical(outer));
  return !relative.empty() && *relative.begin() != "..";
}

void check_input(const fs::path& input) {
  if (!fs::exists(input)) throw Error(fmt::format("{}: no such file or folder", input.string()));
  if (!fs::is_directory(input) && !is_video(input))
    throw Error(fmt::format("{}: neither a folder of photos nor a video (.mp4, .mov, .mkv, .avi, .webm)",
                            input.string()));
}

void check_output(const fs::path& output, const fs::path& input) {
  for (const char* part : {"images", "sparse"})
    if (fs::exists(output / part))
      throw Error(fmt::format("{} already exists; give another folder with -o, or remove it",
                              (output / part).string()));
  if (fs::is_directory(input) && is_within(output, input))
    throw Error(fmt::format("{} is inside {}, the folder of the photos; give another folder with -o",
                            output.string(), input.string()));
}

// Removes the files of an earlier attempt, which would be mixed with the new ones.
fs::path prepare_work_folder(const fs::path& output) {
  const fs::path work = create_folder(output / "sfm");
  for (const char* name : {"database.db", "database.db-shm", "database.db-wal", "sparse", "undistorted"})
    fs::remove_all(work / name);
  return work;
}

fs::path find_ffmpeg_for(const std::string& video) {
  const fs::path program = find_ffmpeg();
  if (program.empty())
    throw Error(fmt::format(
        "ffmpeg is not installed, and {} is a video; install ffmpeg ({}), or give a folder of photos", video,
        kHowToInstallFfmpeg));
  return program;
}

fs::path extract_frames(const SfmArguments& a, const fs::path& ffmpeg, const fs::path& work,
                        StepRunner& runner) {
  const fs::path frames = work / "frames";
  fs::remove_all(frames);
  fs::create_directory(frames);
  runner.require({"extracting frames from the video", ffmpeg,
                  extraction_arguments(a.input, a.frames_per_second, frames)});
  return frames;
}

std::string with_commas(std::size_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

// The model is moved last, since the folder is not a scene without it.
void publish(const fs::path& result, const fs::path& output) {
  for (const char* part : {"images", "sparse"}) {
    std::error_code error;
    fs::rename(result / part, output / part, error);
    if (error) throw Error(fmt::format("cannot create {}: {}", (output / part).string(), error.message()));
  }
  std::error_code error;          // ignored: the scene is complete
  fs::remove_all(result, error);  // the rest is only for COLMAP's dense stereo
}

ColmapModel load_result(const fs::path& result) {
  ColmapModel model = load_colmap(result / "sparse" / "0");
  for (const ColmapImage& image : model.images)
    if (!fs::exists(result / "images" / image.name))
      throw Error(fmt::format("COLMAP did not undistort {}; remove this photo and try again", image.name));
  return model;
}

void run_sfm(SfmArguments a) {
  check_input(a.input);
  check_output(a.output, a.input);
  const fs::path colmap = find_colmap();
  const bool has_video = is_video(a.input);
  const fs::path ffmpeg = has_video ? find_ffmpeg_for(a.input) : fs::path();
  if (!has_video) photo_list(find_photos(a.input));  // throws Error before any folder is created

  const fs::path work = prepare_work_folder(a.output);
  StepRunner runner(work / "colmap.log");
  catch_interrupts();
  const PhotoFolder photos =
      find_photos(has_video ? extract_frames(a, ffmpeg, work, runner) : fs::path(a.input));
  a.options.sharing = a.camera_per_image ? CameraSharing::kNone : camera_sharing(photos);
  a.options.is_sequence |= has_video;
  const fs::path result = run_colmap(colmap, photos, a.options, work, runner);
  const ColmapModel model = load_result(result);
  publish(result, a.output);
  print("{}: {} of {} photos placed, {} points; next: stipple check {}\n", a.output, model.images.size(),
        photos.names.size(), with_commas(model.points.size()), a.output);
}

}  // namespace

void add_sfm(CLI::App& app) {
  auto a = std::make_shared<SfmArguments>();
  CLI::App* command = app.add_subcommand(
      "sfm", "Make a scene from photos or a video: find where they were taken, with COLMAP");
  command->add_option("photos", a->input, "folder of JPEGs and PNGs, or a video")->required();
  command->add_option("-o,--output", a->output, "folder for the scene")->required();
  command->add_option("--camera-model", a->options.camera_model, "COLMAP camera model")
      ->check(CLI::IsMember({"SIMPLE_PINHOLE", "PINHOLE", "SIMPLE_RADIAL", "RADIAL", "OPENCV", "FULL_OPENCV",
                             "SIMPLE_RADIAL_FISHEYE", "RADIAL_FISHEYE", "OPENCV_FISHEYE", "FOV",
                             "THIN_PRISM_FISHEYE"}))
      ->capture_default_str();
  command->add_flag(
      "--camera-per-image", a->camera_per_image,
      "give every photo its own camera, for different lenses or zooms; by default, photos of the same size "
      "share one");
  command->add_flag(
      "--sequential", a->options.is_sequence,
      "match photos only with those before and after them in name order; always on for a video");
  command->add_option("--fps", a->frames_per_second, "frames to extract per second of video")
      ->check(number_range(0.01, 240))
      ->capture_default_str();
  command->add_flag("--gpu", a->options.use_gpu, "let COLMAP use a GPU, if it was built for one");
  command->callback([a] { run_sfm(*a); });
}

}  // namespace stipple
