// SPDX-License-Identifier: Apache-2.0
#include "stipple/io/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <system_error>
#include <utility>

#include "stipple/core/error.h"
#include "stipple/io/same_file.h"

namespace stipple {

namespace {

constexpr int kMaxTemporaries = 1000;  // names to try; more leftovers than this point to a bug elsewhere

std::filesystem::path temporary_name(const std::filesystem::path& target, int attempt) {
  std::filesystem::path name = target;
  name += attempt == 0 ? std::string(".stipple.part") : fmt::format(".{}.stipple.part", attempt);
  return name;
}

[[noreturn]] void fail_to_write(const std::filesystem::path& path, std::string_view reason) {
  throw Error(fmt::format("cannot write {}: {}", path.string(), reason));
}

[[noreturn]] void fail_to_write(const std::filesystem::path& path) {
  fail_to_write(path, std::generic_category().message(errno));
}

void write_all(int descriptor, std::span<const std::byte> bytes, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_to_write(path);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void seek(int descriptor, std::uint64_t position, const std::filesystem::path& path) {
  if (::lseek(descriptor, static_cast<off_t>(position), SEEK_SET) < 0) fail_to_write(path);
}

// EINVAL means that the file system does not support synchronisation.
void flush(int descriptor, const std::filesystem::path& path) {
  if (::fsync(descriptor) != 0 && errno != EINVAL) fail_to_write(path);
}

// Removes a temporary file whose writer was killed: nobody holds its lock any more. Only the holder of the
// lock may remove it, so that two programs cannot take each other's new file for the old one. NFS locks only
// files that are open for writing.
bool remove_leftover(const std::filesystem::path& temporary) {
  const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
  if (descriptor < 0) return errno == ENOENT;
  const bool is_abandoned =
      ::flock(descriptor, LOCK_EX | LOCK_NB) == 0 && is_same_file(descriptor, temporary);
  const bool is_removed = is_abandoned && ::unlink(temporary.c_str()) == 0;
  ::close(descriptor);
  return is_removed;
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
  // While it is locked: afterwards, another program may have replaced it by its own.
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  if (descriptor_ >= 0) ::close(descriptor_);
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
  descriptor_ = ::open(folder().c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (descriptor_ >= 0) {
    ::flock(descriptor_, LOCK_EX | LOCK_NB);  // where locks are not supported, leftovers are not removed
    return;
  }
#endif
  for (int attempt = 0; attempt < kMaxTemporaries;) {
    temporary_ = temporary_name(target_, attempt);
    // Mode 0666 leaves the permissions to the umask, as for any new file.
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ >= 0) {
      // Another program may take the file for a leftover before it is locked.
      const bool is_taken = ::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
      if (!is_taken && is_same_file(descriptor_, temporary_)) return;
      ::close(std::exchange(descriptor_, -1));
      continue;
    }
    if (errno != EEXIST) break;
    if (!remove_leftover(temporary_)) ++attempt;
  }
  temporary_.clear();  // it is not this object's
  const bool no_folder = errno == ENOENT && !path_.parent_path().empty();
  if (no_folder) fail(fmt::format("the folder {} does not exist", path_.parent_path().string()));
  fail_with_errno();
}

// Links the unnamed file to a temporary name in the target's folder, from which it can be renamed.
void OutputFile::name_temporary() {
  const std::string self = fmt::format("/proc/self/fd/{}", descriptor_);
  for (int attempt = 0; attempt < kMaxTemporaries;) {
    const std::filesystem::path name = temporary_name(target_, attempt);
    if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      temporary_ = name;
      return;
    }
    if (errno != EEXIST) break;
    if (!remove_leftover(name)) ++attempt;
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
  write_all(descriptor_, bytes, path_);
}

void OutputFile::write(std::string_view text) { write(std::as_bytes(std::span(text))); }

void OutputFile::move_to(std::uint64_t position) { seek(descriptor_, position, path_); }

const std::filesystem::path& OutputFile::share() {
  assert(!in_place_);
  if (temporary_.empty()) name_temporary();
  return temporary_;
}

void OutputFile::commit() {
  assert(descriptor_ >= 0);
  // A full disk may be reported only here or, on a network file system, only by close(): the old file must
  // still exist then.
  if (!in_place_) flush(descriptor_, path_);
  if (!in_place_ && temporary_.empty()) name_temporary();
  // The second descriptor holds the lock until the file has been renamed or, by the destructor, removed.
  const int keeper = in_place_ ? -1 : ::dup(descriptor_);
  if (::close(std::exchange(descriptor_, keeper)) != 0) fail_with_errno();
  if (!in_place_ && ::rename(temporary_.c_str(), target_.c_str()) != 0) fail_with_errno();
  temporary_.clear();
  if (keeper >= 0) ::close(std::exchange(descriptor_, -1));
  // The name of a file is part of its folder, which has to reach the disk as well. By now the file is
  // complete and in place, so that a failure of this is no reason to report one.
  if (!in_place_) flush_folder(folder());
}

std::filesystem::path OutputFile::folder() const {
  return target_.parent_path().empty() ? "." : target_.parent_path();
}

void OutputFile::fail(std::string_view reason) const { fail_to_write(path_, reason); }

void OutputFile::fail_with_errno() const { fail_to_write(path_); }

SharedOutput::SharedOutput(const std::filesystem::path& temporary, const std::filesystem::path& path)
    : path_(path), descriptor_(::open(temporary.c_str(), O_WRONLY | O_DSYNC | O_CLOEXEC)) {
  if (descriptor_ < 0) fail_to_write(path_);
}

SharedOutput::~SharedOutput() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void SharedOutput::write(std::span<const std::byte> bytes) { write_all(descriptor_, bytes, path_); }

void SharedOutput::move_to(std::uint64_t position) { seek(descriptor_, position, path_); }

void SharedOutput::commit() {
  flush(descriptor_, path_);
  if (::close(std::exchange(descriptor_, -1)) != 0) fail_to_write(path_);
}

void flush_folder(const std::filesystem::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

}  // namespace stipple
