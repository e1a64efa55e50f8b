// SPDX-License-Identifier: Apache-2.0
#include "stipple/train/checkpoint_reader.h"

#include <fmt/format.h>

#include "stipple/core/checksum.h"
#include "stipple/ranks/collectives.h"
#include "stipple/train/checkpoint_format.h"
#include "stipple/train/trainer.h"

namespace stipple {

CheckpointReader::CheckpointReader(const std::filesystem::path& path, Ranks& ranks)
    : ranks_(ranks), file_(path) {
  read_head();
}

void CheckpointReader::fail(const std::string& why) const {
  throw DamagedCheckpoint(fmt::format("{}: {}", file_.name(), why));
}

void CheckpointReader::fail_truncated() const { fail("the checkpoint is truncated and cannot be used"); }

void CheckpointReader::read_head() {
  CheckpointHead head{};
  const std::span<const std::byte> bytes = file_.peek(sizeof(head));
  if (bytes.size() >= sizeof(kCheckpointMagic)) std::memcpy(&head, bytes.data(), bytes.size());
  if (std::memcmp(head.magic, kCheckpointMagic, sizeof(kCheckpointMagic)) != 0)
    fail("this file is not a Stipple checkpoint");
  take_on_first(sizeof(head));
  if (head.version > kCheckpointVersion)
    fail(fmt::format(
        "the checkpoint has version {}, but this program supports versions up to {}; use a newer program",
        head.version, kCheckpointVersion));
  if (head.version < kCheckpointVersion)
    fail(fmt::format("the checkpoint has version {}, which this program does not support", head.version));
  text_bytes_ = head.text_bytes;
}

std::string_view CheckpointReader::text() { return as_text(take_on_first(text_bytes_)); }

std::span<const std::byte> CheckpointReader::take(std::size_t count) {
  const std::span<const std::byte> bytes = file_.take(count);
  if (bytes.size() < count) fail_truncated();
  parts_.push_back({count, checksum(0, bytes)});
  return bytes;
}

// What every rank reads counts once.
std::span<const std::byte> CheckpointReader::take_on_first(std::size_t count) {
  const std::span<const std::byte> bytes = take(count);
  if (ranks_.rank() != 0) parts_.back() = {0, 0};
  return bytes;
}

// The parts that were read by the same call, in order of rank, one call after another.
std::uint32_t CheckpointReader::checksum_of_all() const {
  const std::vector<Part> all = gather_values(ranks_, std::span(parts_));
  std::uint32_t joined = 0;
  for (std::size_t call = 0; call < parts_.size(); ++call)
    for (std::size_t part = call; part < all.size(); part += parts_.size())
      joined = joined_checksum(joined, all[part].checksum, all[part].bytes);
  return joined;
}

void CheckpointReader::check_end() {
  std::uint32_t expected = 0;
  const std::span<const std::byte> last = file_.take(sizeof(expected));
  if (last.size() < sizeof(expected)) fail_truncated();
  std::memcpy(&expected, last.data(), sizeof(expected));
  if (file_.remaining_bytes() > 0) fail("the checkpoint has extra data at its end and cannot be used");
  if (checksum_of_all() != expected)
    fail("the checkpoint is damaged (its checksum is wrong) and cannot be used");
}

}  // namespace stipple
