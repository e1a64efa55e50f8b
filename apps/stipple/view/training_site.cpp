// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/view/training_site.h"

#include <array>
#include <cmath>
#include <utility>

#include "apps/stipple/view/page.h"
#include "stipple/io/json.h"

namespace stipple {

namespace {

using nlohmann::ordered_json;

constexpr std::array<const char*, 4> kCommandNames = {"pause", "resume", "save", "stop"};
constexpr std::size_t kMostRequests = 256;  // beyond these, the oldest are dropped

ordered_json json_of(const TrainingPoint& p) {
  return {{"step", p.step},
          {"seconds", p.seconds},
          {"loss", p.loss},
          {"psnr", p.psnr},
          {"gaussians", p.gaussian_count}};
}

ordered_json json_of(const EvaluationPoint& e) {
  return {{"step", e.step}, {"psnr", e.psnr}, {"ssim", e.ssim}, {"gaussians", e.gaussian_count}};
}

template <class T>
ordered_json list_of(const std::vector<T>& points) {
  auto list = ordered_json::array();
  for (const T& point : points) list.push_back(json_of(point));
  return list;
}

std::string history_text(const std::vector<TrainingPoint>& training,
                         const std::vector<EvaluationPoint>& evaluations) {
  return ordered_json{
      {"type", "history"}, {"training", list_of(training)}, {"evaluations", list_of(evaluations)}}
      .dump();
}

}  // namespace

TrainingSite::TrainingSite(const Hello& hello, std::vector<SceneView> views, RunHistory earlier)
    : photos_(std::move(views), hello.render.background),
      hello_([&] {
        Hello complete = hello;
        complete.views = photos_.infos();
        return hello_text(complete);
      }()),
      page_(shared_bytes(viewer_page())),
      history_(std::move(earlier)) {}

HttpResponse TrainingSite::respond(const HttpRequest& request) {
  const bool is_get = request.method == "GET";
  if (is_get && request.path == "/")
    return {.content_type = "text/html; charset=utf-8", .body = page_, .is_constant = true};
  if (is_get && request.path.starts_with("/photo/")) return photos_.respond(request);
  return text_response(404, "there is nothing at this address");
}

void TrainingSite::opened(const std::shared_ptr<Connection>& visitor) {
  visitor->send_text(hello_);
  const std::lock_guard lock(mutex_);  // so that the visitor misses no point
  visitor->send_text(history_text(history_.training.points(), history_.evaluations));
  if (!status_.empty()) visitor->send_text(status_);
  audience_.enter(visitor);
}

void TrainingSite::closed(const std::shared_ptr<Connection>& visitor) {
  audience_.leave(visitor);
  const std::lock_guard lock(mutex_);
  std::erase_if(score_requests_, [&](const ScoreRequest& r) { return r.visitor == visitor; });
}

void TrainingSite::received(const std::shared_ptr<Connection>& visitor, std::string_view text) {
  const PageMessage message = parse_page_message(text, 1);
  if (audience_.take(visitor, message)) return;
  const std::lock_guard lock(mutex_);
  if (const auto* command = std::get_if<CommandMessage>(&message)) {
    for (std::size_t i = 0; i < kCommandNames.size(); ++i)
      if (command->name == kCommandNames[i]) commands_.push_back(static_cast<Command>(i));
    if (commands_.size() > kMostRequests) commands_.pop_front();
  } else if (const auto* score = std::get_if<ScoreMessage>(&message)) {
    if (score->view < photos_.views().size()) score_requests_.push_back({visitor, score->view});
    if (score_requests_.size() > kMostRequests) score_requests_.pop_front();
  }
  note_requests();
  audience_.wake();
}

void TrainingSite::note_requests() {
  has_requests_.store(!commands_.empty() || !score_requests_.empty(), std::memory_order_relaxed);
}

std::optional<TrainingSite::Command> TrainingSite::take_command() {
  const std::lock_guard lock(mutex_);
  if (commands_.empty()) return {};
  const Command command = commands_.front();
  commands_.pop_front();
  note_requests();
  return command;
}

std::optional<TrainingSite::ScoreRequest> TrainingSite::take_score_request() {
  const std::lock_guard lock(mutex_);
  if (score_requests_.empty()) return {};
  ScoreRequest request = std::move(score_requests_.front());
  score_requests_.pop_front();
  note_requests();
  return request;
}

void TrainingSite::add_step(const TrainingPoint& step) {
  const std::lock_guard lock(mutex_);
  if (const auto point = history_.training.add(step); point && !audience_.is_empty())
    new_points_.push_back(*point);
}

void TrainingSite::add_evaluation(const EvaluationPoint& evaluation) {
  const std::lock_guard lock(mutex_);
  history_.add(evaluation);
  audience_.send_all(history_text({}, {evaluation}));
}

void TrainingSite::send_status(std::string text) {
  const std::lock_guard lock(mutex_);
  status_ = std::move(text);
  audience_.send_all(status_);
  if (!new_points_.empty()) audience_.send_all(history_text(new_points_, {}));
  new_points_.clear();
}

}  // namespace stipple
