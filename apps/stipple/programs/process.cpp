// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/programs/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <sstream>

#include "apps/stipple/terminal/interrupt.h"
#include "stipple/core/error.h"

extern char** environ;

namespace stipple {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience(3);  // between SIGTERM and SIGKILL
constexpr int kTick_ms = 100;                 // maximum time until an interrupt is noticed

// Both ends are closed on exec, so that the program inherits only the copies that are made for it.
class Pipe {
 public:
  Pipe() {
    if (pipe(ends_) != 0) throw Error(fmt::format("cannot create a pipe: {}", std::strerror(errno)));
    for (int end : ends_) fcntl(end, F_SETFD, FD_CLOEXEC);
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

// Connects a program's output to the pipe, and puts it into its own process group, so that its child
// processes can be ended with it.
class SpawnSettings {
 public:
  explicit SpawnSettings(int output) {
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, output, STDERR_FILENO);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attributes, 0);
  }
  ~SpawnSettings() {
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
};

class Child {
 public:
  Child(const fs::path& program, const std::vector<std::string>& arguments) {
    std::string name = program.string();
    std::vector<char*> words = {name.data()};
    for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
    words.push_back(nullptr);
    const SpawnSettings settings(pipe_.writer());
    const int error =
        posix_spawn(&id_, name.c_str(), &settings.files, &settings.attributes, words.data(), environ);
    if (error != 0) throw Error(fmt::format("cannot start {}: {}", name, std::strerror(error)));
    pipe_.close_writer();  // otherwise reading would never reach the end
  }

  // The output since the last call, empty if there is none yet; nothing at the end of the output.
  std::optional<std::string_view> read_some() {
    end_if_interrupted();
    pollfd ready = {pipe_.reader(), POLLIN, 0};
    if (poll(&ready, 1, kTick_ms) <= 0) return "";
    const ssize_t size = read(pipe_.reader(), buffer_, sizeof buffer_);
    if (size < 0 && errno == EINTR) return "";
    if (size <= 0) return {};
    return std::string_view(buffer_, size);
  }

  int wait() {
    int status = 0;
    while (waitpid(id_, &status, WNOHANG) == 0) {
      end_if_interrupted();
      poll(nullptr, 0, kTick_ms / 10);
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }

 private:
  void end_if_interrupted() {
    if (!interrupted()) return;
    if (!asked_to_end_) {
      asked_to_end_ = Clock::now();
      kill(-id_, SIGTERM);
    } else if (Clock::now() - *asked_to_end_ > kPatience) {
      kill(-id_, SIGKILL);
    }
  }

  Pipe pipe_;
  pid_t id_ = 0;
  std::optional<Clock::time_point> asked_to_end_;
  char buffer_[4096];
};

// Removes the complete lines from the front of `text`. A carriage return, with which programs redraw a line
// on a terminal, also ends a line.
void take_lines(std::string& text, const std::function<void(const std::string&)>& on_line) {
  for (std::size_t end; (end = text.find_first_of("\r\n")) != std::string::npos; text.erase(0, end + 1))
    on_line(text.substr(0, end));
}

}  // namespace

fs::path find_program(const std::string& name) {
  const char* folders = std::getenv("PATH");
  std::istringstream stream(folders ? folders : "");
  for (std::string folder; std::getline(stream, folder, ':');) {
    const fs::path path = fs::path(folder.empty() ? "." : folder) / name;
    std::error_code error;
    if (fs::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0) return path;
  }
  return {};
}

int run_program(const fs::path& program, const std::vector<std::string>& arguments,
                const std::function<void(const std::string&)>& on_line) {
  Child child(program, arguments);
  std::string text;
  while (const auto bytes = child.read_some()) {
    text += *bytes;
    take_lines(text, on_line);
  }
  if (!text.empty()) on_line(text);
  return child.wait();
}

}  // namespace stipple
