// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/view/encoded_picture.h"

#include "stipple/io/image/image_codec.h"

namespace stipple {

namespace {

// While the camera moves, nobody sees what a higher quality costs.
constexpr JpegOptions kCoarse{.quality = 75, .full_color = false}, kSharp{.quality = 92, .full_color = true};

}  // namespace

SharedBytes encoded_picture(const ByteImage& picture, const Audience::Order& order, std::size_t model,
                            std::optional<int> step) {
  const bool is_sharp = order.answer.is_sharp;
  const PictureHeader header{.serial = order.wish.serial,
                             .model = model,
                             .shown = order.wish.shown,
                             .width_px = picture.width_px,
                             .height_px = picture.height_px,
                             .is_sharp = is_sharp,
                             .step = step};
  return picture_message(header, encode_jpeg(picture, is_sharp ? kSharp : kCoarse));
}

}  // namespace stipple
