// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the writers of other programs' formats share.
#include <filesystem>
#include <string>
#include <vector>

#include "stipple/scene/formats/save_scene.h"

namespace stipple {

// What a format has beyond a pinhole with one focal length.
struct LensAbilities {
  bool two_focal_lengths = false;
  bool brown = false;    // k1, k2, k3, p1, p2
  bool fisheye = false;  // k1 to k4
};

// Throws Error if the format has no such lens.
void require_lens(const PosedImage& image, const char* format, const LensAbilities& abilities);

struct SharedLenses {
  std::vector<Lens> lenses;                // each once
  std::vector<std::size_t> lens_of_image;  // index into `lenses`
};
SharedLenses share_lenses(PosedImages images);

void save_text(const std::string& content, const std::filesystem::path& path);

}  // namespace stipple
