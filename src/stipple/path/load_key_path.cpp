// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "stipple/io/camera_json.h"
#include "stipple/io/json_fields.h"
#include "stipple/path/key_path.h"

namespace stipple {

namespace {

constexpr std::uint64_t kMaxFileBytes = std::uint64_t{16} << 20;  // of some 40,000 key frames
constexpr double kLongestS = 86'400;
constexpr double kFewestPerSecond = 0.1, kMostPerSecond = 240;  // frames, as for --fps

// How long a closed path takes if the file does not say it: the way back takes the mean time between key
// frames, or a second.
double closed_duration(const std::vector<KeyFrame>& keyframes) {
  if (keyframes.size() == 1) return 1;
  const double count = static_cast<double>(keyframes.size());
  return (keyframes.back().time_s - keyframes.front().time_s) * count / (count - 1);
}

std::vector<KeyFrame> read_keyframes(const JsonFields& fields) {
  std::vector<KeyFrame> keyframes;
  const std::size_t count = fields.list("keyframes").size();
  for (std::size_t i = 0; i < count; ++i) {
    const JsonFields keyframe = fields.object("keyframes", i);
    const double time_s = keyframe.number("time", -kLongestS, kLongestS);
    if (i > 0 && time_s < keyframes.back().time_s + kLeastKeyDistanceS)
      keyframe.fail("time", fmt::format("must be at least {} seconds after that of the key frame before",
                                        kLeastKeyDistanceS));
    keyframes.push_back({time_s, camera_from(keyframe.object("camera"))});
  }
  return keyframes;
}

}  // namespace

KeyPath load_key_path(const std::filesystem::path& path) {
  const NamedJson file = load_own_json(path, kMaxFileBytes, "a camera path");
  const JsonFields fields(file.value, file.file_name);
  fields.whole_number("stipple_path", 1, 1);
  KeyPath result;
  if (fields.has("fps")) result.frames_per_second = fields.number("fps", kFewestPerSecond, kMostPerSecond);
  if (fields.has("closed")) result.is_closed = fields.flag("closed");
  result.keyframes = read_keyframes(fields);
  const double last_s = result.keyframes.back().time_s - result.keyframes.front().time_s;
  if (!result.is_closed)
    result.duration_s = last_s;
  else if (fields.has("duration"))
    result.duration_s = fields.number("duration", last_s + kLeastKeyDistanceS, 3 * kLongestS);
  else
    result.duration_s = closed_duration(result.keyframes);
  return result;
}

}  // namespace stipple
