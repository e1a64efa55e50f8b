// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/terminal/interrupt.h"

#include <signal.h>  // sigaction() is POSIX, not ISO C

#include <csignal>

#include "stipple/core/error.h"

namespace stipple {

namespace {

volatile std::sig_atomic_t was_interrupted = 0;

void on_signal(int signal) {
  was_interrupted = 1;
  std::signal(signal, SIG_DFL);
}

void on_hangup(int) { was_interrupted = 1; }

bool is_ignored(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

void catch_interrupts() {
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  if (!is_ignored(SIGHUP)) std::signal(SIGHUP, on_hangup);
}

bool interrupted() { return was_interrupted != 0; }

void stop_if_interrupted() {
  if (interrupted()) throw Error("interrupted; nothing was written");
}

}  // namespace stipple
