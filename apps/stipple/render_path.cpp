// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/render_path.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <future>

#include "apps/stipple/commands.h"
#include "apps/stipple/files/create_folder.h"
#include "apps/stipple/files/has_extension.h"
#include "apps/stipple/files/temporary_folder.h"
#include "apps/stipple/options/number_range.h"
#include "apps/stipple/options/picture_size.h"
#include "apps/stipple/options/whole_number.h"
#include "apps/stipple/programs/video.h"
#include "apps/stipple/run/run_folder.h"
#include "apps/stipple/run/run_model.h"
#include "apps/stipple/terminal/interrupt.h"
#include "apps/stipple/terminal/progress.h"
#include "apps/stipple/terminal/standard_files.h"
#include "stipple/core/error.h"
#include "stipple/core/nearest_name.h"
#include "stipple/io/image/image_file.h"
#include "stipple/io/output_file.h"
#include "stipple/path/key_path.h"

namespace stipple {

namespace {

namespace fs = std::filesystem;

constexpr int kMaxFrameCount = 9999;  // file names have four digits
constexpr int kFrameCount = 240;      // of a path through a scene, by default
constexpr double kFramesPerSecond = 30;
const std::vector<std::string> kPaths = {"orbit", "interpolate", "cameras"};

Scene load_scene_of(const PathArguments& a, const fs::path& run_or_model) {
  const bool has_record = is_run(run_or_model);
  if (!has_record && a.scene.empty())
    throw Error(fmt::format(
        "{}: a path needs the cameras of the scene; name the scene with --scene, or give a run's folder",
        run_or_model.string()));
  RunRecord run = has_record ? load_run_record(run_or_model) : RunRecord();
  if (!a.scene.empty()) run.scene = a.scene;
  run.scene_options.random_point_count = 0;  // only cameras are needed
  return load_scene(run.scene, run.scene_options);
}

bool is_file(const std::string& path) { return has_extension(path, {".json"}); }

std::vector<PathFrame> sized(std::vector<PathFrame> frames, const std::string& text) {
  if (text.empty()) return frames;
  const PictureSize size = parse_size(text);
  if (size.width_px % 2 != 0 || size.height_px % 2 != 0)
    throw Error(fmt::format("--size must have even sides for a video, such as 1280x720, not '{}'", text));
  for (PathFrame& f : frames) f.camera = resized(f.camera, size.width_px, size.height_px);
  return frames;
}

PlannedPath plan_key_path(const PathArguments& a) {
  const KeyPath path = load_key_path(a.path);
  const double frames_per_second = a.frames_per_second.value_or(path.frames_per_second);
  const int frame_count = a.frame_count.value_or(frame_count_of(path, frames_per_second));
  if (frame_count > kMaxFrameCount)
    throw Error(
        fmt::format("{}: the path has {} frames, and there can be {}; give a smaller --fps, or --frames",
                    a.path, frame_count, kMaxFrameCount));
  return {sized(frames_along(path, frame_count), a.size), frames_per_second, true};
}

PlannedPath plan_scene_path(const PathArguments& a, const fs::path& run_or_model) {
  const Scene scene = load_scene_of(a, run_or_model);
  const int frame_count = a.frame_count.value_or(kFrameCount);
  std::vector<PathFrame> frames = a.path == "orbit"         ? orbit_path(scene, frame_count)
                                  : a.path == "interpolate" ? interpolated_path(scene, frame_count)
                                                            : photo_path(scene);
  return {sized(std::move(frames), a.size), a.frames_per_second.value_or(kFramesPerSecond),
          a.path != "cameras"};
}

bool is_video(const fs::path& output) { return output.extension() == ".mp4"; }

// Called before rendering, so that a mistake is reported at once.
void check_output(const PathArguments& a, const fs::path& output) {
  if (output.extension() == ".png" || output.extension() == ".npy")
    throw Error(
        fmt::format("{}: --path renders many images; give a folder or an .mp4 file", output.string()));
  if (!is_video(output)) {
    if (fs::exists(output) && !(fs::is_directory(output) && fs::is_empty(output)))
      throw Error(
          fmt::format("{} already exists, and old and new frames would be mixed; give another folder with "
                      "-o, or remove it",
                      output.string()));
    return;
  }
  OutputFile::check(output);
  if (a.path == "cameras")
    throw Error(fmt::format("{}: --path cameras makes no video; give a folder", output.string()));
  if (find_ffmpeg().empty())
    throw Error(
        fmt::format("ffmpeg is not installed, and {} is a video; install ffmpeg ({}), or give a folder",
                    output.string(), kHowToInstallFfmpeg));
}

// What is wrong with the value of --path; empty if nothing is.
std::string problem_of(const std::string& path) {
  if (is_file(path) || std::find(kPaths.begin(), kPaths.end(), path) != kPaths.end()) return {};
  const std::string nearest = nearest_name(path, kPaths);
  return fmt::format("'{}' is neither {} nor the name of a .json file{}", path, fmt::join(kPaths, ", "),
                     nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest));
}

// Each frame is compressed while the next one is rendered. Returns the number of frames, which is smaller
// after an interrupt.
int render_frames(const std::vector<PathFrame>& frames, const fs::path& folder, const RenderOptions& options,
                  ModelRenderer& renderer) {
  Progress progress(static_cast<int>(frames.size()));
  std::future<void> saved;
  int done = 0;
  for (const PathFrame& frame : frames) {
    if (interrupted()) break;
    Image image = renderer.render({frame.camera, options}).color;
    if (saved.valid()) saved.get();
    const fs::path file = folder / frame.name;
    create_folder(file.parent_path());
    saved = std::async(std::launch::async, [image = std::move(image), file] { save_png(image, file); });
    progress.update(++done, "frames");
  }
  if (saved.valid()) saved.get();
  progress.finish(done, "frames");
  return done;
}

void require_all(int done, std::size_t frame_count, const std::string& outcome) {
  if (static_cast<std::size_t>(done) < frame_count)
    throw Error(fmt::format("interrupted after {} of {} frames; {}", done, frame_count, outcome));
}

void render_video(const PlannedPath& path, const fs::path& video, const RenderOptions& options,
                  ModelRenderer& renderer) {
  const TemporaryFolder folder(video);
  const int done = render_frames(path.frames, folder.path(), options, renderer);
  require_all(done, path.frames.size(), "there is no video");
  const fs::path whole = folder.path() / "video.mp4";
  encode_video(find_ffmpeg(), folder.path(), path.frames_per_second, whole);
  std::error_code error;
  fs::rename(whole, video, error);
  if (error) throw Error(fmt::format("cannot write {}: {}", video.string(), error.message()));
  print("{}: {} frames\n", video.string(), path.frames.size());
}

void render_folder(const PlannedPath& path, const fs::path& folder, const RenderOptions& options,
                   ModelRenderer& renderer) {
  create_folder(folder);
  const int done = render_frames(path.frames, folder, options, renderer);
  require_all(done, path.frames.size(), fmt::format("they are in {}", folder.string()));
  print("{}: {} frames\n", folder.string(), path.frames.size());
  if (!path.is_video) return;
  const fs::path video = folder / "video.mp4", ffmpeg = find_ffmpeg();
  if (ffmpeg.empty()) {
    write_message(
        fmt::format("no video was made, because ffmpeg is not installed ({}); once it is, run: {}\n",
                    kHowToInstallFfmpeg, video_command(folder, path.frames_per_second, video)));
    return;
  }
  encode_video(ffmpeg, folder, path.frames_per_second, video);
  print("{}\n", video.string());
}

}  // namespace

