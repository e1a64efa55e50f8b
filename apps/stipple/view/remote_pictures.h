// SPDX-License-Identifier: Apache-2.0
#pragma once
// Renders pictures of finished models for visitors, and their scores, in a thread of its own. It does nothing
// as long as nobody wants anything.
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "apps/stipple/server/server.h"
#include "apps/stipple/view/frame_scheduler.h"
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
  void want(const Visitor& visitor, const CameraMessage& message);
  void rest(const Visitor& visitor);
  void shown(const Visitor& visitor, std::int64_t serial);
  void score(const Visitor& visitor, std::size_t view);
  void leave(const Visitor& visitor);

 private:
  struct ScoreRequest {
    Visitor visitor;
    std::size_t view;
  };
  struct PictureRequested {
    Visitor visitor;
    CameraMessage message;
  };

  void work(const std::stop_token& stop);
  void prepare(const Visitor& visitor);
  void answer_score(const ScoreRequest& request);
  void answer_camera(const FrameScheduler::Answer& answer, const PictureRequested& request);
  std::vector<ScoreInfo> scores_of(std::size_t view);
  void wake();  // the caller must hold mutex_
  double now_s() const;

  const std::function<RemoteModels()> prepare_;
  const std::vector<SceneView>& views_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();

  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool has_news_ = false;  // since the thread last looked
  FrameScheduler scheduler_;
  std::map<FrameScheduler::Visitor, PictureRequested> requests_;  // the newest of each visitor
  std::deque<ScoreRequest> score_requests_;

  RemoteModels remote_;  // of the thread
  bool is_prepared_ = false;
  std::jthread thread_;  // last, so that it ends before the members that it uses
};

}  // namespace stipple
