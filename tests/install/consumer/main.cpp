// SPDX-License-Identifier: Apache-2.0
#include <stipple/stipple.h>

int main() {
  stipple::Gaussians gaussians = stipple::make_gaussians(1, 0);
  gaussians.mean[0] = {0, 0, 2};
  stipple::View view;
  view.camera = {{}, {20, 20}, {8, 8}, 16, 16};
  stipple::RenderedImages images = stipple::render(*stipple::make_backend("cpu"), gaussians, view);
  return images.alpha.at(8, 8, 0) > 0.4f ? 0 : 1;
}
