// SPDX-License-Identifier: Apache-2.0
#include "stipple/backend/render.h"

#include <algorithm>

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

// If memory runs out, renders the image in two bands, then in four, and so on.
void render_frame(Backend& backend, const DeviceGaussians& gaussians, const Precomputed& precomputed,
                  const View& whole, Pass& pass) {
  View view = whole;
  const TileRows all = tile_rows_of(view);
  view.id = kNoView;  // so that bin waits for the required capacity instead of predicting it
  for (int rows = std::max(all.end - all.begin, 1);; rows = (rows + 1) / 2) {
    try {
      for (int begin = all.begin; begin == all.begin || begin < all.end; begin += rows) {
        view.band = {begin, std::min(begin + rows, all.end)};
        forward(backend, gaussians, precomputed, view, pass);
      }
      return;
    } catch (const OutOfMemory&) {
      if (rows == 1) throw;
      pass = {};
    }
  }
}

void download_planes(const Backend& backend, const Frame& frame, FramePlanes& to) {
  to.width_px = frame.width_px;
  to.height_px = frame.height_px;
  const auto download = [&](const DeviceArray<float>& from, std::vector<float>& plane) {
    plane.resize(from.size());
    if (!from.empty()) backend.download(*from.memory(), std::as_writable_bytes(std::span(plane)));
  };
  download(frame.color, to.color);
  download(frame.transmittance, to.transmittance);
  download(frame.depth, to.depth);
}

RenderedImages images_from(const FramePlanes& planes) {
  const int w = planes.width_px, h = planes.height_px;
  RenderedImages images;
  images.color = image_from_planes(planes.color, w, h, 3);
  images.alpha = image_from_planes(planes.transmittance, w, h, 1);
  for (float& value : images.alpha.values) value = 1 - value;
  if (!planes.depth.empty()) images.depth = image_from_planes(planes.depth, w, h, 1);
  return images;
}

RenderedImages download_frame(const Backend& backend, const Frame& frame) {
  FramePlanes planes;
  download_planes(backend, frame, planes);
  return images_from(planes);
}

ModelRenderer::ModelRenderer(Backend& backend, const Gaussians& gaussians)
    : backend_(backend), gaussians_(upload(backend, gaussians)) {}

RenderedImages ModelRenderer::render(const View& view) {
  return stipple::render(backend_, gaussians_, view, pass_);
}

RenderedImages render(Backend& backend, const Gaussians& gaussians, const View& view) {
  return render(backend, upload(backend, gaussians), view);
}

RenderedImages render(Backend& backend, const DeviceGaussians& gaussians, const View& view) {
  Pass pass;
  return render(backend, gaussians, view, pass);
}

RenderedImages render(Backend& backend, const DeviceGaussians& gaussians, const View& view, Pass& pass) {
  render_frame(backend, gaussians, {}, view, pass);
  return download_frame(backend, pass.frame);
}

}  // namespace stipple
