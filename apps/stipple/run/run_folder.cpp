// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/run/run_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "apps/stipple/run/options_json.h"
#include "stipple/core/error.h"
#include "stipple/io/input_file.h"
#include "stipple/io/json.h"

namespace stipple {

namespace fs = std::filesystem;

namespace {

using nlohmann::json;

// Null unless the text is exactly one JSON object.
json parse_object(std::string_view text) {
  json parsed = parse_json(text);
  return parsed.is_object() ? parsed : json();
}

json load_object(const fs::path& path) {
  json object = parse_object(read_text(path));
  if (object.is_null())
    throw Error(
        fmt::format("{}: the file is truncated or malformed; train again to replace it", path.string()));
  return object;
}

// A value of the wrong type counts as missing, since the file may be from another version.
template <class T>
T value_or(const json& object, const char* field, T otherwise) {
  const auto found = object.find(field);
  if (found == object.end()) return otherwise;
  try {
    return found->get<T>();
  } catch (const json::exception&) {
    return otherwise;
  }
}

json object_in(const json& object, const char* field) { return value_or(object, field, json::object()); }

// Values that cannot be a count become kUnknown, so that all others can be converted to an integer.
double count_in(const json& object, const char* field) {
  const double value = value_or(object, field, kUnknown);
  return 0 <= value && value < 1e15 ? value : kUnknown;
}

RunPoint point_of(const json& object) {
  RunPoint point;
  point.step = count_in(object, "step");
  point.seconds = value_or(object, "seconds", kUnknown);
  point.gaussians = count_in(object, "gaussians");
  point.psnr = value_or(object, "psnr", kUnknown);
  point.ssim = value_or(object, "ssim", kUnknown);
  return point;
}

}  // namespace

void check_run_folder(const fs::path& folder) {
  if (!fs::is_directory(folder))
    throw Error(
        fmt::format("{}: no such folder; name the folder of a run of stipple train", folder.string()));
}

bool has_run_record(const fs::path& folder) { return fs::exists(folder / "options.json"); }

RunRecord load_run_record(const fs::path& folder) {
  const fs::path file = folder / "options.json";
  if (!fs::exists(file))
    throw Error(fmt::format(
        "{}: there is no such file; name the folder of a run of stipple train, or a model", file.string()));
  const json object = load_object(file);
  const json train = object_in(object, "train");
  RunRecord record;
  record.scene = bytes_from_utf8(value_or(object, "scene", std::string()));
  if (record.scene.empty())
    throw Error(fmt::format("{}: the file does not name a scene; it was not written by stipple train",
                            file.string()));
  scene_options_from_json(object_in(object, "scene_options"), file.string(), record.scene_options);
  render_options_from_json(train, file.string(), record.render);
  record.held_out_tests = value_or(train, "eval", false);
  return record;
}

RunLog load_run_log(const fs::path& folder) {
  RunLog log;
  const fs::path file = folder / "log.jsonl";
  if (!fs::exists(file)) return log;
  const std::string text = read_text(file);
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (line.empty()) continue;
    const RunPoint point = point_of(parse_object(line));
    if (std::isnan(point.step))
      ++log.bad_line_count;
    else
      log.points.push_back(point);
  }
  return log;
}

RunMetrics load_run_metrics(const fs::path& folder) {
  RunMetrics metrics;
  const fs::path file = folder / "metrics.json";
  if (!fs::exists(file)) return metrics;
  const json object = load_object(file);
  metrics.end = point_of(object);
  metrics.end.step = count_in(object, "steps");
  metrics.peak_memory_bytes = count_in(object, "peak_memory_bytes");
  for (const json& evaluation : value_or(object, "evaluations", json::array()))
    metrics.evaluations.push_back(point_of(evaluation));
  return metrics;
}

}  // namespace stipple
