// SPDX-License-Identifier: Apache-2.0
#pragma once
// The arguments of ffmpeg. Each file is given as "file:" followed by its name, so that ffmpeg takes no name
// for an option, a protocol or a list of files, and % is doubled where ffmpeg would replace it with a number.
#include <filesystem>
#include <string>
#include <vector>

namespace stipple {

// Writes frames of the video as 00001.jpg, 00002.jpg, ... to a folder. Both paths are made absolute. ffmpeg
// opens no other file, and nothing on the network, even if the "video" is a playlist that asks for it.
std::vector<std::string> extraction_arguments(const std::filesystem::path& video, double frames_per_second,
                                              const std::filesystem::path& frames);

// Makes a video of the files 0001.png, 0002.png, ... in a folder. Relative paths are kept.
std::vector<std::string> encoding_arguments(const std::filesystem::path& frames, double frames_per_second,
                                            const std::filesystem::path& video);

}  // namespace stipple
