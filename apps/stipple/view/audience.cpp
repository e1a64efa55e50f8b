// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/view/audience.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

#include "stipple/camera/pinhole_lens.h"

namespace stipple {

namespace {

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

void Audience::changed() {
  has_changed_ = true;
  change_.notify_all();
}

void Audience::enter(const std::shared_ptr<Connection>& visitor) {
  const std::lock_guard lock(mutex_);
  visitors_[visitor.get()].connection = visitor;
  is_empty_.store(false, std::memory_order_relaxed);
  changed();
}

void Audience::leave(const std::shared_ptr<Connection>& visitor) {
  const std::lock_guard lock(mutex_);
  visitors_.erase(visitor.get());
  scheduler_.leave(visitor.get());
  is_empty_.store(visitors_.empty(), std::memory_order_relaxed);
  changed();
}

void Audience::send_all(const std::string& text) {
  const std::lock_guard lock(mutex_);
  for (const auto& [key, visitor] : visitors_) visitor.connection->send_text(text);
}

bool Audience::take(const std::shared_ptr<Connection>& visitor, const PageMessage& message) {
  const std::lock_guard lock(mutex_);
  const auto found = visitors_.find(visitor.get());
  if (found == visitors_.end()) return false;
  if (const auto* camera = std::get_if<CameraMessage>(&message)) {
    found->second.wish = *camera;
    scheduler_.want(visitor.get(),
                    {camera->serial, camera->camera.width_px, camera->camera.height_px,
                     static_cast<int>(camera->models.size()), camera->is_moving},
                    now_s());
  } else if (std::holds_alternative<RestMessage>(message)) {
    scheduler_.rest(visitor.get());
  } else if (const auto* shown = std::get_if<ShownMessage>(&message)) {
    scheduler_.shown(visitor.get(), shown->serial);
  } else {
    return false;
  }
  changed();
  return true;
}

void Audience::set_pace(double share, double interval_s) {
  const std::lock_guard lock(mutex_);
  scheduler_.set_pace(share, interval_s);
}

void Audience::set_model_version(std::int64_t version) {
  const std::lock_guard lock(mutex_);
  scheduler_.set_model_version(version);
}

std::optional<Audience::Order> Audience::next() {
  const std::lock_guard lock(mutex_);
  const FrameScheduler::Next next = scheduler_.next(now_s());
  ask_again_s_ = next.ask_again_s;
  if (!next.answer) return {};
  const Visitor& visitor = visitors_.at(static_cast<const Connection*>(next.answer->visitor));
  Order order{*next.answer, visitor.connection, visitor.wish};
  order.wish.camera = resized(order.wish.camera, next.answer->width_px, next.answer->height_px);
  return order;
}

void Audience::finished(const Order& order, double cost_s) {
  const std::lock_guard lock(mutex_);
  scheduler_.finished(order.answer, cost_s);
}

void Audience::failed(const Order& order) {
  const std::lock_guard lock(mutex_);
  scheduler_.failed(order.answer, now_s());
}

bool Audience::has_debt() const {
  const std::lock_guard lock(mutex_);
  return scheduler_.has_debt();
}

void Audience::spend(double cost_s) {
  const std::lock_guard lock(mutex_);
  scheduler_.spend(cost_s);
}

double Audience::spent_s() const {
  const std::lock_guard lock(mutex_);
  return scheduler_.spent_s();
}

void Audience::wait(double most_s) {
  std::unique_lock lock(mutex_);
  if (ask_again_s_) most_s = std::min(most_s, std::max(0.0, *ask_again_s_ - now_s()));
  change_.wait_for(lock, std::chrono::duration<double>(most_s), [&] { return has_changed_; });
  has_changed_ = false;
}

void Audience::wake() {
  const std::lock_guard lock(mutex_);
  changed();
}

}  // namespace stipple
