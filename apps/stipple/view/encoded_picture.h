// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <optional>

#include "apps/stipple/view/audience.h"
#include "stipple/image/byte_image.h"

namespace stipple {

// The message with the picture of a model that was rendered for this order; `step` is that of the training,
// if there is one.
SharedBytes encoded_picture(const ByteImage& picture, const Audience::Order& order, std::size_t model,
                            std::optional<int> step);

}  // namespace stipple
