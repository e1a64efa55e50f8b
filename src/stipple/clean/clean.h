// SPDX-License-Identifier: Apache-2.0
#pragma once
// Removes the Gaussians with defects from a model.
#include <functional>
#include <span>
#include <vector>

#include "stipple/clean/defect.h"

namespace stipple {

struct CleanedClass {
  std::size_t found = 0, removed = 0;
  double loss_db = 0;  // of PSNR on the photos, if this class alone is removed
};

struct CleanResult {
  std::vector<Defect> found;                              // of every Gaussian
  std::vector<std::uint32_t> kept;                        // indices of the Gaussians that remain, in order
  std::array<CleanedClass, kDefectNames.size()> classes;  // indexed by Defect
  // Only if there are photos: the mean PSNR before and after, and without everything that was found.
  std::size_t photo_count = 0;
  double psnr_before = 0, psnr_after = 0, psnr_without_all = 0;
};

// Judges by shape alone.
CleanResult clean(const Gaussians& gaussians);

struct CleanPhotos {
  const Scene& scene;
  std::span<const std::size_t> views;  // those that the model was trained on
  PhotoCache& photos;
  RenderOptions render;
  double max_loss_db = 1;
  // Called often, with the work done so far in views; it may throw to stop. The total counts only the
  // examination, which takes most of the time.
  std::function<void(std::size_t done, std::size_t total)> progress = {};
};

// Also judges by the photos. If PSNR would fall by more than max_loss_db, the Gaussians that the photos need
// most are kept.
CleanResult clean(Backend& backend, const Gaussians& gaussians, const CleanPhotos& input);

}  // namespace stipple
