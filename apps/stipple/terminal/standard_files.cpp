// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/terminal/standard_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

namespace stipple {

void open_standard_files() {
  for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(file, F_GETFD) != -1) continue;
    if (open("/dev/null", O_RDWR) != file) return;  // it takes the lowest free number, which is this one
  }
}

void write_message(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace stipple
