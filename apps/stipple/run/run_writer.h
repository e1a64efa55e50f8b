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
  explicit RunWriter(std::filesystem::path folder) : folder_(std::move(folder)) {}

  void save_options(const RunOptions& options, const std::filesystem::path& scene,
                    const Backend& backend) const;

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

  std::filesystem::path folder_;
  std::ofstream log_;
  nlohmann::ordered_json evaluations_ = nlohmann::ordered_json::array();
  nlohmann::ordered_json guard_events_ = nlohmann::ordered_json::array();
  double seconds_ = 0;

  int summed_ = 0;              // steps since the last line, without skipped ones
  double loss_ = 0, psnr_ = 0;  // their sums
  StageTimes ms_{};
  StepReport last_;
};

}  // namespace stipple
