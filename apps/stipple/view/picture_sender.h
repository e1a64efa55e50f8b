// SPDX-License-Identifier: Apache-2.0
#pragma once
// Makes pictures of rendered frames and sends them to the visitors who wanted them.
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "apps/stipple/view/audience.h"
#include "stipple/backend/render.h"

namespace stipple {

class PictureSender {
 public:
  struct Job {
    Audience::Order order;
    FramePlanes planes;
    int step;  // of the training
  };

  // With a thread of its own, or in the thread that calls send(). `middle_depth` is explained in Appearance.
  PictureSender(Audience& audience, float middle_depth, bool has_thread);
  ~PictureSender();  // drops what waits
  PictureSender(const PictureSender&) = delete;
  PictureSender& operator=(const PictureSender&) = delete;

  // Whether so many frames wait that no more should be rendered. The audience is woken when that ends.
  bool is_busy() const;
  bool is_idle() const;       // nothing waits, and nothing is in work
  FramePlanes take_planes();  // those of an earlier frame, so that their memory is used again
  void send(Job job);
  void finish();  // waits until everything is sent

 private:
  void work();
  void make(const Job& job);

  Audience& audience_;
  const float middle_depth_;
  mutable std::mutex mutex_;
  std::condition_variable change_;
  std::deque<Job> jobs_;  // the first one may be in work
  std::vector<FramePlanes> unused_;
  bool is_over_ = false;
  std::thread thread_;  // last, so that it finds the others
};

}  // namespace stipple
