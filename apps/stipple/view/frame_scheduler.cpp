// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/view/frame_scheduler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace stipple {

namespace {

constexpr double kMovingRate = 15;          // pictures per second while the camera moves, if the share allows
constexpr double kFirst_s = 0.25;           // at rest, a first picture that takes longer than this is coarse
constexpr double kRefreshInterval_s = 0.1;  // between pictures of a model that changes, at rest
constexpr double kStillMoving_s = 0.25;     // a camera that has not moved for this long is at rest
constexpr double kBurst_s = 0.05;           // what can be saved up for pictures that are cheaper than this
constexpr double kTolerance_s = 1e-9;       // for rounding
constexpr double kAfterFailure_s = 1;
constexpr std::size_t kMostAhead = 2;
constexpr double kFirstPixelShare = 0.25;  // of the cost of the first picture: the part that its pixels have
constexpr double kForgetting = 0.85;       // the weight of a picture when the next one has been measured
// Below this share of the fixed cost, fewer pixels hardly make a picture cheaper.
constexpr double kLeastPixelShare = 0.3;
constexpr double kLeastSide_px = 160;   // of the longer side: smaller pictures show too little
constexpr double kUnknownScale = 0.25;  // before anything has been measured
// Few sizes, and a larger one only if it is clearly affordable, so that pictures do not flicker.
constexpr std::array kScales = {1.0, 0.75, 0.5, 0.375, 0.25, 0.1875, 0.125};
constexpr double kRoomToGrow = 0.8;

double pixels_of(const PictureRequest& request, double scale) {
  return scale * request.width_px * scale * request.height_px;
}

int scaled(int side_px, double scale) { return std::max(1, static_cast<int>(std::lround(side_px * scale))); }

}  // namespace

void PictureCost::add(double pixels, double seconds) {
  if (!is_known() && pixels > 0) per_pixel_s_ = kFirstPixelShare * seconds / pixels;
  for (double* sum : {&weight_, &pixels_, &pixels2_, &seconds_, &pixels_seconds_}) *sum *= kForgetting;
  weight_ += 1;
  pixels_ += pixels;
  pixels2_ += pixels * pixels;
  seconds_ += seconds;
  pixels_seconds_ += pixels * seconds;
  update_slope();
}

// That of a line through the recent pictures. As long as these have similar sizes, it stays what it was.
void PictureCost::update_slope() {
  const double pixels = pixels_ / weight_, seconds = seconds_ / weight_;
  if (!(pixels > 0)) return;
  const double variance = pixels2_ / weight_ - pixels * pixels;
  const double covariance = pixels_seconds_ / weight_ - pixels * seconds;
  const double doubt = 0.01 * pixels * pixels;
  const double slope = (covariance + doubt * per_pixel_s_) / (variance + doubt);
  per_pixel_s_ = std::clamp(slope, 0.0, seconds / pixels);
}

double PictureCost::fixed_s() const {
  return is_known() ? std::max(0.0, (seconds_ - per_pixel_s_ * pixels_) / weight_) : 0;
}

double PictureCost::seconds(double pixels) const { return fixed_s() + per_pixel_s_ * pixels; }

void FrameScheduler::set_pace(double share, double interval_s) {
  share_ = share;
  interval_s_ = interval_s;
}

void FrameScheduler::want(Visitor visitor, const PictureRequest& request, double now_s) {
  State& v = visitors_[visitor];
  if (!v.request) {  // who has used little while away is not served alone for long
    double least = std::numeric_limits<double>::infinity();
    for (const auto& [other, state] : visitors_)
      if (state.request) least = std::min(least, state.used_s);
    if (std::isfinite(least)) v.used_s = std::max(v.used_s, least);
  }
  v.request = request;
  v.requested_s = now_s;
  v.scale = 0;
  // What was saved up for a large picture at rest must not be spent in a burst of small ones.
  if (request.is_moving) v.account_s = std::min(v.account_s, most_saved_s(v));
}

void FrameScheduler::rest(Visitor visitor) {
  if (const auto found = visitors_.find(visitor); found != visitors_.end()) found->second.request.reset();
}

