// SPDX-License-Identifier: Apache-2.0
#pragma once
// The views of a scene and their photos, as a page asks for them.
#include <utility>
#include <vector>

#include "apps/stipple/server/server.h"
#include "apps/stipple/view/byte_cache.h"
#include "apps/stipple/view/messages.h"
#include "stipple/scene/scene.h"

namespace stipple {

class ScenePhotos {
 public:
  // Cut-out photos are shown over the background.
  ScenePhotos(std::vector<SceneView> views, Vec3f background);

  const std::vector<SceneView>& views() const { return views_; }
  std::vector<ViewInfo> infos() const;

  // Answers "/photo/3?size=640". Any thread may call it.
  HttpResponse respond(const HttpRequest& request);

 private:
  using Key = std::pair<std::size_t, int>;  // view, longest side

  const std::vector<SceneView> views_;
  const Vec3f background_;
  ByteCache<Key, std::vector<std::byte>> photos_;  // encoded
};

}  // namespace stipple
