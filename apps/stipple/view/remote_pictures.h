// SPDX-License-Identifier: Apache-2.0
#pragma once
// Renders pictures of finished models for visitors, and their scores, in a thread of its own. It does nothing
// as long as nobody wants anything.
#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "apps/stipple/server/server.h"
#include "apps/stipple/view/audience.h"
#include "apps/stipple/view/messages.h"
#include "apps/stipple/view/model_on_device.h"
#include "stipple/scene/scene.h"

namespace stipple {

// What it renders with. The backend must be destroyed last.
struct RemoteModels {
  std::unique_ptr<Backend> backend;
  std::vector<std::unique_ptr<ModelOnDevice>> models;
};

class RemotePictures {
 public:
  using Visitor = std::shared_ptr<Connection>;

  // `prepare` is called in the thread when something is wanted for the first time. If it throws, scores are
  // unknown and pictures are not sent; visitors are told why. The views must outlive this.
  RemotePictures(std::function<RemoteModels()> prepare, const std::vector<SceneView>& views);
  ~RemotePictures();  // waits for the picture that is being rendered

  // Any thread may call these; they return at once.
  void enter(const Visitor& visitor) { audience_.enter(visitor); }
  void leave(const Visitor& visitor);
  void take(const Visitor& visitor, const PageMessage& message) { audience_.take(visitor, message); }
  void score(const Visitor& visitor, std::size_t view);

 private:
  struct ScoreRequest {
    Visitor visitor;
    std::size_t view;
  };

  void work();
  std::optional<ScoreRequest> take_score_request();
  void prepare(const Visitor& visitor);
  void answer(const ScoreRequest& request);
  void answer(const Audience::Order& order);
  std::vector<ScoreInfo> scores_of(std::size_t view);

  const std::function<RemoteModels()> prepare_;
  const std::vector<SceneView>& views_;
  Audience audience_;
  std::mutex mutex_;
  std::deque<ScoreRequest> score_requests_;
  std::atomic<bool> is_over_ = false;

  RemoteModels remote_;  // of the thread
  bool is_prepared_ = false;
  std::thread thread_;  // last, so that it finds the others
};

}  // namespace stipple
