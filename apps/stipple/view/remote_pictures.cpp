// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/view/remote_pictures.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "apps/stipple/view/encoded_picture.h"
#include "stipple/evaluate/evaluate.h"
#include "stipple/photo/load_photo.h"

namespace stipple {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostScoreRequests = 256;  // beyond these, the oldest are dropped
constexpr double kUntilWoken_s = 3600;

}  // namespace

RemotePictures::RemotePictures(std::function<RemoteModels()> prepare, const std::vector<SceneView>& views)
    : prepare_(std::move(prepare)), views_(views), thread_([this] { work(); }) {}

RemotePictures::~RemotePictures() {
  is_over_ = true;
  audience_.wake();
  thread_.join();
}

void RemotePictures::leave(const Visitor& visitor) {
  audience_.leave(visitor);
  const std::lock_guard lock(mutex_);
  std::erase_if(score_requests_, [&](const ScoreRequest& request) { return request.visitor == visitor; });
}

void RemotePictures::score(const Visitor& visitor, std::size_t view) {
  {
    const std::lock_guard lock(mutex_);
    score_requests_.push_back({visitor, view});
    if (score_requests_.size() > kMostScoreRequests) score_requests_.pop_front();
  }
  audience_.wake();
}

std::optional<RemotePictures::ScoreRequest> RemotePictures::take_score_request() {
  const std::lock_guard lock(mutex_);
  if (score_requests_.empty()) return {};
  ScoreRequest request = std::move(score_requests_.front());
  score_requests_.pop_front();
  return request;
}

void RemotePictures::work() {
  while (!is_over_) {
    if (const auto request = take_score_request())
      answer(*request);
    else if (const auto order = audience_.next())
      answer(*order);
    else
      audience_.wait(kUntilWoken_s);
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

void RemotePictures::answer(const ScoreRequest& request) {
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

void RemotePictures::answer(const Audience::Order& order) {
  prepare(order.visitor);
  const auto start = Clock::now();
  try {
    for (const std::size_t number : order.wish.models) {
      if (number >= remote_.models.size()) break;
      const ByteImage picture = remote_.models[number]->picture(order.wish);
      order.visitor->send_binary(encoded_picture(picture, order, number, {}));
    }
    audience_.finished(order, std::chrono::duration<double>(Clock::now() - start).count());
  } catch (const std::exception& error) {
    order.visitor->send_text(notice_text(NoticeKind::kError, error.what()));
    audience_.failed(order);
  }
}

}  // namespace stipple
