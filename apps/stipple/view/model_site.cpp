// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/view/model_site.h"

#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "apps/stipple/view/page.h"
#include "apps/stipple/view/path_number.h"
#include "apps/stipple/view/save_edits.h"

namespace stipple {

ModelSite::ModelSite(Hello hello, std::vector<ViewedModel> models, ScenePhotos& photos,
                     std::function<RemoteModels()> prepare)
    : hello_(std::move(hello)),
      hello_text_(hello_text(hello_)),
      models_(std::move(models)),
      photos_(photos),
      page_(shared_bytes(viewer_page())),
      pictures_(std::move(prepare), photos.views()) {}

HttpResponse ModelSite::respond(const HttpRequest& request) {
  if (request.method == "GET") {
    if (request.path == "/")
      return {.content_type = "text/html; charset=utf-8", .body = page_, .is_constant = true};
    if (request.path.starts_with("/photo/")) return photos_.respond(request);
    const std::optional<std::size_t> model = path_number(request.path, "/model/");
    if (model && *model < models_.size() && models_[*model].served) return models_[*model].served->respond();
    const std::vector<std::size_t> piece = path_numbers(request.path, "/lod/");
    if (!piece.empty() && piece.front() < models_.size() && models_[piece.front()].streamed)
      return models_[piece.front()].streamed->respond(piece);
  }
  if (request.method == "POST" && request.path == "/save" && !hello_.folder.empty())
    return save_edits(request.body, models_.front().given, models_.front().count);
  return text_response(404, "there is nothing at this address");
}

void ModelSite::opened(const std::shared_ptr<Connection>& visitor) {
  visitor->send_text(hello_text_);
  pictures_.enter(visitor);
}

void ModelSite::received(const std::shared_ptr<Connection>& visitor, std::string_view text) {
  const PageMessage message = parse_page_message(text, models_.size());
  if (const auto* score = std::get_if<ScoreMessage>(&message)) pictures_.score(visitor, score->view);
  if (hello_.backend) pictures_.take(visitor, message);  // otherwise, there are no pictures
}

void ModelSite::closed(const std::shared_ptr<Connection>& visitor) { pictures_.leave(visitor); }

}  // namespace stipple
