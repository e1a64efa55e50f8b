// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/view/remote_pictures.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "stipple/evaluate/evaluate.h"
#include "stipple/io/image/image_codec.h"
#include "stipple/photo/load_photo.h"

namespace stipple {

namespace {

constexpr JpegOptions kSharp{.quality = 90, .full_color = true};
constexpr JpegOptions kCoarse{.quality = 75, .full_color = false};
constexpr std::size_t kMostScoreRequests = 256;  // beyond these, the oldest are dropped

}  // namespace

RemotePictures::RemotePictures(std::function<RemoteModels()> prepare, const std::vector<SceneView>& views)
    : prepare_(std::move(prepare)),
      views_(views),
      thread_([this](const std::stop_token& stop) { work(stop); }) {}

RemotePictures::~RemotePictures() = default;

double RemotePictures::now_s() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void RemotePictures::wake() {
  has_news_ = true;
  changed_.notify_one();
}

void RemotePictures::want(const Visitor& visitor, const CameraMessage& message) {
  const std::lock_guard lock(mutex_);
  requests_.insert_or_assign(visitor.get(), PictureRequested{visitor, message});
  scheduler_.want(visitor.get(),
                  {.serial = message.serial,
                   .width_px = message.camera.width_px,
                   .height_px = message.camera.height_px,
                   .picture_count = static_cast<int>(message.models.size()),
                   .is_moving = message.is_moving},
                  now_s());
  wake();
}

void RemotePictures::rest(const Visitor& visitor) {
  const std::lock_guard lock(mutex_);
  scheduler_.rest(visitor.get());
}

void RemotePictures::shown(const Visitor& visitor, std::int64_t serial) {
  const std::lock_guard lock(mutex_);
  scheduler_.shown(visitor.get(), serial);
  wake();
}

void RemotePictures::score(const Visitor& visitor, std::size_t view) {
  const std::lock_guard lock(mutex_);
  score_requests_.push_back({visitor, view});
  if (score_requests_.size() > kMostScoreRequests) score_requests_.pop_front();
  wake();
}

void RemotePictures::leave(const Visitor& visitor) {
  const std::lock_guard lock(mutex_);
  scheduler_.leave(visitor.get());
  requests_.erase(visitor.get());
  std::erase_if(score_requests_, [&](const ScoreRequest& request) { return request.visitor == visitor; });
}

void RemotePictures::work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (!score_requests_.empty()) {
      const ScoreRequest request = std::move(score_requests_.front());
      score_requests_.pop_front();
      lock.unlock();
      answer_score(request);
      lock.lock();
      continue;
    }
    const FrameScheduler::Next next = scheduler_.next(now_s());
    if (next.answer) {
      const PictureRequested request = requests_.at(next.answer->visitor);
      lock.unlock();
      answer_camera(*next.answer, request);
      lock.lock();
      continue;
    }
    const auto has_news = [this] { return std::exchange(has_news_, false); };
    if (next.ask_again_s)
      changed_.wait_for(lock, stop, std::chrono::duration<double>(*next.ask_again_s), has_news);
    else
      changed_.wait(lock, stop, has_news);
  }
}

void RemotePictures::prepare(const Visitor& visitor) {
  if (is_prepared_) return;
  is_prepared_ = true;
  try {
    remote_ = prepare_();
  } catch (const std::exception& error) {
    visitor->send_text(notice_text(NoticeKind::kWarning, error.what()));
  }
}

std::vector<ScoreInfo> RemotePictures::scores_of(std::size_t view) {
  std::vector<ScoreInfo> scores;
  if (view >= views_.size()) return scores;
  const Photo photo = load_photo(views_[view]);
  for (const auto& model : remote_.models) {
    const Image picture = model->render_as_trained(views_[view].camera);
    const ViewScore found = stipple::score(views_[view].name, picture, photo, model->options().background);
    scores.push_back(
        {.view = view, .model = scores.size(), .step = {}, .psnr = found.psnr, .ssim = found.ssim});
  }
  return scores;
}

void RemotePictures::answer_score(const ScoreRequest& request) {
  prepare(request.visitor);
  std::vector<ScoreInfo> scores;
  try {
    scores = scores_of(request.view);
  } catch (const std::exception& error) {
    request.visitor->send_text(notice_text(NoticeKind::kWarning, error.what()));
  }
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  if (scores.empty())
    scores.push_back({.view = request.view, .step = {}, .psnr = kUnknown, .ssim = kUnknown});
  for (const ScoreInfo& score : scores) request.visitor->send_text(score_text(score));
}

void RemotePictures::answer_camera(const FrameScheduler::Answer& answer, const PictureRequested& request) {
  prepare(request.visitor);
  const CameraMessage& message = request.message;
  const double start_s = now_s();
  std::string problem;
  try {
    for (const std::size_t number : message.models) {
      if (number >= remote_.models.size()) break;
      const ByteImage picture = remote_.models[number]->picture(message, answer.width_px, answer.height_px);
      const PictureHeader header{.serial = message.serial,
                                 .model = number,
                                 .shown = message.shown,
                                 .width_px = picture.width_px,
                                 .height_px = picture.height_px,
                                 .is_sharp = answer.is_sharp,
                                 .step = {}};
      request.visitor->send_binary(
          picture_message(header, encode_jpeg(picture, answer.is_sharp ? kSharp : kCoarse)));
    }
  } catch (const std::exception& error) {
    problem = error.what();
    request.visitor->send_text(notice_text(NoticeKind::kError, problem));
  }
  const std::lock_guard lock(mutex_);
  if (problem.empty())
    scheduler_.finished(answer, now_s() - start_s);
  else
    scheduler_.failed(answer, now_s());
}

}  // namespace stipple
