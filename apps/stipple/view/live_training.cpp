// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/view/live_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "apps/stipple/terminal/interrupt.h"
#include "apps/stipple/view/earlier_history.h"
#include "apps/stipple/view/start_view.h"
#include "stipple/draw/shown_picture.h"
#include "stipple/io/json.h"

namespace stipple {

namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr double kStatusInterval_s = 0.25;
constexpr double kLookInterval_s = 0.004;  // between looks at what visitors want: steps may be far shorter
// A picture costs more than the time until it is with the sender: encoding and sending it slows down the
// steps that run meanwhile, all of them a little, of which StepDelay sees a part. By bench/watch_cost.py,
// runs lost 1.6 times as much as was measured here, on an H200 as on two cores of a CPU.
constexpr double kCostFactor = 1.6;
constexpr double kPausedInterval_s = 0.1;  // between looks at whether the program was interrupted
constexpr double kLastPictures_s = 2;
constexpr double kRunningShare = 0.05;  // weight of the latest step in running means
constexpr double kRateShare = 0.3;      // weight of the latest status in the running rate
constexpr double kWatchShare = 0.1;     // and in the running share of time that visitors cost
constexpr double kLeastWatchShare = 1e-3;
constexpr std::array<const char*, 5> kStateNames = {"training", "paused", "saving", "evaluating", "finished"};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

ordered_json known(double value) { return std::isfinite(value) ? ordered_json(value) : ordered_json(); }

void follow(double& mean, double value, double share) {
  if (std::isfinite(value)) mean = std::isfinite(mean) ? mean + share * (value - mean) : value;
}

Hello hello_of(const LiveRun& run) {
  const Gaussians model = run.trainer.gaussians();
  Hello hello;
  hello.mode = "training";
  hello.title = fs::absolute(run.folder).lexically_normal().filename().string();
  hello.backend = fmt::format("{}: {}", run.backend.name(), run.backend.description());
  ModelInfo info;
  info.name = hello.title;
  info.count = model.size();
  info.sh_degree = run.sh_degree;
  hello.models.push_back(info);
  const StartView start = start_view(robust_bounds(model), run.scene.views);
  hello.bounds = start.bounds;
  hello.start_camera = start.camera;
  hello.render = run.trainer.render_options();
  return hello;
}

}  // namespace

LiveTraining::LiveTraining(const LiveOptions& options, const LiveRun& run)
    : LiveTraining(options, run, hello_of(run)) {}

LiveTraining::LiveTraining(const LiveOptions& options, const LiveRun& run, const Hello& hello)
    : options_(options),
      run_(run),
      site_(hello, run.scene.views, earlier_history(run.folder, run.trainer.steps_done())),
      // Without a device of its own, the training would only share its time with another thread.
      sender_(site_.audience(), hello.bounds.radius, run.backend.own_memory_bytes() > 0),
      step_(run.trainer.steps_done()),
      server_(options.server, site_) {
  send_status();
}

void LiveTraining::stepped(const StepReport& report, double seconds) {
  step_ = report.step;
  seconds_ = seconds;
  refined_s_ = report.ms[static_cast<std::size_t>(Stage::kRefine)] / 1000;
  if (report.was_skipped) return;
  const auto loss = static_cast<double>(report.loss);
  follow(loss_, loss, kRunningShare);
  follow(psnr_, report.psnr, kRunningShare);
  site_.add_step({report.step, seconds, loss, report.psnr, report.gaussian_count});
}

void LiveTraining::evaluated(const Evaluation& evaluation, int step) {
  site_.add_evaluation({step, evaluation.psnr, evaluation.ssim, run_.trainer.device_gaussians().size()});
}

void LiveTraining::notify(NoticeKind kind, const std::string& text) {
  site_.audience().send_all(notice_text(kind, text));
}

void LiveTraining::enter(State state) {
  state_ = state;
  send_status();
}

void LiveTraining::carry_on() { enter(is_paused_ ? State::kPaused : State::kTraining); }

LiveTraining::Wish LiveTraining::serve() {
  const double step_s = seconds_since(served_);
  follow(step_s_, step_s, kRunningShare);
  const bool was_disturbed = std::exchange(is_disturbing_, !sender_.is_idle());
  const double charged_s = delay_.charge(step_s - std::exchange(refined_s_, 0), was_disturbed);
  if (charged_s > 0) site_.audience().spend(charged_s);
  Wish wish = Wish::kTrain;
  const bool may_look = is_paused_ || seconds_since(looked_) >= kLookInterval_s;
  if (may_look && (!site_.is_quiet() || is_paused_)) {
    wish = serve_and_charge();
    looked_ = Clock::now();
  }
  if (site_.audience().is_empty() && std::exchange(has_frame_, false)) run_.trainer.release_frame();
  served_ = Clock::now();
  return wish;
}

// Also charges what is no picture or score: asking who wants what.
LiveTraining::Wish LiveTraining::serve_and_charge() {
  const auto start = Clock::now();
  const double spent_s = site_.audience().spent_s(), paused_s = paused_s_;
  const Wish wish = serve_visitors();
  const double rest_s =
      seconds_since(start) - (site_.audience().spent_s() - spent_s) - (paused_s_ - paused_s);
  if (rest_s > 0 && !is_paused_) site_.audience().spend(rest_s);
  return wish;
}

LiveTraining::Wish LiveTraining::serve_visitors() {
  Wish wish = Wish::kTrain;
  for (bool may_wait = false;;) {
    const auto start = Clock::now();
    const bool was_paused = is_paused_;
    if (may_wait) site_.audience().wait(kPausedInterval_s);
    if (const auto command = site_.take_command()) obey(*command, wish);
    may_wait = !serve_request();
    report_if_due();
    if (was_paused) paused_s_ += seconds_since(start);
    if (wish != Wish::kTrain || !is_paused_ || interrupted()) return wish;
  }
}

