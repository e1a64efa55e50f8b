// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/view/picture_sender.h"

#include <exception>
#include <utility>

#include "apps/stipple/view/encoded_picture.h"
#include "stipple/draw/shown_picture.h"

namespace stipple {

namespace {

constexpr std::size_t kMostWaiting = 2;
}  // namespace

PictureSender::PictureSender(Audience& audience, float middle_depth, bool has_thread)
    : audience_(audience), middle_depth_(middle_depth) {
  if (has_thread) thread_ = std::thread([this] { work(); });
}

PictureSender::~PictureSender() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  change_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool PictureSender::is_busy() const {
  const std::lock_guard lock(mutex_);
  return jobs_.size() >= kMostWaiting;
}

bool PictureSender::is_idle() const {
  const std::lock_guard lock(mutex_);
  return jobs_.empty();
}

FramePlanes PictureSender::take_planes() {
  const std::lock_guard lock(mutex_);
  if (unused_.empty()) return {};
  FramePlanes planes = std::move(unused_.back());
  unused_.pop_back();
  return planes;
}

void PictureSender::send(Job job) {
  if (!thread_.joinable()) {
    make(job);
    unused_.push_back(std::move(job.planes));
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  change_.notify_all();
}

void PictureSender::finish() {
  std::unique_lock lock(mutex_);
  change_.wait(lock, [&] { return jobs_.empty(); });
}

void PictureSender::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    change_.wait(lock, [&] { return is_over_ || !jobs_.empty(); });
    if (is_over_) return;
    const Job& job = jobs_.front();  // stays there when others are added
    lock.unlock();
    try {
      make(job);
    } catch (const std::exception&) {
      job.order.visitor->close();  // who would wait for this picture for ever; the page connects again
    }
    lock.lock();
    unused_.push_back(std::move(jobs_.front().planes));
    jobs_.pop_front();
    change_.notify_all();
    audience_.wake();
  }
}

void PictureSender::make(const Job& job) {
  const CameraMessage& wish = job.order.wish;
  const ByteImage picture =
      shown_picture(images_from(job.planes), {wish.shown, wish.background, middle_depth_});
  job.order.visitor->send_binary(encoded_picture(picture, job.order, 0, job.step));
}

}  // namespace stipple
