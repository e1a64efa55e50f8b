// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a training run leaves in its folder, as other commands read it back (docs/formats.md).
#include <filesystem>
#include <limits>
#include <vector>

#include "stipple/backend/view.h"
#include "stipple/scene/scene.h"

namespace stipple {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

struct RunRecord {  // options.json
  std::filesystem::path scene;
  SceneOptions scene_options;
  RenderOptions render;         // the model is to be rendered so
  bool held_out_tests = false;  // it was trained without the test views
};

// How far a run was at one time; kUnknown where the file does not say.
struct RunPoint {
  double step = kUnknown, seconds = kUnknown, gaussians = kUnknown;
  double psnr = kUnknown, ssim = kUnknown;  // of training views in a log, of test views in an evaluation
};

struct RunLog {  // log.jsonl
  std::vector<RunPoint> points;
  std::size_t bad_line_count = 0;  // left out: cut, damaged, or without a step
};

struct RunMetrics {  // metrics.json
  RunPoint end;      // without scores
  double peak_memory_bytes = kUnknown;
  std::vector<RunPoint> evaluations;  // in step order
};

// Throws Error unless there is such a folder.
void check_run_folder(const std::filesystem::path& folder);

RunRecord load_run_record(const std::filesystem::path& folder);

// Empty where the file is not there: a run that was interrupted has no metrics, and may have no log.
RunLog load_run_log(const std::filesystem::path& folder);
RunMetrics load_run_metrics(const std::filesystem::path& folder);

}  // namespace stipple
