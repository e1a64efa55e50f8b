// SPDX-License-Identifier: Apache-2.0
#include "stipple/scene/formats/save_tools.h"

#include <fmt/format.h>

#include <algorithm>

#include "stipple/core/error.h"
#include "stipple/io/output_file.h"

namespace stipple {

void require_lens(const PosedImage& image, const char* format, const LensAbilities& abilities) {
  const Lens& lens = image.lens;
  const auto is_zero = [](double v) { return v == 0; };
  const bool is_brown = lens.kind == Lens::Kind::kPerspective &&
                        std::all_of(lens.radial.begin() + 3, lens.radial.end(), is_zero);
  const bool is_fisheye = lens.kind == Lens::Kind::kFisheye && std::ranges::all_of(lens.tangential, is_zero);
  const bool has_lens =
      lens.is_pinhole() || (abilities.brown && is_brown) || (abilities.fisheye && is_fisheye);
  if (has_lens && (abilities.two_focal_lengths || lens.focal_px.x == lens.focal_px.y)) return;
  throw Error(fmt::format("{}: {} has no lens like {} with focal lengths {} and {}; write another format",
                          image.name, format, lens.model, lens.focal_px.x, lens.focal_px.y));
}

SharedLenses share_lenses(PosedImages images) {
  SharedLenses shared;
  for (const PosedImage& image : images) {
    auto found = std::ranges::find(shared.lenses, image.lens);
    if (found == shared.lenses.end()) found = shared.lenses.insert(found, image.lens);
    shared.lens_of_image.push_back(static_cast<std::size_t>(found - shared.lenses.begin()));
  }
  return shared;
}

void save_text(const std::string& content, const std::filesystem::path& path) {
  OutputFile file(path);
  file.write(content);
  file.commit();
}

}  // namespace stipple
