// SPDX-License-Identifier: Apache-2.0
#pragma once
// Serves a page on which visitors watch a run, and steer it. Everything here is for the thread that trains,
// which renders their pictures between two steps.
#include <chrono>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>

#include "apps/stipple/server/server.h"
#include "apps/stipple/view/picture_sender.h"
#include "apps/stipple/view/step_delay.h"
#include "apps/stipple/view/training_site.h"
#include "stipple/train/trainer.h"

namespace stipple {

struct LiveOptions {
  ServerOptions server;
  double budget = 0.1;  // the share of time that visitors may cost
};

struct LiveRun {  // what they watch; all of it must outlive LiveTraining
  Backend& backend;
  const Scene& scene;
  Trainer& trainer;
  std::filesystem::path folder;  // if the run is resumed, with its earlier part
  int sh_degree = 3;             // in the end
};

class LiveTraining {
 public:
  enum class State { kTraining, kPaused, kSaving, kEvaluating, kFinished };
  enum class Wish { kTrain, kSave, kStop };

  LiveTraining(const LiveOptions& options, const LiveRun& run);

  std::string url() const { return server_.url(); }

  // What has happened. `seconds` are those of training.
  void stepped(const StepReport& report, double seconds);
  void evaluated(const Evaluation& evaluation, int step);
  void notify(NoticeKind kind, const std::string& text);
  void enter(State state);
  void carry_on();  // with what was interrupted: back to training, or to the pause

  // Between two steps: serves what is due, and returns what the visitors want to happen next. While the run
  // is paused, it waits, until they want something else or the program is interrupted.
  Wish serve();
  bool is_paused() const { return is_paused_; }
  double paused_s() const { return paused_s_; }  // in total

  // Shows the last model to everybody before the server ends.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;

  struct Told {  // by the last status
    Clock::time_point at = Clock::now();
    int step = -1;
    double spent_s = 0, paused_s = 0;
  };

  LiveTraining(const LiveOptions& options, const LiveRun& run, const Hello& hello);

  Wish serve_and_charge();
  Wish serve_visitors();
  void obey(TrainingSite::Command command, Wish& wish);
  bool serve_request();
  void answer(const Audience::Order& order);
  void answer(const TrainingSite::ScoreRequest& request);
  void render(const CameraMessage& wish, FramePlanes& planes);
  void report_if_due();
  void send_status();

  const LiveOptions options_;
  const LiveRun run_;
  TrainingSite site_;
  PictureSender sender_;

  State state_ = State::kTraining;
  bool is_paused_ = false;
  double paused_s_ = 0;
  int step_;
  double seconds_ = 0;
  double loss_ = kUnknown, psnr_ = kUnknown, step_s_ = kUnknown,
         steps_per_second_ = kUnknown;  // running means
  double watch_share_ = 0;
  Clock::time_point served_ = Clock::now(), looked_ = served_;
  StepDelay delay_;
  double refined_s_ = 0;        // of the last step
  bool is_disturbing_ = false;  // a picture was rendered before the step that is now under way, or is in work
  bool has_frame_ = false;
  bool has_told_of_failure_ = false;
  Told told_;
  static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

  Server server_;  // last, since it uses the site
};

}  // namespace stipple
