// SPDX-License-Identifier: Apache-2.0
#pragma once
// The files of a training run, as it goes: options.json, log.jsonl, metrics.json (docs/formats.md).
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

  void save_options(const RunOptions& settings, const std::filesystem::path& scene,
                    const Backend& backend) const;

  // Goes on with the log and the evaluations of an earlier part of the run, up to and including this step.
  void resume_at(int step);

  // Sums up a step; every kLogEvery of them make a line.
  void add(const StepReport& report, double seconds);
  void write_line();  // of the steps since the last

  void add(const Evaluation& evaluation, int step, std::size_t gaussian_count);
  void save_metrics(int step, std::size_t gaussian_count, const Backend& backend) const;

  double seconds() const { return seconds_; }  // of training, in all parts of the run

 private:
  static constexpr int kLogEvery = 100;

  std::filesystem::path folder_;
  std::ofstream log_;
  nlohmann::ordered_json evaluations_ = nlohmann::ordered_json::array();
  double seconds_ = 0;

  int summed_ = 0;  // steps since the last line
  double loss_ = 0, psnr_ = 0;
  StageTimes ms_{};
  StepReport last_;
};

}  // namespace stipple