void FrameScheduler::shown(Visitor visitor, std::int64_t serial) {
  const auto found = visitors_.find(visitor);
  if (found == visitors_.end()) return;
  std::deque<Sent>& ahead = found->second.ahead;
  const auto drawn =
      std::find_if(ahead.begin(), ahead.end(), [&](const Sent& s) { return s.serial == serial; });
  if (drawn == ahead.end()) return;
  ahead.erase(ahead.begin(), drawn);
  if (--ahead.front().picture_count == 0) ahead.pop_front();
}

void FrameScheduler::leave(Visitor visitor) {
  const auto found = visitors_.find(visitor);
  if (found == visitors_.end()) return;
  pool_s_ = std::min(pool_s_ + found->second.account_s, kBurst_s);
  visitors_.erase(found);
}

bool FrameScheduler::is_anyone_waiting() const {
  return std::any_of(visitors_.begin(), visitors_.end(), [](const auto& v) { return v.second.request; });
}

// When a visitor wants the next picture if nothing else happens.
std::optional<double> FrameScheduler::due_s(const State& v, double now_s) const {
  if (!v.request || v.ahead.size() >= kMostAhead) return {};
  if (v.scale == 0) return now_s;
  const bool is_old = v.answered_version != model_version_;
  if (v.scale >= largest_scale_ && !is_old) return {};
  const double at_rest_s = v.requested_s + (v.request->is_moving ? kStillMoving_s : 0);
  const double refreshed_s = v.scale < largest_scale_ ? now_s : v.answered_s + kRefreshInterval_s;
  return std::max({now_s, at_rest_s, refreshed_s});
}

// Until a visitor has got a picture, those of the others tell.
const PictureCost& FrameScheduler::cost_of(const State& v) const {
  return v.cost.is_known() ? v.cost : cost_;
}

double FrameScheduler::estimate_s(const State& v, double scale) const {
  return v.request->picture_count * cost_of(v).seconds(pixels_of(*v.request, scale));
}

double FrameScheduler::most_saved_s(const State& v) const {
  return std::max(kBurst_s, estimate_s(v, next_scale(v)));
}

// The largest scale at which a picture costs no more than this, or little more than the smallest one.
double FrameScheduler::affordable_scale(const State& v, double cost_s) const {
  const PictureRequest& r = *v.request;
  if (!cost_of(v).is_known()) return std::min(kUnknownScale, largest_scale_);
  const double limit_s = std::max(cost_s, (1 + kLeastPixelShare) * r.picture_count * cost_of(v).fixed_s());
  const double least = kLeastSide_px / std::max({r.width_px, r.height_px, 1});
  double smallest = largest_scale_;
  for (const double scale : kScales) {
    if (scale > largest_scale_) continue;
    if (scale < least) break;
    smallest = scale;
    const bool would_grow = v.moving_scale > 0 && scale > v.moving_scale;
    if (estimate_s(v, scale) <= limit_s * (would_grow ? kRoomToGrow : 1)) return scale;
  }
  return smallest;
}

// At rest, every answer has at least twice the width and the height of the one before.
double FrameScheduler::next_scale(const State& v) const {
  const double income = std::min(share_, 1.0) / std::max(active_count_, 1);
  const double moving_scale = affordable_scale(v, income * std::max(1 / kMovingRate, interval_s_));
  if (v.scale == 0 && v.request->is_moving) return moving_scale;
  const double scale =
      v.scale > 0 ? 2 * v.scale : std::max(moving_scale, affordable_scale(v, income * kFirst_s));
  if (scale >= largest_scale_) return largest_scale_;
  if (!cost_of(v).is_known()) return scale;
  return estimate_s(v, largest_scale_) <= 2 * estimate_s(v, scale) ? largest_scale_ : scale;
}

double FrameScheduler::available_s(const State& v) const { return v.account_s + std::max(pool_s_, 0.0); }

// Pays the income since the last call into the accounts, up to what the next picture of each costs.
void FrameScheduler::earn(double now_s) {
  const double income = share_ * std::max(0.0, now_s - earned_until_s_.value_or(now_s));
  earned_until_s_ = now_s;
  if (share_ >= 1) return;
  double left = income;
  const double repaid = std::clamp(-pool_s_, 0.0, left);
  pool_s_ += repaid;
  left -= repaid;
  std::map<State*, double> missing;  // until the account is full
  for (auto& [visitor, v] : visitors_) {
    if (!due_s(v, now_s)) continue;
    const double most = most_saved_s(v);
    if (v.account_s < most) missing[&v] = most - v.account_s;
  }
  while (!missing.empty() && left > 0) {
    const double part = left / static_cast<double>(missing.size());
    for (auto each = missing.begin(); each != missing.end();) {
      const double paid = std::min(part, each->second);
      each->first->account_s += paid;
      left -= paid;
      each->second -= paid;
      each = each->second > 0 ? std::next(each) : missing.erase(each);
    }
    if (part < kTolerance_s) break;
  }
  pool_s_ = std::min(pool_s_ + left, std::max(pool_s_, kBurst_s));
}

