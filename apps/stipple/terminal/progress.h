// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <string>

namespace stipple {

// The progress of a long task on stderr: one line that is redrawn on a terminal, or else a new line every few
// seconds.
class Progress {
 public:
  explicit Progress(int total, int done_before = 0);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void set_total(int total) { total_ = total; }
  void exclude(double seconds);  // in which the task did not go on
  // Whether update() would show anything. Ask first if the note is expensive to make.
  bool is_due() const;
  // Shows the progress if that is due, with a note such as "loss 0.0123  PSNR 31.2 dB".
  void update(int done, const std::string& note);
  void finish(int done, const std::string& note);  // always shown, and stays
  double seconds() const;                          // since the start
  double rate(int done) const;                     // per second, since the start

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
