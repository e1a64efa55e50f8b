// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/view/save_edits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "apps/stipple/run/run_model.h"
#include "stipple/core/byte_text.h"
#include "stipple/core/error.h"
#include "stipple/edit/rows_to_keep.h"
#include "stipple/edit/select.h"
#include "stipple/io/base64.h"
#include "stipple/io/input_file.h"
#include "stipple/io/json_fields.h"
#include "stipple/model/model_file.h"

namespace stipple {

namespace fs = std::filesystem;

namespace {

using nlohmann::json;

constexpr int kBadRequest = 400, kConflict = 409;

struct Edits {
  std::string name;
  bool overwrites = false;
  std::vector<std::byte> removed;  // one bit per Gaussian, least significant first; empty if none is
  std::vector<double> crop;        // empty if there is no box
};

Edits parse_edits(std::string_view text) {
  const json object = parse_json(text);
  const JsonFields fields(object, "the edits");
  Edits edits;
  if (!fields.value("name").is_string()) fields.fail("name", "must be a string");
  edits.name = bytes_from_utf8(fields.value("name").get<std::string>());
  edits.overwrites = fields.has("overwrite") && fields.flag("overwrite");
  if (fields.has("removed") && !fields.value("removed").is_null()) {
    const json& bits = fields.value("removed");
    auto bytes = bits.is_string() ? decode_base64(bits.get_ref<const std::string&>()) : std::nullopt;
    if (!bytes) fields.fail("removed", "must be base64");
    edits.removed = *std::move(bytes);
  }
  if (fields.has("crop") && !fields.value("crop").is_null())
    for (const json& number : fields.list("crop")) {
      if (!number.is_number()) fields.fail("crop", "must be numbers");
      edits.crop.push_back(number.get<double>());
    }
  return edits;
}

// Names come from the network: only a file in this folder may be written, and no file of a run.
void check_name(const std::string& name, bool is_in_run) {
  if (name.empty() || name.front() == '.' || name.find_first_of("/\\:") != std::string::npos ||
      std::any_of(name.begin(), name.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; }))
    throw Error(fmt::format("'{}' is not the name of a file; use one such as edited.ply", printable(name)));
  check_model_name(name);
  if (fs::path(name).extension() == ".json")
    throw Error(fmt::format("{} would be one of many files; use a name that ends in .sog or .lod", name));
  if (is_in_run && name == "model.ply")
    throw Error("model.ply is the model of the run, which is not overwritten; use another name");
}

std::vector<std::uint32_t> rows_not_removed(const std::vector<std::byte>& removed, std::size_t count) {
  std::vector<std::uint32_t> rows;
  for (std::size_t i = 0; i < count; ++i)
    if ((removed[i / 8] >> (i % 8) & std::byte{1}) == std::byte{0})
      rows.push_back(static_cast<std::uint32_t>(i));
  return rows;
}

std::vector<std::uint32_t> rows_to_keep(const Edits& edits, const Gaussians& gaussians) {
  const std::size_t count = gaussians.size();
  if (!edits.removed.empty() && edits.removed.size() != (count + 7) / 8)
    throw Error(fmt::format("\"removed\" has {} bytes, but {} Gaussians need {}", edits.removed.size(), count,
                            (count + 7) / 8));
  const std::vector<std::byte> none((count + 7) / 8);
  std::vector<std::uint32_t> rows = rows_not_removed(edits.removed.empty() ? none : edits.removed, count);
  if (edits.crop.empty()) return rows;
  const std::vector<std::uint32_t> inside = rows_in(crop_box(edits.crop), gaussians);
  std::vector<std::uint32_t> both;
  std::set_intersection(rows.begin(), rows.end(), inside.begin(), inside.end(), std::back_inserter(both));
  return both;
}

HttpResponse error_response(int status, const std::string& text) {
  return json_response(status, with_utf8(json{{"error", text}}).dump());
}

}  // namespace

fs::path folder_for_edits(const fs::path& run_or_model) {
  if (is_run(run_or_model)) return run_or_model;
  // Beside a folder with a model, not in it: its files would look like parts of that model.
  fs::path path = (fs::absolute(run_or_model) / "").parent_path();
  if (path.extension() == ".json") path = path.parent_path();
  return path.parent_path();
}

HttpResponse save_edits(std::string_view request, const fs::path& run_or_model, std::size_t count) try {
  static std::mutex one_at_a_time;  // so that two visitors do not find the same name free
  const std::lock_guard lock(one_at_a_time);
  const Edits edits = parse_edits(request);
  check_name(edits.name, is_run(run_or_model));
  const fs::path path = folder_for_edits(run_or_model) / edits.name;
  std::error_code missing;
  if (fs::exists(path) && fs::equivalent(main_file(path), model_file(run_or_model), missing))
    throw Error(
        fmt::format("{} is the model that is shown, which is not overwritten; use another name", edits.name));
  if (fs::exists(path) && !edits.overwrites)
    return error_response(kConflict, fmt::format("{} already exists", path.string()));
  check_model_output(path);

  RunModel model = load_run_model(run_or_model);
  if (model.gaussians.size() != count)
    throw Error(fmt::format("{}: the model has changed since it was opened; start the viewer again",
                            run_or_model.string()));
  const std::vector<std::uint32_t> rows = rows_to_keep(edits, model.gaussians);
  if (rows.empty()) throw Error("nothing is left of the model; nothing was saved");
  keep_rows(rows, model.gaussians);
  save_model(model.gaussians, path, {.antialiased = model.render.antialiased});
  return json_response(200, with_utf8(json{{"path", path.string()}, {"count", rows.size()}}).dump());
} catch (const Error& error) {
  return error_response(kBadRequest, error.what());
}

}  // namespace stipple
