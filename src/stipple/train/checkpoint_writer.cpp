// SPDX-License-Identifier: Apache-2.0
#include "stipple/train/checkpoint_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "stipple/core/checksum.h"
#include "stipple/core/error.h"
#include "stipple/io/input_file.h"
#include "stipple/ranks/collectives.h"
#include "stipple/train/checkpoint_format.h"

namespace stipple {

namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 24;  // of what is read back at a time

}  // namespace

CheckpointWriter::CheckpointWriter(const std::filesystem::path& path, Ranks& ranks)
    : ranks_(ranks), path_(path) {
  if (ranks.rank() == 0) file_.emplace(path);
  if (ranks.count() == 1) return;
  shared_name_ = gather_texts(ranks, file_ ? file_->share().string() : "")[0];
  shared_.emplace(shared_name_, path);
}

void CheckpointWriter::add(std::span<const std::byte> own) {
  struct Part {
    std::uint64_t bytes;
    std::uint32_t checksum;
  };
  const auto parts = gather_value(ranks_, Part{own.size(), checksum(0, own)});
  for (std::size_t r = 0; r < parts.size(); ++r) {
    if (static_cast<int>(r) == ranks_.rank()) write_at(end_, own, parts[r].checksum);
    checksum_ = joined_checksum(checksum_, parts[r].checksum, parts[r].bytes);
    end_ += parts[r].bytes;
  }
}

void CheckpointWriter::add_from_first(std::span<const std::byte> bytes) {
  add(ranks_.rank() == 0 ? bytes : std::span<const std::byte>());
}

// One rank alone writes from front to back.
void CheckpointWriter::write_at(std::uint64_t position, std::span<const std::byte> bytes, std::uint32_t sum) {
  if (bytes.empty()) return;
  if (shared_) written_.push_back({position, bytes.size(), sum});
  const auto write = [&](auto& file) {
    if (position != cursor_) file.move_to(position);
    file.write(bytes);
  };
  shared_ ? write(*shared_) : write(*file_);
  cursor_ = position + bytes.size();
}

void CheckpointWriter::commit() {
  const std::uint32_t last = checksum_;
  add_from_first(std::as_bytes(std::span(&last, 1)));
  if (shared_) {
    shared_->commit();
    is_true_on_any(ranks_, false);  // all have written their parts
    check_written();
    is_true_on_any(ranks_, false);  // and have found them unchanged
  }
  if (file_) file_->commit();
}

// The parts meet in the middle of pages, and a network file system whose clients each keep pages of their own
// may write one over the other. Opening the file anew makes such a client look at the server's.
void CheckpointWriter::check_written() const {
  InputFile file(shared_name_, kChunkBytes);
  std::uint64_t position = 0;
  for (const Written& part : written_) {
    if (position + file.remaining_bytes() < part.position + part.bytes) fail();
    file.skip(part.position - position);
    std::uint32_t found = 0;
    for (std::uint64_t left = part.bytes; left > 0;) {
      const auto chunk = file.take(static_cast<std::size_t>(std::min<std::uint64_t>(left, kChunkBytes)));
      found = checksum(found, chunk);
      if (chunk.empty()) fail();
      left -= chunk.size();
    }
    if (found != part.checksum) fail();
    position = part.position + part.bytes;
  }
}

void CheckpointWriter::fail() const {
  throw Error(fmt::format(
      "cannot write {}: its file system has changed what was written, as some do if several machines write "
      "one file; use another file system",
      path_.string()));
}

}  // namespace stipple