void FrameScheduler::pay(State& v, double cost_s) {
  v.used_s += cost_s;
  if (share_ >= 1) return;
  v.account_s -= cost_s;
  const double from_pool = std::clamp(-v.account_s, 0.0, std::max(pool_s_, 0.0));
  v.account_s += from_pool;
  pool_s_ -= from_pool;
}

FrameScheduler::Answer FrameScheduler::plan(Visitor visitor, State& v, double now_s) {
  Answer answer;
  answer.visitor = visitor;
  answer.request = *v.request;
  answer.scale = next_scale(v);
  answer.width_px = scaled(v.request->width_px, answer.scale);
  answer.height_px = scaled(v.request->height_px, answer.scale);
  answer.is_sharp = answer.scale >= 1;
  answer.estimate_s = estimate_s(v, answer.scale);
  if (v.request->is_moving && v.scale == 0) v.moving_scale = answer.scale;
  v.ahead.push_back({v.request->serial, v.request->picture_count});
  v.scale = answer.scale;
  v.answered_s = now_s;
  v.answered_version = model_version_;
  pay(v, answer.estimate_s);
  return answer;
}

FrameScheduler::Next FrameScheduler::next(double now_s) {
  active_count_ = static_cast<int>(std::count_if(visitors_.begin(), visitors_.end(),
                                                 [&](const auto& v) { return due_s(v.second, now_s); }));
  earn(now_s);
  Next result;
  const auto ask_again = [&](double at_s) {
    result.ask_again_s = std::min(at_s, result.ask_again_s.value_or(at_s));
  };
  auto first = visitors_.end();
  for (auto each = visitors_.begin(); each != visitors_.end(); ++each) {
    const State& v = each->second;
    const std::optional<double> due = due_s(v, now_s);
    if (!due) continue;
    if (const double at_s = std::max(*due, not_before_s_); at_s > now_s) {
      ask_again(at_s);
      continue;
    }
    const double missing_s = estimate_s(v, next_scale(v)) - available_s(v);
    if (share_ < 1 && (missing_s > kTolerance_s || v.account_s < -kTolerance_s)) {
      ask_again(now_s + std::max(missing_s, -v.account_s) / share_ * active_count_);
    } else if (first == visitors_.end() || v.used_s < first->second.used_s) {
      first = each;
    }
  }
  if (first == visitors_.end()) return result;
  return {plan(first->first, first->second, now_s), {}};
}

void FrameScheduler::finished(const Answer& answer, double cost_s) {
  spent_s_ += cost_s;
  const double pixels = static_cast<double>(answer.width_px) * answer.height_px;
  const double each_s = cost_s / answer.request.picture_count;
  cost_.add(pixels, each_s);
  if (const auto found = visitors_.find(answer.visitor); found != visitors_.end()) {
    State& v = found->second;
    if (v.cost.is_known())
      v.cost.add(pixels, each_s);
    else
      v.cost = cost_;
    pay(v, cost_s - answer.estimate_s);
  } else if (share_ < 1) {
    pool_s_ -= cost_s - answer.estimate_s;
  }
}

void FrameScheduler::spend(double cost_s) {
  spent_s_ += cost_s;
  if (share_ < 1) pool_s_ -= cost_s;
}

void FrameScheduler::failed(const Answer& answer, double now_s) {
  largest_scale_ = std::max(kScales.back(), std::min(largest_scale_, answer.scale) / 2);
  not_before_s_ = now_s + kAfterFailure_s;
  const auto found = visitors_.find(answer.visitor);
  if (found == visitors_.end()) return;
  State& v = found->second;
  if (!v.ahead.empty()) v.ahead.pop_back();
  if (v.request && v.request->serial == answer.request.serial) v.scale = 0;
}

}  // namespace stipple
