// SPDX-License-Identifier: Apache-2.0
// Builds the arguments that stipple sfm and stipple render give to ffmpeg and COLMAP, from any file names,
// and reads them as these programs and a shell do: every name must come out as the file that was meant.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "apps/stipple/programs/colmap_arguments.h"
#include "apps/stipple/programs/ffmpeg_arguments.h"
#include "apps/stipple/programs/shell_line.h"
#include "fuzz/fuzz_folder.h"
#include "fuzz/require.h"

namespace stipple {

namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

// The input up to the next zero byte, which no file name contains, or `otherwise` if that is nothing.
std::string take_text(std::string_view& input, const char* otherwise) {
  const std::string text(input.substr(0, input.find('\0')));
  input.remove_prefix(std::min(input.size(), text.size() + 1));
  return text.empty() ? otherwise : text;
}

double take_rate(std::string_view& input) {
  double rate = 0;
  std::memcpy(&rate, input.data(), std::min(input.size(), sizeof rate));
  input.remove_prefix(std::min(input.size(), sizeof rate));
  return rate >= 0.01 && rate <= 240 ? rate : 2;  // the limits of --fps
}

// What follows an option in a list of options and their values; fails unless it is there exactly once.
std::string value_of(const Words& words, const std::string& option) {
  require(std::count(words.begin(), words.end(), option) == 1);
  const auto found = std::find(words.begin(), words.end(), option);
  require(found + 1 != words.end());
  return found[1];
}

fs::path without_protocol(const std::string& text) {
  require(text.starts_with("file:"));
  return text.substr(5);
}

// As ffmpeg does for the first frame: "%%" is %, and "%04d" or "%05d", of which there must be one, is 1.
fs::path first_frame(const std::string& pattern) {
  std::string name;
  int number_count = 0;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      name += pattern[i];
    } else if (pattern.substr(i, 2) == "%%") {
      name += '%';
      ++i;
    } else {
      const std::string number = pattern.substr(i, 4);
      require(number == "%04d" || number == "%05d");
      name += number == "%04d" ? "0001" : "00001";
      number_count++;
      i += 3;
    }
  }
  require(number_count == 1);
  return without_protocol(name);
}

// As a shell does, for the characters that it leaves alone and for single quotes.
Words read_line(const std::string& line) {
  Words words = {""};
  bool is_quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\'') {
      is_quoted = !is_quoted;
    } else if (is_quoted) {
      words.back() += line[i];
    } else if (line[i] == ' ') {
      words.emplace_back();
    } else if (line[i] == '\\') {
      words.back() += line[++i];
    } else {
      require(std::string("\t\n|&;<>()$`\"*?[]#~!{}").find(line[i]) == std::string::npos);
      words.back() += line[i];
    }
  }
  require(!is_quoted);
  return words;
}

// As COLMAP does: one name per line, without the white space around it.
Words read_list(const std::string& list) {
  Words names;
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = list.find('\n', begin);
    require(end != std::string::npos);
    std::string name = list.substr(begin, end - begin);
    name.erase(0, name.find_first_not_of(" \t\v\f\r"));
    name.erase(name.find_last_not_of(" \t\v\f\r") + 1);
    if (!name.empty()) names.push_back(name);
    begin = end + 1;
  }
  return names;
}

// No name may change how many words there are or which of them are options.
void expect_same_form(const Words& words, const Words& example) {
  require(words.size() == example.size());
  for (std::size_t i = 0; i < words.size(); ++i)
    require(words[i].starts_with('-') == example[i].starts_with('-') &&
            (words[i].starts_with('-') ? words[i] == example[i] : !words[i].empty()));
}

void check_ffmpeg(const fs::path& video, const fs::path& folder, double rate) {
  const Words extraction = extraction_arguments(video, rate, folder);
  expect_same_form(extraction, extraction_arguments("video.mp4", rate, "frames"));
  require(without_protocol(value_of(extraction, "-i")) == fs::absolute(video));
  require(first_frame(extraction.back()) == fs::absolute(folder) / "00001.jpg");
  const std::string filter = value_of(extraction, "-vf");
  require(filter.starts_with("fps=") && filter.find_first_not_of("0123456789.e-", 4) == std::string::npos);

  const Words encoding = encoding_arguments(folder, rate, video);
  expect_same_form(encoding, encoding_arguments("frames", rate, "video.mp4"));
  require(first_frame(value_of(encoding, "-i")) == folder / "0001.png");
  require(without_protocol(encoding.back()) == video);
  require(read_line(shell_line(encoding)) == encoding);
}

void check_colmap(const PhotoFolder& photos, const fs::path& work, const ColmapOptions& options) {
  const ColmapArguments arguments(photos, options, work);
  const PhotoFolder plain_photos{"photos", photos.names};
  const ColmapArguments plain(plain_photos, options, "work");
  const std::string gpu = "--SiftExtraction.use_gpu";
  const fs::path folder = fs::absolute(photos.path), absolute_work = fs::absolute(work);
  for (const auto& [words, example] :
       {std::pair(arguments.extract(gpu), plain.extract(gpu)),
        std::pair(arguments.match(gpu), plain.match(gpu)), std::pair(arguments.map(), plain.map()),
        std::pair(arguments.undistort(arguments.models() / "0"), plain.undistort(plain.models() / "0"))}) {
    expect_same_form(words, example);
    require(words.size() % 2 == 1);  // the step, then options and values
  }
  require(value_of(arguments.extract(gpu), "--image_path") == folder);
  require(value_of(arguments.extract(gpu), "--image_list_path") == absolute_work / "photos.txt");
  require(value_of(arguments.map(), "--output_path") == absolute_work / "sparse");
  require(value_of(arguments.undistort(work / "sparse/1"), "--input_path") == absolute_work / "sparse/1");
  Words names;
  for (const fs::path& name : photos.names) names.push_back(name.generic_string());
  expect_error_or_result([&] { require(read_list(photo_list(photos)) == names); });
}

}  // namespace

}  // namespace stipple

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stipple;
  std::string_view input(reinterpret_cast<const char*>(data), size);
  const double rate = take_rate(input);
  const std::string video = take_text(input, "video.mp4"), output = take_text(input, "scene");
  ColmapOptions options;
  options.is_sequence = size % 2 == 0;
  options.sharing = size % 3 == 0 ? CameraSharing::kFolder : CameraSharing::kNone;
  PhotoFolder photos{video, {}};
  while (!input.empty()) photos.names.emplace_back(take_text(input, "1.png"));
  check_ffmpeg(video, output, rate);
  check_colmap(photos, output, options);
  return 0;
}
