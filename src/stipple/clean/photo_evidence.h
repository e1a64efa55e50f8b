// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the photos say about each Gaussian of a model.
#include <functional>
#include <span>
#include <vector>

#include "stipple/backend/backend.h"
#include "stipple/photo/photo_cache.h"
#include "stipple/scene/scene.h"

namespace stipple {

struct Evidence {
  int framed = 0;       // number of views that have its mean inside the image, in front of the camera
  float area_px = 0;    // sum over the views of the area in which it is seen
  float area2_px2 = 0;  // and of its square
  // The sum of squared errors over all photos without this Gaussian, less that with it. It is negative if the
  // photos are better without it.
  float need = 0;
  float effect = 0;  // sum of the squares of what the Gaussian changes in the pictures
  // The largest values over the views in which it covers at least half a pixel:
  float nearness = 0;      // depth of the nearest part of the scene / its depth
  float screen_share = 0;  // its radius / the longer side of the image

  // The number of views that see it if all saw the same area of it, and less if a few see most of it.
  float effective_views() const { return area2_px2 > 0 ? area_px * area_px / area2_px2 : 0.0f; }
};

struct PhotoEvidence {
  std::vector<Evidence> gaussians;
  double squared_error = 0;  // sum over all photos
};

// Examines the views whose indices are in `which`. Suspects are drawn with a tenth of their opacity, so that
// they hardly spoil the pictures by which the others are judged; their own evidence is nevertheless that of
// their full opacity. `is_suspect` has a flag for every Gaussian. `progress` is called after each view.
PhotoEvidence photo_evidence(Backend& backend, const Gaussians& gaussians, std::span<const char> is_suspect,
                             const Scene& scene, std::span<const std::size_t> which, PhotoCache& photos,
                             const RenderOptions& options, const std::function<void()>& progress = {});

}  // namespace stipple
