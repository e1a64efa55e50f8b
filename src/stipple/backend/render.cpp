// SPDX-License-Identifier: Apache-2.0
#include "stipple/backend/render.h"

namespace stipple {

namespace {

Image image_from_planes(const std::vector<float>& planes, int width, int height, int channel_count) {
  Image image(width, height, channel_count);
  std::size_t n = image.pixel_count();
  for (std::size_t i = 0; i < n; ++i)
    for (int c = 0; c < channel_count; ++c) image.values[i * channel_count + c] = planes[c * n + i];
  return image;
}

}  // namespace

RenderedImages download_frame(const Backend& backend, const Frame& frame) {
  int w = frame.width_px, h = frame.height_px;
  RenderedImages images;
  images.color = image_from_planes(frame.color.download(backend), w, h, 3);
  images.alpha = image_from_planes(frame.transmittance.download(backend), w, h, 1);
  for (float& value : images.alpha.values) value = 1 - value;
  if (!frame.depth.empty()) images.depth = image_from_planes(frame.depth.download(backend), w, h, 1);
  return images;
}

ModelRenderer::ModelRenderer(Backend& backend, const Gaussians& gaussians)
    : backend_(backend), gaussians_(upload(backend, gaussians)) {}

RenderedImages ModelRenderer::render(const View& view) {
  backend_.project(gaussians_, {}, view, projection_);
  backend_.bin(projection_, view, bins_);
  backend_.blend(projection_, bins_, view, frame_);
  return download_frame(backend_, frame_);
}

RenderedImages render(Backend& backend, const Gaussians& gaussians, const View& view) {
  return render(backend, upload(backend, gaussians), view);
}

RenderedImages render(Backend& backend, const DeviceGaussians& gaussians, const View& view) {
  Projection projection;
  TileBins bins;
  Frame frame;
  backend.project(gaussians, {}, view, projection);
  backend.bin(projection, view, bins);
  backend.blend(projection, bins, view, frame);
  return download_frame(backend, frame);
}

}  // namespace stipple
