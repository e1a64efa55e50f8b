// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/train/guard_sentence.h"

#include <fmt/format.h>

namespace stipple {

std::string guard_sentence(const GuardEvent& event) {
  const std::string fall = fmt::format("the watched photos fell from {:.2f} to {:.2f} dB after step {}",
                                       event.best_psnr, event.psnr, event.best_step);
  switch (event.kind) {
    case GuardEvent::Kind::kStoppedGrowth:
      return fmt::format("guard: {}; training continues from the model of that step, without growth", fall);
    case GuardEvent::Kind::kEndsEarly:
      return fmt::format(
          "guard: {}; the model of that step is polished on all photos, and the run ends at step {}", fall,
          event.last_step);
    case GuardEvent::Kind::kGaveViewsBack:
      return fmt::format("guard: {}; the model of that step is polished on all photos until step {}", fall,
                         event.last_step);
    case GuardEvent::Kind::kRecovered:
      break;
  }
  return fmt::format(
      "the model collapsed; training continues from that of step {}, without growth and noise and with half "
      "the learning rates",
      event.best_step);
}

}  // namespace stipple
