// SPDX-License-Identifier: Apache-2.0
#include "stipple/io/input_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "stipple/core/error.h"

namespace stipple {

InputFile::InputFile(const std::filesystem::path& path, std::size_t chunk_bytes)
    : name_(path.string()), chunk_bytes_(chunk_bytes) {
  // Non-blocking, so that a pipe without a writer is rejected below instead of blocking here.
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) fail_with_errno("open");
  struct stat status {};
  const bool known = ::fstat(descriptor_, &status) == 0;
  if (known && S_ISREG(status.st_mode)) {
    size_bytes_ = static_cast<std::uint64_t>(status.st_size);
    return;
  }
  const int reason = errno;
  ::close(descriptor_);  // the destructor does not run when a constructor throws
  errno = reason;
  if (!known) fail_with_errno("open");
  throw Error(fmt::format("cannot open {}: it is {}", name_,
                          S_ISDIR(status.st_mode) ? "a directory" : "not a regular file"));
}

InputFile::~InputFile() { ::close(descriptor_); }

std::optional<std::string_view> InputFile::take_line(std::size_t max_bytes) {
  std::size_t searched = 0;
  while (true) {
    const std::size_t available = std::min(end_ - begin_, max_bytes);
    const char* text = reinterpret_cast<const char*>(buffer_.data()) + begin_;
    const void* found =
        available > searched ? std::memchr(text + searched, '\n', available - searched) : nullptr;
    if (found) {
      const std::size_t length = static_cast<std::size_t>(static_cast<const char*>(found) - text);
      consume(length + 1);
      const bool carriage_return = length > 0 && text[length - 1] == '\r';
      return std::string_view(text, carriage_return ? length - 1 : length);
    }
    searched = available;
    if (searched == std::min<std::uint64_t>(max_bytes, remaining_bytes())) return std::nullopt;
    fill(searched + 1);
  }
}

void InputFile::skip(std::uint64_t count) {
  assert(count <= remaining_bytes());
  const std::size_t buffered = static_cast<std::size_t>(std::min<std::uint64_t>(count, end_ - begin_));
  consume(buffered);
  const std::uint64_t beyond = count - buffered;
  if (beyond == 0) return;
  if (::lseek(descriptor_, static_cast<off_t>(beyond), SEEK_CUR) < 0) fail_with_errno("read");
  position_ += beyond;
}

// Buffers the next `count` bytes, or all remaining bytes if there are fewer.
void InputFile::fill(std::size_t count) {
  count = static_cast<std::size_t>(std::min<std::uint64_t>(count, remaining_bytes()));
  std::size_t available = end_ - begin_;
  if (available >= count) return;
  if (available > 0) std::memmove(buffer_.data(), buffer_.data() + begin_, available);
  begin_ = 0;
  end_ = available;
  const std::size_t chunk =
      static_cast<std::size_t>(std::min<std::uint64_t>(chunk_bytes_, remaining_bytes()));
  // The buffer doubles, because take_line() extends it repeatedly while it looks for the end of a long line.
  if (buffer_.size() < count) buffer_.resize(std::max({count, chunk, available * 2}));

  while (end_ < count) {
    const ssize_t got = ::read(descriptor_, buffer_.data() + end_, buffer_.size() - end_);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_with_errno("read");
    if (got == 0) {
      size_bytes_ = position_ + end_;  // the file has shrunk since it was opened
      return;
    }
    end_ += static_cast<std::size_t>(got);
  }
  // The file may also have grown: bytes appended since it was opened are not part of size_bytes_.
  end_ = static_cast<std::size_t>(std::min<std::uint64_t>(end_, remaining_bytes()));
}

void InputFile::fail_with_errno(std::string_view what) const {
  const int reason = errno;
  const std::string message =
      fmt::format("cannot {} {}: {}", what, name_, std::generic_category().message(reason));
  for (const int about_the_file : {ENOENT, ENOTDIR, EACCES, EPERM, EISDIR, ELOOP, ENAMETOOLONG, ENXIO})
    if (reason == about_the_file) throw Error(message);
  throw ReadError(message);
}

std::string read_text(const std::filesystem::path& path) {
  InputFile file(path);
  return std::string(as_text(file.take_rest()));
}

std::uint64_t bytes_of_file(const std::filesystem::path& path) {
  return InputFile(path, 1).remaining_bytes();
}

std::filesystem::file_type type_of(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::file_type type = std::filesystem::status(path, error).type();
  if (type == std::filesystem::file_type::none)
    throw Error(fmt::format("cannot open {}: {}", path.string(), error.message()));
  return type;
}

std::string printable(std::string_view text) {
  constexpr std::size_t kMaxLength = 40;
  std::string result(text.substr(0, kMaxLength));
  for (char& c : result) {
    if (c < ' ' || c > '~') c = '?';
  }
  if (text.size() > kMaxLength) result += "...";
  return result;
}

}  // namespace stipple
