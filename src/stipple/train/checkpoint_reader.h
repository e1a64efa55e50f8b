// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads a checkpoint (checkpoint_format.h) on all ranks at once: each reads its part of every array. All
// ranks make the same calls in the same order. What is wrong with the file throws DamagedCheckpoint, on all
// of them.
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "stipple/io/input_file.h"
#include "stipple/ranks/ranks.h"
#include "stipple/train/shards.h"

namespace stipple {

class CheckpointReader {
 public:
  CheckpointReader(const std::filesystem::path& path, Ranks& ranks);

  [[noreturn]] void fail(const std::string& why) const;

  // The text, which every rank gets; valid until the next call.
  std::string_view text();

  // This rank's even share of an array of so many rows.
  template <class T>
  std::vector<T> rows(std::size_t count, int row_elements) {
    const auto row_bytes = static_cast<std::size_t>(row_elements) * sizeof(T);
    if (count > file_.remaining_bytes() / row_bytes) fail_truncated();
    const RowRange own = even_share(count, ranks_);
    file_.skip(own.begin * row_bytes);
    std::vector<T> values(own.size() * static_cast<std::size_t>(row_elements));
    const std::span<const std::byte> bytes = take(own.size() * row_bytes);
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    file_.skip((count - own.end) * row_bytes);
    return values;
  }

  // Whether the file ends here and is undamaged.
  void check_end();

 private:
  // A part of the file that one rank has read.
  struct Part {
    std::uint64_t bytes;
    std::uint32_t checksum;
  };

  [[noreturn]] void fail_truncated() const;
  void read_head();
  std::span<const std::byte> take(std::size_t count);
  std::span<const std::byte> take_on_first(std::size_t count);
  std::uint32_t checksum_of_all() const;

  Ranks& ranks_;
  InputFile file_;
  std::uint32_t text_bytes_ = 0;
  std::vector<Part> parts_;  // that this rank has read
};

}  // namespace stipple
