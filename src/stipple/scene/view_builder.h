// SPDX-License-Identifier: Apache-2.0
#pragma once
// Turns the images that a scene's files list into views whose photos can be loaded, and counts those that
// cannot be used.
#include <set>

#include "stipple/io/image/image_file.h"
#include "stipple/scene/dropped.h"
#include "stipple/scene/formats/colmap.h"
#include "stipple/scene/image_finder.h"
#include "stipple/scene/scene_source.h"

namespace stipple {

class ViewBuilder {
 public:
  ViewBuilder(const SceneSource& source, const SceneOptions& options);

  void add(const SourceImage& image);

  std::vector<SceneView> views;  // in the order they were added

  // One problem for each kind of defect found.
  std::vector<SceneProblem> problems() const;

 private:
  std::filesystem::path choose_folder() const;
  std::size_t count_found(const ImageFinder& finder) const;
  int most_shrinking() const;
  std::filesystem::path shrunk_folder(const std::filesystem::path& folder) const;
  std::optional<std::filesystem::path> find(const std::filesystem::path& name);
  void add_found(const SourceImage& image, const std::filesystem::path& name,
                 const std::filesystem::path& path);
  void add_view(const SourceImage& image, const std::filesystem::path& name,
                const std::filesystem::path& path, const Lens& lens, const ImageInfo& upright);
  // Caches the last camera: undistorting a lens takes a millisecond or more, and most photos share the lens
  // of the previous one.
  const Camera& undistorted(const Lens& lens);
  std::filesystem::path mask_of(const SourceImage& image, const std::filesystem::path& name,
                                const std::filesystem::path& photo);

  const SceneSource& source_;
  const SceneOptions& options_;
  ImageFinder finder_;
  std::optional<Lens> last_lens_;
  Camera last_camera_;
  std::set<std::filesystem::path> paths_;  // of the photos so far
  Dropped missing_, duplicates_, outside_, unreadable_, bad_lenses_, turned_, misshapen_, masks_missing_;
};

}  // namespace stipple
