// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/server/outbox.h"

#include <utility>

namespace stipple::http {

namespace {

// A few pictures of the largest size, and minutes of other messages.
constexpr std::size_t kMaxMessages = 1024;
constexpr std::size_t kMaxBytes = std::size_t(32) << 20;

}  // namespace

std::span<const std::byte> bytes_of(const Message& message) {
  if (const auto* text = std::get_if<std::string>(&message)) return std::as_bytes(std::span(*text));
  const SharedBytes& bytes = std::get<SharedBytes>(message);
  return bytes ? std::span(*bytes) : std::span<const std::byte>();
}

std::size_t Outbox::waiting() const {
  const std::lock_guard lock(mutex_);
  return state_ == State::shut ? 0 : messages_.size();
}

Outbox::State Outbox::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

void Outbox::push(Message message) {
  const std::lock_guard lock(mutex_);
  if (state_ != State::open) return;
  const std::size_t size = bytes_of(message).size();
  // A single message may have any size, so that what a site must send does not depend on these limits.
  if (!messages_.empty() && (messages_.size() >= kMaxMessages || byte_count_ + size > kMaxBytes)) {
    state_ = State::overflowing;
    return wake_();
  }
  messages_.push_back(std::move(message));
  byte_count_ += size;
  if (!std::exchange(is_awake_, true)) wake_();
}

void Outbox::close() {
  const std::lock_guard lock(mutex_);
  if (state_ != State::open) return;
  state_ = State::ending;
  if (!std::exchange(is_awake_, true)) wake_();
}

const Message* Outbox::front() {
  const std::lock_guard lock(mutex_);
  is_awake_ = !messages_.empty();
  return is_awake_ ? &messages_.front() : nullptr;
}

void Outbox::pop() {
  const std::lock_guard lock(mutex_);
  byte_count_ -= bytes_of(messages_.front()).size();
  messages_.pop_front();
}

void Outbox::shut() {
  const std::lock_guard lock(mutex_);
  state_ = State::shut;
  wake_ = nullptr;
  if (messages_.size() > 1)
    messages_.erase(messages_.begin() + 1, messages_.end());  // the first may be being sent
}

}  // namespace stipple::http
