// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/programs/process.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <sstream>

#include "apps/stipple/programs/output_lines.h"
#include "apps/stipple/programs/pipe.h"
#include "apps/stipple/programs/process_group.h"
#include "apps/stipple/terminal/interrupt.h"
#include "stipple/core/error.h"

namespace stipple {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience(3);  // between SIGTERM and SIGKILL
constexpr int kTick_ms = 100;                 // maximum time until an interrupt is noticed

class Child {
 public:
  Child(const fs::path& program, const std::vector<std::string>& arguments)
      : name_(program.string()), id_(group_.start(program, arguments, pipe_.writer())) {
    pipe_.close_writer();  // otherwise reading would never reach the end
  }
  ~Child() {
    if (status_) return;
    group_.send(SIGKILL);
    while (waitpid(id_, nullptr, 0) < 0 && errno == EINTR) continue;
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // The output since the last call, empty if there is none yet; nothing at the end of the output.
  std::optional<std::string_view> read_some() {
    // Asked before the output is, so that nothing is lost that the program wrote before it ended.
    const bool has_ended = check_ended();
    pollfd ready = {pipe_.reader(), POLLIN, 0};
    const int count = poll(&ready, 1, has_ended ? 0 : kTick_ms);
    if (count == 0 && has_ended) return {};  // a process that escaped from the group keeps the output open
    if (count <= 0) return "";
    const ssize_t size = read(pipe_.reader(), buffer_, sizeof buffer_);
    if (size < 0 && errno == EINTR) return "";
    if (size <= 0) return {};
    return std::string_view(buffer_, size);
  }

  int wait() {
    while (!check_ended()) poll(nullptr, 0, kTick_ms / 10);
    return *status_;
  }

 private:
  // Kills the child processes of a program that has ended: they might keep its output open forever.
  bool check_ended() {
    if (status_) return true;
    end_if_interrupted();
    int status = 0;
    const pid_t ended = waitpid(id_, &status, WNOHANG);
    if (ended == 0) return false;
    if (ended < 0) throw Error(fmt::format("cannot tell how {} ended: {}", name_, std::strerror(errno)));
    status_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    group_.send(SIGKILL);
    return true;
  }

  void end_if_interrupted() {
    if (!interrupted()) return;
    if (!asked_to_end_) {
      asked_to_end_ = Clock::now();
      group_.send(SIGTERM);
      group_.send(SIGCONT);  // a stopped process cannot react
    } else if (Clock::now() - *asked_to_end_ > kPatience) {
      group_.send(SIGKILL);
    }
  }

  std::string name_;
  Pipe pipe_;
  ProcessGroup group_;
  pid_t id_ = 0;
  std::optional<int> status_;  // once it has ended
  std::optional<Clock::time_point> asked_to_end_;
  char buffer_[16 * 1024];
};

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
  OutputLines lines(on_line);
  while (const auto bytes = child.read_some()) lines.add(*bytes);
  lines.finish();
  return child.wait();
}

std::string describe_status(int status) {
  if (status == 128 + SIGKILL) return "killed, most likely because memory ran out";
  if (status > 128) return fmt::format("signal {}", status - 128);
  return fmt::format("exit status {}", status);
}

}  // namespace stipple
