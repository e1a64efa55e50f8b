// SPDX-License-Identifier: Apache-2.0
#pragma once
// Makes videos with ffmpeg, if it is installed.
#include <filesystem>
#include <string>

namespace stipple {

std::filesystem::path find_ffmpeg();  // empty if it is not installed
inline constexpr const char* kHowToInstallFfmpeg =
    "Debian, Ubuntu: sudo apt install ffmpeg; macOS: brew install ffmpeg";

// Makes an .mp4 that plays everywhere (H.264, 4:2:0) from the files 0001.png, 0002.png, ... in a folder.
// Their sides must be even. If this throws Error, on a failure or an interrupt, no video is left.
void encode_video(const std::filesystem::path& ffmpeg, const std::filesystem::path& frames,
                  double frames_per_second, const std::filesystem::path& video);

// The shell command that does the same.
std::string video_command(const std::filesystem::path& frames, double frames_per_second,
                          const std::filesystem::path& video);

}  // namespace stipple
