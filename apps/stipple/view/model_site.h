// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the server of finished models serves: one model, or two to compare.
#include <functional>
#include <string>
#include <vector>

#include "apps/stipple/server/server.h"
#include "apps/stipple/view/messages.h"
#include "apps/stipple/view/remote_pictures.h"
#include "apps/stipple/view/scene_photos.h"
#include "apps/stipple/view/viewed_model.h"

namespace stipple {

class ModelSite : public Site {
 public:
  // `prepare` loads the models for rendering: pictures if hello.backend says so, and scores.
  ModelSite(Hello hello, std::vector<ViewedModel> models, ScenePhotos& photos,
            std::function<RemoteModels()> prepare);

  HttpResponse respond(const HttpRequest& request) override;
  void opened(const std::shared_ptr<Connection>& visitor) override;
  void received(const std::shared_ptr<Connection>& visitor, std::string_view text) override;
  void closed(const std::shared_ptr<Connection>& visitor) override;

 private:
  const Hello hello_;
  const std::string hello_text_;
  std::vector<ViewedModel> models_;
  ScenePhotos& photos_;
  const SharedBytes page_;
  RemotePictures pictures_;
};

}  // namespace stipple
