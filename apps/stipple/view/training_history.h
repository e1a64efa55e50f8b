// SPDX-License-Identifier: Apache-2.0
#pragma once
// The curves of a training run, as a page plots them: many points at first, so that a short run has curves,
// and never more than a limit, since neighbours are joined as a long run goes on.
#include <cstddef>
#include <optional>
#include <vector>

namespace stipple {

struct TrainingPoint {  // means over a few steps, of which it names the last
  int step = 0;
  double seconds = 0;
  double loss = 0, psnr = 0;
  std::size_t gaussian_count = 0;
};

class TrainingHistory {
 public:
  explicit TrainingHistory(std::size_t most_points = 2'000);

  // Every step is added; a step that is not behind the last one replaces what was known from there on.
  // Returns a point if this step has completed one.
  std::optional<TrainingPoint> add(const TrainingPoint& step);
  // A point of an earlier part of the run.
  void add_point(const TrainingPoint& point);
  const std::vector<TrainingPoint>& points() const { return points_; }

 private:
  void forget_from(int step);
  void thin_out();

  std::size_t most_points_;
  std::vector<TrainingPoint> points_;
  int steps_per_point_;
  TrainingPoint sum_;  // of the steps since the last point
  int summed_ = 0;
};

struct EvaluationPoint {
  int step = 0;
  double psnr = 0, ssim = 0;
  std::size_t gaussian_count = 0;
};

struct RunHistory {
  TrainingHistory training;
  std::vector<EvaluationPoint> evaluations;

  void add(const EvaluationPoint& evaluation);  // replaces those that are not before it
};

}  // namespace stipple
