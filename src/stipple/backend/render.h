// SPDX-License-Identifier: Apache-2.0
#pragma once
// One picture as host values: for programs that render, and for looking at what is being trained.
#include "stipple/backend/backend.h"
#include "stipple/image/image.h"

namespace stipple {

struct RenderedImages {
  Image color;  // 3 channels over the background, not clamped
  Image alpha;  // 1 channel, accumulated
  Image depth;  // 1 channel as asked for in the options, or empty
};

// Many pictures of one model: it is brought to the device once, and what stages pass on is kept between
// pictures.
class ModelRenderer {
 public:
  ModelRenderer(Backend& backend, const Gaussians& gaussians);  // the backend must outlive it
  RenderedImages render(const View& view);

 private:
  Backend& backend_;
  DeviceGaussians gaussians_;
  Pass pass_;
};

// One picture.
RenderedImages render(Backend& backend, const Gaussians& gaussians, const View& view);
RenderedImages render(Backend& backend, const DeviceGaussians& gaussians, const View& view);
// One of many, with a pass that is kept between them.
RenderedImages render(Backend& backend, const DeviceGaussians& gaussians, const View& view, Pass& pass);

// The device's planes as interleaved host images.
RenderedImages download_frame(const Backend& backend, const Frame& frame);

}  // namespace stipple
