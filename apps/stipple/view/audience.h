// SPDX-License-Identifier: Apache-2.0
#pragma once
// The visitors of a page to whom the server sends pictures: who is there, what each wants to see, and whose
// picture is next. Any thread may call it.
#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "apps/stipple/server/server.h"
#include "apps/stipple/view/frame_scheduler.h"
#include "apps/stipple/view/messages.h"

namespace stipple {

class Audience {
 public:
  // Pictures to be rendered: one of each model in `wish.models`. The camera has the size that they are to
  // have.
  struct Order {
    FrameScheduler::Answer answer;
    std::shared_ptr<Connection> visitor;
    CameraMessage wish;
  };

  void enter(const std::shared_ptr<Connection>& visitor);
  void leave(const std::shared_ptr<Connection>& visitor);
  bool is_empty() const { return is_empty_.load(std::memory_order_relaxed); }
  void send_all(const std::string& text);

  // What a visitor says about pictures; false if the message is about something else.
  bool take(const std::shared_ptr<Connection>& visitor, const PageMessage& message);

  // As FrameScheduler has them.
  void set_pace(double share, double interval_s);
  void set_model_version(std::int64_t version);
  std::optional<Order> next();
  void finished(const Order& order, double cost_s);
  void failed(const Order& order);
  bool has_debt() const;
  void spend(double cost_s);
  double spent_s() const;

  // Returns when next() may have something new, after wake(), or after this many seconds.
  void wait(double most_s);
  void wake();

 private:
  struct Visitor {
    std::shared_ptr<Connection> connection;
    CameraMessage wish;  // the newest
  };

  void changed();

  mutable std::mutex mutex_;
  std::condition_variable change_;
  bool has_changed_ = false;
  std::map<const Connection*, Visitor> visitors_;
  FrameScheduler scheduler_;
  std::optional<double> ask_again_s_;
  std::atomic<bool> is_empty_ = true;
};

}  // namespace stipple
