// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/view/training_history.h"

#include <algorithm>
#include <utility>

namespace stipple {

namespace {

constexpr int kFirstStepsPerPoint = 10;

}  // namespace

TrainingHistory::TrainingHistory(std::size_t most_points)
    : most_points_(std::max<std::size_t>(most_points, 2)), steps_per_point_(kFirstStepsPerPoint) {}

std::optional<TrainingPoint> TrainingHistory::add(const TrainingPoint& step) {
  if (step.step <= sum_.step) forget_from(step.step);
  const double loss = sum_.loss + step.loss, psnr = sum_.psnr + step.psnr;
  sum_ = step;
  sum_.loss = loss;
  sum_.psnr = psnr;
  ++summed_;
  if (step.step % steps_per_point_ != 0) return {};
  TrainingPoint point = sum_;
  point.loss /= summed_;
  point.psnr /= summed_;
  sum_.loss = sum_.psnr = 0;
  summed_ = 0;
  add_point(point);
  return point;
}

void TrainingHistory::add_point(const TrainingPoint& point) {
  if (!points_.empty() && point.step <= points_.back().step) forget_from(point.step);
  points_.push_back(point);
  sum_.step = point.step;
  if (points_.size() > most_points_) thin_out();
}

void TrainingHistory::forget_from(int step) {
  points_.erase(
      std::find_if(points_.begin(), points_.end(), [&](const TrainingPoint& p) { return p.step >= step; }),
      points_.end());
  sum_ = {};
  summed_ = 0;
}

// Joins two points each. The newest one stays alone if their number is odd.
void TrainingHistory::thin_out() {
  std::vector<TrainingPoint> thinned;
  for (std::size_t i = 0; i + 1 < points_.size(); i += 2) {
    TrainingPoint joined = points_[i + 1];
    joined.loss = (joined.loss + points_[i].loss) / 2;
    joined.psnr = (joined.psnr + points_[i].psnr) / 2;
    thinned.push_back(joined);
  }
  if (points_.size() % 2 == 1) thinned.push_back(points_.back());
  points_ = std::move(thinned);
  steps_per_point_ *= 2;
}

void RunHistory::add(const EvaluationPoint& evaluation) {
  std::erase_if(evaluations, [&](const EvaluationPoint& e) { return e.step >= evaluation.step; });
  evaluations.push_back(evaluation);
}

}  // namespace stipple