CLI::Option* add_path_options(CLI::App& command, PathArguments& a) {
  CLI::Option* path =
      command
          .add_option(
              "--path", a.path,
              "render along a path: around the centre of the scene (orbit), through the training cameras "
              "(interpolate), or one frame per photo (cameras); or along the key frames of a .json file, "
              "which the viewer's path editor writes")
          ->type_name(fmt::format("TEXT:{{{}}}", fmt::join(kPaths, ",")))
          ->check([](const std::string& text) { return problem_of(text); });
  command.add_option("--scene", a.scene, "folder of the scene; by default, the scene of the run");
  command
      .add_option(
          "--frames", a.frame_count,
          "number of frames of an orbit or interpolate path; of a path in a file, by default its duration "
          "times --fps")
      ->check(whole_number(1, kMaxFrameCount))
      ->default_str(fmt::format("{}", kFrameCount));
  command
      .add_option("--fps", a.frames_per_second,
                  "frames per second of the video; of a path in a file, by default what it says")
      ->check(number_range(0.1, 240))
      ->default_str(fmt::format("{}", kFramesPerSecond));
  command.add_option("--size", a.size,
                     "size of the frames, such as 1280x720; by default, that of the cameras");
  return path;
}

PlannedPath plan_path(const PathArguments& a, const fs::path& run_or_model, const fs::path& output) {
  check_output(a, output);
  return is_file(a.path) ? plan_key_path(a) : plan_scene_path(a, run_or_model);
}

void render_path(const PlannedPath& path, const fs::path& output, const RenderOptions& options,
                 ModelRenderer& renderer) {
  catch_interrupts();
  if (is_video(output))
    render_video(path, output, options, renderer);
  else
    render_folder(path, output, options, renderer);
}

}  // namespace stipple
