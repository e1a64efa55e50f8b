// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/programs/video.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "apps/stipple/programs/process.h"
#include "apps/stipple/terminal/interrupt.h"
#include "stipple/core/error.h"

namespace stipple {

namespace {

namespace fs = std::filesystem;

// ffmpeg replaces % in names with a number, unless it is doubled.
std::string frame_pattern(const fs::path& frames) {
  std::string folder;
  for (const char c : frames.string()) folder += c == '%' ? "%%" : std::string(1, c);
  return (fs::path(folder) / "%04d.png").string();
}

std::vector<std::string> arguments(const fs::path& frames, double frames_per_second, const fs::path& video) {
  return {"-framerate",  fmt::format("{}", frames_per_second),
          "-i",          frame_pattern(frames),
          "-c:v",        "libx264",
          "-crf",        "18",
          "-pix_fmt",    "yuv420p",
          "-movflags",   "+faststart",
          video.string()};
}

}  // namespace

fs::path find_ffmpeg() { return find_program("ffmpeg"); }

void encode_video(const fs::path& ffmpeg, const fs::path& frames, double frames_per_second,
                  const fs::path& video) {
  std::vector<std::string> all = {"-nostdin", "-hide_banner", "-loglevel", "error", "-y"};
  // With absolute paths, no name is mistaken for an option or a protocol.
  for (std::string& a : arguments(fs::absolute(frames), frames_per_second, fs::absolute(video)))
    all.push_back(std::move(a));
  std::string message;
  const int status = run_program(ffmpeg, all, [&](const std::string& line) {
    if (!line.empty()) message = line;
  });
  if (status == 0 && !interrupted()) return;
  std::error_code error;
  fs::remove(video, error);
  if (interrupted()) throw Error("interrupted while ffmpeg made the video; no video was written");
  throw Error(fmt::format("ffmpeg failed to make the video (exit status {}){}{}", status,
                          message.empty() ? "" : ": ", message));
}

std::string video_command(const fs::path& frames, double frames_per_second, const fs::path& video) {
  return fmt::format("ffmpeg {}", fmt::join(arguments(frames, frames_per_second, video), " "));
}

}  // namespace stipple
