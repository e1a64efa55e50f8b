// SPDX-License-Identifier: Apache-2.0
#pragma once
// Decides which visitor gets the next picture, when, and how large. It renders nothing, knows no clock and
// is not synchronised: time is passed in, in seconds from any start.
//
// What pictures may cost is a share of the time. Visitors who want a picture earn equal parts of it on
// accounts of their own, and a picture is due when its visitor can pay for it. So a visitor whose pictures
// are large gets them less often, but nobody waits for them. An expensive picture is saved up for, while a
// visitor who moves gets pictures so small that his income pays for a good number per second.
#include <cstdint>
#include <deque>
#include <map>
#include <optional>

namespace stipple {

// Predicts what a picture costs: a fixed part and a part per pixel, learned from recent pictures.
class PictureCost {
 public:
  void add(double pixels, double seconds);
  bool is_known() const { return weight_ > 0; }
  double fixed_s() const;  // 0 as long as nothing is known
  double seconds(double pixels) const;

 private:
  void update_slope();
  // Sums over the recent pictures, each of which has less weight the older it is.
  double weight_ = 0, pixels_ = 0, pixels2_ = 0, seconds_ = 0, pixels_seconds_ = 0;
  double per_pixel_s_ = 0;
};

// What a visitor wants to see.
struct PictureRequest {
  std::int64_t serial = 0;
  int width_px = 0, height_px = 0;  // at full size
  int picture_count = 1;            // of an answer: the number of models
  bool is_moving = false;
};

class FrameScheduler {
 public:
  using Visitor = const void*;  // anything that identifies one

  // The answer to a visitor's newest request: to be rendered, encoded and sent.
  struct Answer {
    Visitor visitor = nullptr;
    PictureRequest request;
    double scale = 0;  // of its sides, as a share of the full size
    int width_px = 0, height_px = 0;
    bool is_sharp = false;  // has the full size
    double estimate_s = 0;  // of its cost
  };
  struct Next {
    std::optional<Answer> answer;
    std::optional<double> ask_again_s;  // without an answer: when; none if first something must happen
  };

  // `share` is the share of time that pictures may cost; from 1 on, it is unlimited. `interval_s` is the time
  // between two calls of next(), if the caller does other work in between.
  void set_pace(double share, double interval_s = 0);
  // Pictures of other versions are no longer what a visitor at rest should see.
  void set_model_version(std::int64_t version) { model_version_ = version; }

  void want(Visitor visitor, const PictureRequest& request, double now_s);  // replaces an earlier request
  void rest(Visitor visitor);                                               // wants no pictures
  void shown(Visitor visitor, std::int64_t serial);  // one picture of this serial was drawn, or skipped
  void leave(Visitor visitor);
  bool is_anyone_waiting() const;  // whether anyone wants pictures at all, now or after a change of the model

  // For each answer, the caller says in the end what it cost, or that it could not be rendered: then later
  // ones are smaller, and the next one comes after a while. Until then, its estimated cost counts, so that
  // there may be several answers on their way.
  Next next(double now_s);
  void finished(const Answer& answer, double cost_s);
  void failed(const Answer& answer, double now_s);

  // Other work for visitors is paid from the same share: no pictures are due until it is paid off, and there
  // should be none as long as an earlier one is not.
  bool has_debt() const { return share_ < 1 && pool_s_ < 0; }
  void spend(double cost_s);

  double spent_s() const { return spent_s_; }  // in total

 private:
  struct Sent {
    std::int64_t serial;
    int picture_count;  // not yet drawn
  };
  struct State {
    std::optional<PictureRequest> request;
    double requested_s = 0;
    std::deque<Sent> ahead;   // answers that have not been drawn, oldest first
    double scale = 0;         // of the last answer to this request; 0: none
    double moving_scale = 0;  // of the last one while the camera moved
    double answered_s = 0;    // when it was planned
    std::int64_t answered_version = 0;
    PictureCost cost;
    double account_s = 0;
    double used_s = 0;  // in total; the visitor with the least is first where several can pay
  };

  std::optional<double> due_s(const State& v, double now_s) const;
  double next_scale(const State& v) const;
  double affordable_scale(const State& v, double cost_s) const;
  const PictureCost& cost_of(const State& v) const;
  double estimate_s(const State& v, double scale) const;
  double most_saved_s(const State& v) const;
  double available_s(const State& v) const;
  void earn(double now_s);
  void pay(State& v, double cost_s);
  Answer plan(Visitor visitor, State& v, double now_s);

  std::map<Visitor, State> visitors_;
  PictureCost cost_;  // of all visitors; what a new one starts with
  double share_ = 1, interval_s_ = 0;
  std::int64_t model_version_ = 0;
  int active_count_ = 0;  // visitors who want a picture now or soon
  double pool_s_ = 0;     // what nobody has earned, for whoever comes next; debts of those who left
  std::optional<double> earned_until_s_;
  double largest_scale_ = 1;
  double not_before_s_ = 0;
  double spent_s_ = 0;
};

}  // namespace stipple
