// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "stipple/backend/backend.h"

namespace stipple {

// Makes a 3D filter a part of the scales and opacities, so that the model looks without the filter as it did
// with it. `scale_modifier` is that of the renders. An empty filter changes nothing.
void apply_filter(std::span<const float> filter_variance, float scale_modifier, std::span<Vec3f> log_scale,
                  std::span<float> logit_opacity);

// The same on the device. The other arrays are borrowed from the model, which must outlive the result and not
// change before it.
DeviceGaussians filtered_model(Backend& backend, const DeviceGaussians& model,
                               const DeviceArray<float>& filter_variance, float scale_modifier);

}  // namespace stipple
