// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/terminal/interrupt.h"

#include <csignal>

namespace stipple {

namespace {

volatile std::sig_atomic_t was_interrupted = 0;

void on_signal(int signal) {
  was_interrupted = 1;
  std::signal(signal, SIG_DFL);
}

}  // namespace

void catch_interrupts() {
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
}

bool interrupted() { return was_interrupted != 0; }

}  // namespace stipple