void LiveTraining::obey(TrainingSite::Command command, Wish& wish) {
  using Command = TrainingSite::Command;
  if (command == Command::kSave) wish = Wish::kSave;
  if (command == Command::kStop) wish = Wish::kStop;
  if (command != Command::kPause && command != Command::kResume) return;
  is_paused_ = command == Command::kPause;
  carry_on();
}

// At most one picture or score: while it is made, the other requests may change. False if nothing is due.
bool LiveTraining::serve_request() {
  Audience& audience = site_.audience();
  if (is_paused_)
    audience.set_pace(1, 0);
  else
    audience.set_pace(options_.budget, std::isfinite(step_s_) ? step_s_ : 0);
  audience.set_model_version(run_.trainer.steps_done());
  if (sender_.is_busy()) return false;
  if (const std::optional<Audience::Order> order = audience.next()) {
    answer(*order);
    return true;
  }
  if (audience.has_debt()) return false;
  const std::optional<TrainingSite::ScoreRequest> request = site_.take_score_request();
  if (request) answer(*request);
  return request.has_value();
}

void LiveTraining::answer(const Audience::Order& order) {
  const auto start = Clock::now();
  std::string problem;
  try {
    FramePlanes planes = sender_.take_planes();
    render(order.wish, planes);
    has_frame_ = true;
    sender_.send({order, std::move(planes), run_.trainer.steps_done()});
  } catch (const DeviceLost&) {
    throw;
  } catch (const std::exception& error) {
    problem = error.what();
  }
  if (problem.empty()) {
    is_disturbing_ = true;
    site_.audience().finished(order, kCostFactor * seconds_since(start));
    return;
  }
  run_.trainer.release_frame();
  site_.audience().failed(order);
  if (!std::exchange(has_told_of_failure_, true))
    notify(NoticeKind::kWarning,
           fmt::format("a picture could not be rendered, and the next ones are smaller: {}", problem));
}

void LiveTraining::render(const CameraMessage& wish, FramePlanes& planes) {
  RenderOptions options = options_to_show(wish.shown, run_.trainer.render_options());
  options.background = wish.background;
  options.scale_modifier *= wish.scale_modifier;
  const View view{wish.camera, options};
  if (wish.shown != Shown::kGaussians)
    return download_planes(run_.backend, run_.trainer.render(view, wish.sh_degree), planes);
  const Ellipsoids ellipsoids = run_.trainer.with_model(
      [&](const DeviceGaussians& model) { return gaussians_as_ellipsoids(run_.backend, model); });
  Pass pass;
  render_frame(run_.backend, ellipsoids.gaussians, ellipsoids.precomputed, view, pass);
  download_planes(run_.backend, pass.frame, planes);
}

void LiveTraining::answer(const TrainingSite::ScoreRequest& request) {
  const auto start = Clock::now();
  ScoreInfo score{
      .view = request.view, .step = run_.trainer.steps_done(), .psnr = kUnknown, .ssim = kUnknown};
  try {
    const std::size_t view = request.view;
    const Evaluation evaluation = run_.trainer.evaluate({&view, 1});
    score.psnr = evaluation.psnr;
    score.ssim = evaluation.ssim;
  } catch (const DeviceLost&) {
    throw;
  } catch (const std::exception& error) {
    request.visitor->send_text(notice_text(NoticeKind::kWarning, error.what()));
  }
  request.visitor->send_text(score_text(score));
  site_.audience().spend(seconds_since(start));
}

void LiveTraining::report_if_due() {
  if (seconds_since(told_.at) < kStatusInterval_s) return;
  if (step_ != told_.step || site_.audience().spent_s() != told_.spent_s || watch_share_ != 0) send_status();
}

void LiveTraining::send_status() {
  const double seconds = seconds_since(told_.at), spent_s = site_.audience().spent_s();
  if (seconds >= kStatusInterval_s) {
    const double trained_s = seconds - (paused_s_ - told_.paused_s);
    if (told_.step >= 0 && step_ > told_.step)
      follow(steps_per_second_, (step_ - told_.step) / trained_s, kRateShare);
    const double share = (spent_s - told_.spent_s) / seconds;
    watch_share_ += kWatchShare * (share - watch_share_);
    if (watch_share_ < kLeastWatchShare) watch_share_ = 0;
    told_ = {Clock::now(), step_, spent_s, paused_s_};
  }
  const int last_step = run_.trainer.last_step();
  const ordered_json status{{"type", "status"},
                            {"step", step_},
                            {"last_step", last_step},
                            {"state", kStateNames[static_cast<std::size_t>(state_)]},
                            {"loss", known(loss_)},
                            {"psnr", known(psnr_)},
                            {"gaussians", run_.trainer.device_gaussians().size()},
                            {"steps_per_second", known(steps_per_second_)},
                            {"seconds", seconds_},
                            {"seconds_left", known((last_step - step_) / steps_per_second_)},
                            {"watch_share", watch_share_}};
  site_.send_status(status.dump());
}

void LiveTraining::finish() {
  enter(State::kFinished);
  Audience& audience = site_.audience();
  audience.set_pace(1, 0);
  audience.set_model_version(run_.trainer.steps_done());
  const auto start = Clock::now();
  while (!audience.is_empty() && !interrupted() && seconds_since(start) < kLastPictures_s) {
    if (sender_.is_busy()) {
      audience.wait(kPausedInterval_s);
      continue;
    }
    const std::optional<Audience::Order> order = audience.next();
    if (!order) break;
    answer(*order);
  }
  sender_.finish();
}

}  // namespace stipple
