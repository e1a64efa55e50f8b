// SPDX-License-Identifier: Apache-2.0
#pragma once
// Renders of a model as pictures for people: its colours, or what else a render tells.
#include "stipple/backend/render.h"
#include "stipple/image/byte_image.h"

namespace stipple {

enum class Shown {
  kColor,
  kDepth,      // near is bright, far is dark
  kAlpha,      // opaque is white
  kGaussians,  // each Gaussian as an ellipsoid in a colour of its own
};

struct Appearance {
  Shown shown = Shown::kColor;
  Vec3f background{0, 0, 0};  // behind depths; behind colours, it has been rendered
  float middle_depth = 1;     // that gets the middle of the colours for depths, in scene units
};

// What has to be rendered for such a picture.
RenderOptions options_to_show(Shown shown, RenderOptions options);

// The picture in RGB. Images are as rendered with options_to_show(); those of kGaussians come from
// gaussians_as_ellipsoids().
ByteImage shown_picture(const RenderedImages& images, const Appearance& appearance);

// A model of which each Gaussian looks like a solid body: a Gaussian that is drawn the usual way, but whose
// alpha is the highest possible up to the surface at which its own alpha falls below this, and ends soon
// behind it. Fainter Gaussians do not show at all.
constexpr float kEllipsoidAlpha = 0.2f;

struct Ellipsoids {
  DeviceGaussians gaussians;
  Precomputed precomputed;
};
Ellipsoids gaussians_as_ellipsoids(Backend& backend, const DeviceGaussians& gaussians);

}  // namespace stipple
