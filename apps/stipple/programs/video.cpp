// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/programs/video.h"

#include <fmt/format.h>

#include <vector>

#include "apps/stipple/programs/ffmpeg_arguments.h"
#include "apps/stipple/programs/process.h"
#include "apps/stipple/programs/shell_line.h"
#include "apps/stipple/programs/step_output.h"
#include "apps/stipple/terminal/interrupt.h"
#include "stipple/core/error.h"

namespace stipple {

namespace fs = std::filesystem;

fs::path find_ffmpeg() { return find_program("ffmpeg"); }

void encode_video(const fs::path& ffmpeg, const fs::path& frames, double frames_per_second,
                  const fs::path& video) {
  std::vector<std::string> words = {"-nostdin", "-hide_banner", "-loglevel", "error", "-y"};
  for (std::string& word : encoding_arguments(fs::absolute(frames), frames_per_second, fs::absolute(video)))
    words.push_back(std::move(word));
  std::string message;
  const int status = run_program(ffmpeg, words, [&](const std::string& line) {
    if (std::string text = message_of(line); !text.empty()) message = std::move(text);
  });
  if (status == 0) return;  // even if there was an interrupt: the video is complete
  std::error_code error;
  fs::remove(video, error);
  if (interrupted()) throw Error("interrupted while ffmpeg made the video; no video was written");
  throw Error(fmt::format("ffmpeg failed to make the video ({}){}{}", describe_status(status),
                          message.empty() ? "" : ": ", message));
}

std::string video_command(const fs::path& frames, double frames_per_second, const fs::path& video) {
  std::vector<std::string> words = encoding_arguments(frames, frames_per_second, video);
  words.insert(words.begin(), "ffmpeg");
  return shell_line(words);
}

}  // namespace stipple
