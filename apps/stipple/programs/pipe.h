// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "stipple/core/error.h"

namespace stipple {

// Both ends are closed on exec, so that a program inherits only the copies that are made for it.
class Pipe {
 public:
  Pipe() {
    if (pipe(ends_) != 0) throw Error(fmt::format("cannot create a pipe: {}", std::strerror(errno)));
    for (const int end : ends_) fcntl(end, F_SETFD, FD_CLOEXEC);
  }
  ~Pipe() {
    close(ends_[0]);
    close_writer();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int reader() const { return ends_[0]; }
  int writer() const { return ends_[1]; }
  void close_writer() {
    if (ends_[1] >= 0) close(ends_[1]);
    ends_[1] = -1;
  }

 private:
  int ends_[2] = {-1, -1};
};

}  // namespace stipple
