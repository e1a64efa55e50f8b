// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/programs/ffmpeg_arguments.h"

#include <fmt/format.h>

namespace stipple {

namespace {

namespace fs = std::filesystem;

// The containers of .mp4, .mov, .mkv, .webm and .avi, as ffmpeg calls them. ffmpeg recognises a file by its
// content, and some of the many formats that it knows are lists of other files to open.
constexpr const char* kContainers = "mov,matroska,avi";

std::string file(const fs::path& path) { return "file:" + path.string(); }

std::string frame_pattern(const fs::path& folder, const char* name) {
  std::string escaped;
  for (const char c : folder.string()) escaped += c == '%' ? "%%" : std::string(1, c);
  return file(fs::path(escaped) / name);
}

}  // namespace

std::vector<std::string> extraction_arguments(const fs::path& video, double frames_per_second,
                                              const fs::path& frames) {
  return {"-nostdin",
          "-hide_banner",
          "-protocol_whitelist",
          "file",
          "-format_whitelist",
          kContainers,
          "-i",
          file(fs::absolute(video)),
          "-vf",
          fmt::format("fps={}", frames_per_second),
          "-qscale:v",
          "2",
          "-f",
          "image2",
          frame_pattern(fs::absolute(frames), "%05d.jpg")};
}

std::vector<std::string> encoding_arguments(const fs::path& frames, double frames_per_second,
                                            const fs::path& video) {
  return {"-f",         "image2",
          "-framerate", fmt::format("{}", frames_per_second),
          "-i",         frame_pattern(frames, "%04d.png"),
          "-c:v",       "libx264",
          "-crf",       "18",
          "-pix_fmt",   "yuv420p",
          "-movflags",  "+faststart",
          file(video)};
}

}  // namespace stipple
