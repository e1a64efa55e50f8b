// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the server of a run in training serves, and what its visitors ask for. The thread of the server and
// the thread that trains meet here.
#include <atomic>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "apps/stipple/server/server.h"
#include "apps/stipple/view/audience.h"
#include "apps/stipple/view/scene_photos.h"
#include "apps/stipple/view/training_history.h"

namespace stipple {

class TrainingSite : public Site {
 public:
  enum class Command { kPause, kResume, kSave, kStop };
  struct ScoreRequest {
    std::shared_ptr<Connection> visitor;
    std::size_t view;
  };

  // `earlier` is what a run that is resumed has been through.
  TrainingSite(const Hello& hello, std::vector<SceneView> views, RunHistory earlier);

  // Of the server.
  HttpResponse respond(const HttpRequest& request) override;
  void opened(const std::shared_ptr<Connection>& visitor) override;
  void received(const std::shared_ptr<Connection>& visitor, std::string_view text) override;
  void closed(const std::shared_ptr<Connection>& visitor) override;

  // Of the thread that trains.
  Audience& audience() { return audience_; }
  // Whether there is nobody, and nothing to do. Costs next to nothing.
  bool is_quiet() const { return audience_.is_empty() && !has_requests_.load(std::memory_order_relaxed); }
  std::optional<Command> take_command();
  std::optional<ScoreRequest> take_score_request();
  void add_step(const TrainingPoint& step);
  void add_evaluation(const EvaluationPoint& evaluation);
  void send_status(std::string text);  // and the points since the last one

 private:
  void note_requests();

  ScenePhotos photos_;
  const std::string hello_;
  const SharedBytes page_;
  Audience audience_;

  std::mutex mutex_;
  RunHistory history_;
  std::vector<TrainingPoint> new_points_;  // since the last status
  std::string status_;                     // the newest
  std::deque<Command> commands_;
  std::deque<ScoreRequest> score_requests_;
  std::atomic<bool> has_requests_ = false;
};

}  // namespace stipple
