// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "stipple/backend/backend.h"

namespace stipple {

// The model that looks without a 3D filter as `model` does with it: the filter becomes a part of its scales
// and opacities. `scale_modifier` is that of the renders. The other arrays are borrowed from the model, which
// must outlive the result and not change before it.
DeviceGaussians filtered_model(Backend& backend, const DeviceGaussians& model,
                               const DeviceArray<float>& filter_variance, float scale_modifier);

}  // namespace stipple
