// SPDX-License-Identifier: Apache-2.0
#pragma once
// The messages that wait for a visitor.
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <variant>

#include "apps/stipple/server/server.h"

namespace stipple::http {

// One message, which is text if it is a string.
using Message = std::variant<std::string, SharedBytes>;
std::span<const std::byte> bytes_of(const Message& message);

// What the site holds of a visitor. It outlives the visitor, and the server.
class Outbox final : public Connection {
 public:
  enum class State { open, ending, overflowing, shut };

  // `wake` asks the thread of the server to look at the outbox. It is not called after shut().
  explicit Outbox(std::function<void()> wake) : wake_(std::move(wake)) {}

  void send_text(std::string message) override { push(std::move(message)); }
  void send_binary(SharedBytes message) override { push(std::move(message)); }
  std::size_t waiting() const override;
  void close() override;  // after what waits has been sent

  // For the thread of the server.
  State state() const;
  // The first message, which stays where it is until pop(); null if there is none. After null, the next
  // message wakes the server again.
  const Message* front();
  void pop();
  void shut();

 private:
  void push(Message message);

  mutable std::mutex mutex_;
  std::function<void()> wake_;
  std::deque<Message> messages_;
  std::size_t byte_count_ = 0;
  State state_ = State::open;
  bool is_awake_ = false;
};

}  // namespace stipple::http
