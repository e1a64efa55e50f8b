// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads the files that a training run writes into its folder (docs/formats.md).
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
  RenderOptions render;         // as the model was trained
  bool held_out_tests = false;  // the run was trained without the test views
};

// The state of a run at some step. Values that the file does not have are kUnknown.
struct RunPoint {
  double step = kUnknown, seconds = kUnknown, gaussians = kUnknown;
  double psnr = kUnknown, ssim = kUnknown;  // in a log of training views, in an evaluation of test views
};

struct RunLog {  // log.jsonl
  std::vector<RunPoint> points;
  std::size_t bad_line_count = 0;  // ignored lines: truncated, malformed, or without a step
};

struct RunMetrics {  // metrics.json
  RunPoint end;      // has no scores
  double peak_memory_bytes = kUnknown;
  std::vector<RunPoint> evaluations;  // in step order
};

// Throws Error if the folder does not exist.
void check_run_folder(const std::filesystem::path& folder);

// Whether this is the folder of a run, and not one of something else, or a file.
bool has_run_record(const std::filesystem::path& folder);
RunRecord load_run_record(const std::filesystem::path& folder);

// Empty if the file does not exist: a run that was killed early has no metrics, and perhaps no log.
RunLog load_run_log(const std::filesystem::path& folder);
RunMetrics load_run_metrics(const std::filesystem::path& folder);

}  // namespace stipple
