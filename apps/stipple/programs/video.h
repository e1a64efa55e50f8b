// SPDX-License-Identifier: Apache-2.0
#pragma once
// Videos, made by ffmpeg where it is installed.
#include <filesystem>
#include <string>

namespace stipple {

std::filesystem::path find_ffmpeg();  // empty: it is not installed
inline constexpr const char* kHowToInstallFfmpeg =
    "Debian, Ubuntu: sudo apt install ffmpeg; macOS: brew install ffmpeg";

// Makes an .mp4 that plays everywhere (H.264, 4:2:0) of a folder's 0001.png, 0002.png, ..., which have even
// sides. An Error, also after an interrupt, leaves no video.
void encode_video(const std::filesystem::path& ffmpeg, const std::filesystem::path& frames,
                  double frames_per_second, const std::filesystem::path& video);

// What to type for the same.
std::string video_command(const std::filesystem::path& frames, double frames_per_second,
                          const std::filesystem::path& video);

}  // namespace stipple
