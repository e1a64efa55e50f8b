// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "apps/stipple/programs/pipe.h"

namespace stipple {

// A group of processes that does not outlive this process: however it ends, even by SIGKILL, they are killed.
// The first of them is a watcher, which reads from a pipe that only this process can write to. The end of the
// pipe tells it that this process is gone. Processes that leave the group, as daemons do, escape it.
class ProcessGroup {
 public:
  ProcessGroup();
  ~ProcessGroup();  // kills what is left of the group; the started processes must have been waited for
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  // Starts a program with an empty stdin, and with stdout and stderr connected to `output`.
  pid_t start(const std::filesystem::path& program, const std::vector<std::string>& arguments, int output);

  void send(int signal) const;  // to all processes of the group; only SIGKILL ends the watcher, too

 private:
  Pipe alive_;
  pid_t watcher_ = 0;  // also the number of the group
};

}  // namespace stipple
