// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/view/save_edits.h"

#include <fmt/format.h>

#include <cstdint>
#include <exception>
#include <mutex>
#include <string>
#include <vector>

#include "apps/stipple/run/run_model.h"
#include "apps/stipple/view/model_edits.h"
#include "stipple/core/error.h"
#include "stipple/edit/select.h"
#include "stipple/io/json.h"
#include "stipple/model/model_file.h"

namespace stipple {

namespace fs = std::filesystem;

namespace {

using nlohmann::json;

constexpr int kBadRequest = 400, kConflict = 409;

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
  const ModelEdits edits = parse_edits(request);
  check_edited_name(edits.name, is_run(run_or_model));
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
  const std::vector<std::uint32_t> rows = rows_left(edits, model.gaussians);
  if (rows.empty()) throw Error("nothing is left of the model; nothing was saved");
  keep_rows(rows, model.gaussians);
  save_model(model.gaussians, path, {.antialiased = model.render.antialiased});
  return json_response(200, with_utf8(json{{"path", path.string()}, {"count", rows.size()}}).dump());
} catch (const std::exception& error) {  // also those of std::filesystem
  return error_response(kBadRequest, error.what());
}

}  // namespace stipple
