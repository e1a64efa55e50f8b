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

namespace stipple {

// A regular file read from front to back through a buffer. How much is left is known at any time, so that a
// reader can check what a header claims before it allocates. What it hands out is valid until the next call.
class InputFile {
 public:
  // Reads this many bytes at a time: large enough to hide the call, or small to look at the start only.
  explicit InputFile(const std::filesystem::path& path, std::size_t chunk_bytes = std::size_t{1} << 20);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& name() const { return name_; }  // the path as the caller gave it, for messages
  std::uint64_t remaining_bytes() const { return size_bytes_ - position_; }

  // The next `count` bytes, or fewer where the file ends first.
  std::span<const std::byte> take(std::size_t count) { return consume(peek(count).size()); }
  std::span<const std::byte> take_rest() { return take(static_cast<std::size_t>(remaining_bytes())); }

  // The same, and the next call hands them out again.
  std::span<const std::byte> peek(std::size_t count) {
    if (end_ - begin_ < count) fill(count);
    return {buffer_.data() + begin_, end_ - begin_ < count ? end_ - begin_ : count};
  }

  // The next line without its end, "\n" or "\r\n". None, and nothing is taken, when there is no line end
  // within max_bytes: the file ends early if no more than that remain, else the line is too long.
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
  std::uint64_t position_ = 0;     // of the next byte to hand out
  std::vector<std::byte> buffer_;  // [begin_, end_) was read and not yet handed out
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

// A piece of a file as it may stand in a message: short, on one line.
std::string printable(std::string_view text);

}  // namespace stipple
