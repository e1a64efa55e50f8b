// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stipple/core/error.h"

namespace stipple {

// The system failed to read a file that is there: a disk error, a lost network drive, too many open files. A
// file that is missing, protected or malformed is an Error of another kind. The difference matters to readers
// that leave out what they cannot use: what is only unavailable for the moment must not be left out.
class ReadError : public Error {
 public:
  using Error::Error;
};

// A regular file read from front to back through a buffer. The number of remaining bytes is always known, so
// a reader can check the claims of a header before it allocates memory. The spans and strings returned here
// are valid until the next call.
class InputFile {
 public:
  // Reads `chunk_bytes` at a time: large chunks hide the cost of the system call, small ones suit a reader
  // that needs only the start of the file.
  explicit InputFile(const std::filesystem::path& path, std::size_t chunk_bytes = std::size_t{1} << 20);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& name() const { return name_; }  // the path as given by the caller, for error messages
  std::uint64_t remaining_bytes() const { return size_bytes_ - position_; }

  // Returns the next `count` bytes, or fewer if the file ends first.
  std::span<const std::byte> take(std::size_t count) { return consume(peek(count).size()); }
  std::span<const std::byte> take_rest() { return take(static_cast<std::size_t>(remaining_bytes())); }

  // The same, but without consuming them.
  std::span<const std::byte> peek(std::size_t count) {
    if (end_ - begin_ < count) fill(count);
    return {buffer_.data() + begin_, end_ - begin_ < count ? end_ - begin_ : count};
  }

  // Returns the next line without its line ending, "\n" or "\r\n". If there is no line ending within
  // max_bytes, returns nullopt and consumes nothing: the line is too long if more than max_bytes remain,
  // otherwise the file is truncated.
  std::optional<std::string_view> take_line(std::size_t max_bytes);

  void skip(std::uint64_t count);  // at most remaining_bytes()

 private:
  void fill(std::size_t count);
  std::span<const std::byte> consume(std::size_t count) {
    const std::span<const std::byte> taken(buffer_.data() + begin_, count);
    begin_ += count;
    position_ += count;
    return taken;
  }
  [[noreturn]] void fail_with_errno(std::string_view what) const;

  std::string name_;
  std::size_t chunk_bytes_;
  int descriptor_ = -1;
  std::uint64_t size_bytes_ = 0;
  std::uint64_t position_ = 0;     // of the next byte to return
  std::vector<std::byte> buffer_;  // [begin_, end_) has been read but not yet consumed
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string read_text(const std::filesystem::path& path);  // a whole file

// The size of a file, and what is at a path: like the functions of std::filesystem, but throwing Error.
std::uint64_t bytes_of_file(const std::filesystem::path& path);
std::filesystem::file_type type_of(const std::filesystem::path& path);  // not_found if there is nothing

// Makes part of a file fit for an error message: short, on one line, and printable ASCII.
std::string printable(std::string_view text);

}  // namespace stipple
