// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/programs/process_group.h"

#include <spawn.h>
#include <sys/wait.h>

#include <csignal>

extern char** environ;

namespace stipple {

namespace {

namespace fs = std::filesystem;

// A group of 0 means a new one, whose number is that of the process.
class SpawnSettings {
 public:
  explicit SpawnSettings(pid_t group) {
    posix_spawn_file_actions_init(&files_);
    posix_spawnattr_init(&attributes_);
    posix_spawnattr_setpgroup(&attributes_, group);
    set_flags(POSIX_SPAWN_SETPGROUP);
  }
  ~SpawnSettings() {
    posix_spawnattr_destroy(&attributes_);
    posix_spawn_file_actions_destroy(&files_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  void block_signals() {
    sigset_t all;
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &all);
    set_flags(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  }
  void open_null(int file, int mode) {
    posix_spawn_file_actions_addopen(&files_, file, "/dev/null", mode, 0);
  }
  void connect(int file, int to) { posix_spawn_file_actions_adddup2(&files_, to, file); }

  pid_t spawn(const fs::path& program, const std::vector<std::string>& arguments, char** environment) const {
    std::string name = program.string();
    std::vector<char*> words = {name.data()};
    for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
    words.push_back(nullptr);
    pid_t id = 0;
    const int error = posix_spawn(&id, name.c_str(), &files_, &attributes_, words.data(), environment);
    if (error != 0) throw Error(fmt::format("cannot start {}: {}", name, std::strerror(error)));
    return id;
  }

 private:
  void set_flags(int flags) { posix_spawnattr_setflags(&attributes_, static_cast<short>(flags)); }

  posix_spawn_file_actions_t files_;
  posix_spawnattr_t attributes_;
};

// The shell makes a smaller watcher than a fork of this process, which may hold many gigabytes.
pid_t start_watcher(int alive) {
  SpawnSettings settings(0);
  settings.block_signals();  // from its first moment, it must survive what the rest of the group gets
  settings.connect(STDIN_FILENO, alive);
  settings.open_null(STDOUT_FILENO, O_WRONLY);
  settings.connect(STDERR_FILENO, STDOUT_FILENO);
  char* no_environment[] = {nullptr};
  return settings.spawn("/bin/sh", {"-c", "while read -r _; do :; done; kill -KILL 0"}, no_environment);
}

}  // namespace

ProcessGroup::ProcessGroup() {
  // A caller that ignores SIGCHLD passes that on, and the exit status of every process would be lost.
  std::signal(SIGCHLD, SIG_DFL);
  watcher_ = start_watcher(alive_.reader());
}

ProcessGroup::~ProcessGroup() {
  send(SIGKILL);
  while (waitpid(watcher_, nullptr, 0) < 0 && errno == EINTR) continue;
}

pid_t ProcessGroup::start(const fs::path& program, const std::vector<std::string>& arguments, int output) {
  SpawnSettings settings(watcher_);
  settings.open_null(STDIN_FILENO, O_RDONLY);
  settings.connect(STDOUT_FILENO, output);
  settings.connect(STDERR_FILENO, output);
  return settings.spawn(program, arguments, environ);
}

// The watcher is waited for only by the destructor, so its number cannot belong to another group.
void ProcessGroup::send(int signal) const { kill(-watcher_, signal); }

}  // namespace stipple
