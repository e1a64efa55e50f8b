// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/run/run_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include "stipple/core/error.h"
#include "stipple/io/input_file.h"
#include "stipple/io/same_file.h"

namespace stipple {

namespace fs = std::filesystem;

namespace {

// "process 4711 on host", for the error of a second run.
std::string describe_this_process() {
  utsname name{};
  uname(&name);
  return fmt::format("process {} on {}", getpid(), name.nodename);
}

std::string read_description(int descriptor) {
  std::array<char, 256> buffer{};
  const ssize_t size = pread(descriptor, buffer.data(), buffer.size(), 0);
  const std::string text(buffer.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  return text.empty() ? "another process" : printable(text.substr(0, text.find('\n')));
}

}  // namespace

RunLock::RunLock(const fs::path& folder) : path_(folder / ".lock") {
  while (!try_to_lock(folder)) {
  }
}

// False if the file was removed in the meantime.
bool RunLock::try_to_lock(const fs::path& folder) {
  descriptor_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
  if (descriptor_ < 0)
    throw Error(fmt::format("cannot write {}: {}", path_.string(), std::generic_category().message(errno)));
  if (flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return true;
    const std::string holder = read_description(descriptor_);
    close(std::exchange(descriptor_, -1));
    throw Error(fmt::format("{}: {} is training in this folder; wait for it, or name another folder",
                            folder.string(), holder));
  }
  if (!is_same_file(descriptor_, path_)) {
    close(std::exchange(descriptor_, -1));
    return false;
  }
  const std::string description = describe_this_process() + "\n";
  // Only the error of a second run needs the description.
  [[maybe_unused]] const bool is_described =
      ftruncate(descriptor_, 0) == 0 && write(descriptor_, description.data(), description.size()) > 0;
  return true;
}

RunLock::~RunLock() {
  if (descriptor_ < 0) return;
  unlink(path_.c_str());  // while it is locked, so that it is this run's
  close(descriptor_);
}

}  // namespace stipple
