// SPDX-License-Identifier: Apache-2.0
// Part of the public interface.
#pragma once
// Rendering to images on the host, for programs that only render and for inspecting a model in training.
#include "stipple/backend/backend.h"
#include "stipple/image/image.h"

namespace stipple {

struct RenderedImages {
  Image color;  // 3 channels, blended over the background, not clamped
  Image alpha;  // 1 channel, accumulated
  Image depth;  // 1 channel of the kind requested in the options, or empty
};

// Renders many images of one model. The model is uploaded once, and the pass is reused from image to image.
class ModelRenderer {
 public:
  ModelRenderer(Backend& backend, const Gaussians& gaussians);  // the backend must outlive it
  RenderedImages render(const View& view);

 private:
  Backend& backend_;
  DeviceGaussians gaussians_;
  Pass pass_;
};

// Renders into Pass::frame, in bands if the device's memory does not hold more at once.
void render_frame(Backend& backend, const DeviceGaussians& gaussians, const Precomputed& precomputed,
                  const View& view, Pass& pass);

// Renders a single image.
RenderedImages render(Backend& backend, const Gaussians& gaussians, const View& view);
RenderedImages render(Backend& backend, const DeviceGaussians& gaussians, const View& view);
// Renders one of many images, reusing the pass.
RenderedImages render(Backend& backend, const DeviceGaussians& gaussians, const View& view, Pass& pass);

// A frame on the host, with its planes as on the device. Downloading it is what has to be done while the
// frame is there; the images can be made from it later, and by another thread.
struct FramePlanes {
  int width_px = 0, height_px = 0;
  std::vector<float> color, transmittance, depth;
};
void download_planes(const Backend& backend, const Frame& frame, FramePlanes& to);  // reuses its memory
RenderedImages images_from(const FramePlanes& planes);

// Downloads the device's planes as interleaved host images.
RenderedImages download_frame(const Backend& backend, const Frame& frame);

}  // namespace stipple
