// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/run/run_scene.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "apps/stipple/run/run_model.h"
#include "stipple/core/error.h"

namespace stipple {

namespace fs = std::filesystem;

std::optional<RunRecord> record_of_model(const std::string& run_or_model, const std::string& scene) {
  std::optional<RunRecord> record;
  if (is_run(run_or_model)) {
    record = load_run_record(run_or_model);
  } else if (!scene.empty()) {
    record.emplace();
  }
  if (!scene.empty()) record->scene = scene;
  if (record && !fs::exists(record->scene))
    throw Error(fmt::format("{}: there is no scene at {}; name its folder with --scene", run_or_model,
                            record->scene.string()));
  return record;
}

std::vector<std::size_t> trained_views(const Scene& scene, const RunRecord& record, bool is_run) {
  std::vector<std::size_t> views = scene.train_views();
  if (is_run && !record.held_out_tests) {
    const std::vector<std::size_t> tests = scene.test_views();
    views.insert(views.end(), tests.begin(), tests.end());
    std::sort(views.begin(), views.end());
  }
  if (views.empty())
    throw Error(fmt::format("{}: the scene has no training views to judge by", scene.path.string()));
  return views;
}

}  // namespace stipple
