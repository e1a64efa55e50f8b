// SPDX-License-Identifier: Apache-2.0
#include "stipple/io/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <system_error>
#include <utility>

#include "stipple/core/error.h"

namespace stipple {

namespace {

constexpr int kMaxTemporaries = 1000;  // names to try; more leftovers than this point to a bug elsewhere

std::filesystem::path temporary_name(const std::filesystem::path& target, int attempt) {
  std::filesystem::path name = target;
  name += attempt == 0 ? std::string(".part") : fmt::format(".{}.part", attempt);
  return name;
}

}  // namespace

OutputFile::OutputFile(const std::filesystem::path& path) : path_(path), target_(path) {
  if (path.empty()) throw Error("cannot write a file: its name is empty");
  struct stat status {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (!exists && errno != ENOENT) fail_with_errno();
  if (exists && S_ISDIR(status.st_mode)) fail("it is a directory");
  if (exists && !S_ISREG(status.st_mode)) {
    open_in_place();
    return;
  }
  if (exists) follow_links();
  open_temporary();
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void OutputFile::follow_links() {
  // A rename does not need write permission for the target itself, but a write-protected file must be kept.
  if (::access(path_.c_str(), W_OK) != 0) fail_with_errno();
  std::error_code error;
  target_ = std::filesystem::canonical(path_, error);  // the link itself is kept
  if (error) fail(error.message());
}

void OutputFile::check(const std::filesystem::path& path) {
  std::error_code error;
  const auto type = std::filesystem::status(path, error).type();
  // Opening and closing a pipe would signal the end of the data to its reader.
  if (type == std::filesystem::file_type::fifo || type == std::filesystem::file_type::character) return;
  OutputFile probe(path);
}

void OutputFile::open_temporary() {
#ifdef O_TMPFILE
  const std::filesystem::path folder = target_.parent_path().empty() ? "." : target_.parent_path();
  descriptor_ = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (descriptor_ >= 0) return;
#endif
  for (int attempt = 0; attempt < kMaxTemporaries; ++attempt) {
    temporary_ = temporary_name(target_, attempt);
    // Mode 0666 leaves the permissions to the umask, as for any new file.
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ >= 0) return;
    if (errno != EEXIST) break;
  }
  const bool no_folder = errno == ENOENT && !path_.parent_path().empty();
  if (no_folder) fail(fmt::format("the folder {} does not exist", path_.parent_path().string()));
  fail_with_errno();
}

// Links the unnamed file to a temporary name in the target's folder, from which it can be renamed.
void OutputFile::name_temporary() {
  const std::string self = fmt::format("/proc/self/fd/{}", descriptor_);
  for (int attempt = 0; attempt < kMaxTemporaries; ++attempt) {
    const std::filesystem::path name = temporary_name(target_, attempt);
    if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      temporary_ = name;
      return;
    }
    if (errno != EEXIST) break;
  }
  fail_with_errno();
}

void OutputFile::open_in_place() {
  in_place_ = true;
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor_ < 0) fail_with_errno();
}

void OutputFile::write(std::span<const std::byte> bytes) {
  assert(descriptor_ >= 0);
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_with_errno();
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void OutputFile::write(std::string_view text) { write(std::as_bytes(std::span(text))); }

void OutputFile::commit() {
  assert(descriptor_ >= 0);
  // A full disk may be reported only here or, on a network file system, only by close(): the old file must
  // still exist then. EINVAL means that the file system does not support synchronisation.
  if (!in_place_ && ::fsync(descriptor_) != 0 && errno != EINVAL) fail_with_errno();
  if (!in_place_ && temporary_.empty()) name_temporary();
  const int closed = ::close(std::exchange(descriptor_, -1));
  if (closed != 0) fail_with_errno();
  if (!in_place_ && ::rename(temporary_.c_str(), target_.c_str()) != 0) fail_with_errno();
  temporary_.clear();
}

void OutputFile::fail(std::string_view reason) const {
  throw Error(fmt::format("cannot write {}: {}", path_.string(), reason));
}

void OutputFile::fail_with_errno() const { fail(std::generic_category().message(errno)); }

}  // namespace stipple
