// SPDX-License-Identifier: Apache-2.0
// Part of the public interface.
#pragma once

namespace stipple {

// Something that the trainer did to keep the model from getting worse (docs/training.md).
struct GuardEvent {
  enum class Kind {
    kStoppedGrowth,  // went back to the best model, which no longer grows
    kEndsEarly,      // went back to the best model, which is polished on all photos; the run then ends
    kRecovered,      // the model had collapsed: went back to the best model, with safer settings
    kGaveViewsBack,  // the watched views are trained on from now on, starting from the best model
  };
  Kind kind = Kind::kStoppedGrowth;
  int best_step = 0;               // of the best model
  double psnr = 0, best_psnr = 0;  // of the model that was given up, and of the best one
  int last_step = 0;               // at which the run will end
};

// "stopped growth" and so on.
inline const char* to_text(GuardEvent::Kind kind) {
  switch (kind) {
    case GuardEvent::Kind::kStoppedGrowth:
      return "stopped growth";
    case GuardEvent::Kind::kEndsEarly:
      return "ends early";
    case GuardEvent::Kind::kRecovered:
      return "recovered";
    case GuardEvent::Kind::kGaveViewsBack:
      break;
  }
  return "gave views back";
}

}  // namespace stipple
