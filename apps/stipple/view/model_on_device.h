// SPDX-License-Identifier: Apache-2.0
#pragma once
// A finished model that is rendered for visitors.
#include <optional>
#include <utility>

#include "apps/stipple/view/messages.h"
#include "stipple/backend/render.h"
#include "stipple/draw/shown_picture.h"

namespace stipple {

class ModelOnDevice {
 public:
  // The backend must outlive it. `options` are those of the model's run; `middle_depth` is explained in
  // Appearance.
  ModelOnDevice(Backend& backend, const Gaussians& gaussians, const RenderOptions& options,
                float middle_depth);

  // What the visitor wants to see.
  ByteImage picture(const CameraMessage& wanted);

  // From the camera of a photo, as the model's run renders it.
  Image render_as_trained(const Camera& camera);
  const RenderOptions& options() const { return options_; }

 private:
  const DeviceGaussians& of_degree(int sh_degree);
  const Ellipsoids& ellipsoids();

  Backend& backend_;
  RenderOptions options_;
  float middle_depth_;
  int full_degree_;
  DeviceGaussians gaussians_;
  // The coefficients that gaussians_ does not have at present: all of them, or those of a lower degree. Made
  // when they are first wanted.
  std::optional<std::pair<int, DeviceArray<Vec3f>>> other_sh_;
  std::optional<Ellipsoids> ellipsoids_;  // made when they are first wanted
  Pass pass_;
};

}  // namespace stipple
