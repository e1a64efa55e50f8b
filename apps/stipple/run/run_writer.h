// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes the files of a training run while it trains: options.json, log.jsonl, metrics.json
// (docs/formats.md).
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "stipple/evaluate/evaluate.h"
#include "stipple/options/run_options.h"
#include "stipple/train/trainer.h"

namespace stipple {

class RunWriter {
 public:
  // If the run replaces an earlier one in its folder, nothing is written until replace_earlier_run(): a run
  // that fails before it has anything to save must not cost the earlier one.
  // Of several processes that train one model, one writes: for the others, `writes` is false.
  RunWriter(std::filesystem::path folder, bool replaces_earlier_run, bool writes = true)
      : folder_(std::move(folder)), writes_(writes), is_waiting_(replaces_earlier_run) {}

  void save_options(const RunOptions& options, const std::filesystem::path& scene, const Backend& backend);

  // Whether an earlier run has still to be replaced, and whether nothing of it has been removed yet.
  bool is_waiting() const { return is_waiting_; }
  bool earlier_run_is_unchanged() const { return is_waiting_ && !has_begun_to_replace_; }
  // Removes the checkpoint and the metrics of the earlier run and replaces its options and its log. At every
  // moment in between, the files that are there belong together. The model stays until the next one is saved.
  // If this throws, it can be repeated.
  void replace_earlier_run();

  // Continues the log and the evaluations of a resumed run; entries after this step are removed.
  void resume_at(int step);

  // Every kLogEvery steps, a line with their means is written to the log.
  void add(const StepReport& report, double seconds);
  void write_line();  // with the means since the last line

  void add(const Evaluation& evaluation, int step, std::size_t gaussian_count);
  void add(const GuardEvent& event, int step);
  void save_metrics(int step, std::size_t gaussian_count, const Backend& backend) const;

  double seconds() const { return seconds_; }  // of training, including earlier parts of a resumed run

 private:
  static constexpr int kLogEvery = 100;

  void add_to_log(const std::string& line);

  void remove_earlier_run();

  std::filesystem::path folder_;
  bool writes_;
  bool is_waiting_;
  bool has_begun_to_replace_ = false;
  nlohmann::ordered_json options_;  // until they are written
  std::string waiting_log_;         // likewise
  std::ofstream log_;
  nlohmann::ordered_json evaluations_ = nlohmann::ordered_json::array();
  nlohmann::ordered_json guard_events_ = nlohmann::ordered_json::array();
  double seconds_ = 0;

  int summed_ = 0;              // steps since the last line, without skipped ones
  double loss_ = 0, psnr_ = 0;  // their sums
  double exchanged_bytes_ = 0;
  StageTimes ms_{};
  StepReport last_;
};

}  // namespace stipple
