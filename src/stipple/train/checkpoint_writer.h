// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes a checkpoint (checkpoint_format.h) on all ranks at once: each writes its part of every array into
// the same file. All ranks make the same calls in the same order.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "stipple/io/output_file.h"
#include "stipple/ranks/ranks.h"

namespace stipple {

class CheckpointWriter {
 public:
  CheckpointWriter(const std::filesystem::path& path, Ranks& ranks);

  // What follows in the file: the bytes of all ranks, in order of rank.
  void add(std::span<const std::byte> own);
  // The same, but rank 0 has all of it.
  void add_from_first(std::span<const std::byte> bytes);

  // Before the file replaces an earlier one, every rank of several reads its parts again.
  void commit();

 private:
  struct Written {  // by this rank
    std::uint64_t position, bytes;
    std::uint32_t checksum;
  };

  void write_at(std::uint64_t position, std::span<const std::byte> bytes, std::uint32_t sum);
  void check_written() const;
  [[noreturn]] void fail() const;

  Ranks& ranks_;
  std::filesystem::path path_;
  std::filesystem::path shared_name_;   // while it is written by several ranks
  std::optional<OutputFile> file_;      // on rank 0, which gives it its name
  std::optional<SharedOutput> shared_;  // on each of several ranks
  std::vector<Written> written_;        // in order of position
  std::uint64_t end_ = 0;               // of what has been added
  std::uint64_t cursor_ = 0;            // where this rank would write next
  std::uint32_t checksum_ = 0;
};

}  // namespace stipple
