// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <string>

namespace stipple {

// A line about a long task on stderr: redrawn in place on a terminal, a plain line every few seconds
// elsewhere.
class Progress {
 public:
  explicit Progress(int total, int done_before = 0);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Whether it is time to say something again: what there is to say need not be put together before.
  bool is_due() const;
  // `note` says how it goes, such as "loss 0.0123  PSNR 31.2 dB". Shown only when it is due.
  void update(int done, const std::string& note);
  void finish(int done, const std::string& note);  // the last line stays
  double seconds() const;                          // since the start
  double rate(int done) const;                     // a second, since the start

 private:
  std::string time_left(int done) const;
  void draw(int done, const std::string& note, const std::string& time);

  using Clock = std::chrono::steady_clock;
  int total_, done_before_;
  bool on_terminal_;
  bool line_is_open_ = false;
  Clock::time_point start_, last_drawn_;
};

}  // namespace stipple
