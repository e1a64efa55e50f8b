// SPDX-License-Identifier: Apache-2.0
// Part of the public interface.
#pragma once
// Scores of a model: how closely its renders match photographs.
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace stipple {

struct ViewScore {
  std::string name;  // of the view
  double psnr = 0;   // in dB; infinite if every pixel matches
  double ssim = 0;
};

struct Evaluation {
  double psnr = 0, ssim = 0;  // means over the views; NaN if there are none
  std::vector<ViewScore> views;
};

using EvaluationProgress = std::function<void(std::size_t done)>;

}  // namespace stipple
