// SPDX-License-Identifier: Apache-2.0
// Reads the orientation, the only field that is needed from the Exif data of a photo.
// JEITA CP-3451, "Exchangeable image file format for digital still cameras: Exif Version 2.2", 2002: Exif
// data are a TIFF file with a table (IFD) of 12-byte entries, each consisting of a tag, a type, a count and a
// value.
#include <cstring>
#include <optional>

#include "stipple/io/image/image_codec.h"

namespace stipple {

namespace {

constexpr std::size_t kEntryBytes = 12;
constexpr std::uint32_t kOrientationTag = 0x0112;
constexpr std::uint32_t kShortType = 3;

// Reads unsigned numbers of a TIFF file; returns nullopt past its end.
struct Tiff {
  std::span<const std::byte> bytes;
  bool big_endian = false;

  std::optional<std::uint32_t> number(std::size_t offset, std::size_t size) const {
    if (offset > bytes.size() || bytes.size() - offset < size) return std::nullopt;
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t at = big_endian ? offset + i : offset + size - 1 - i;
      value = value << 8 | std::to_integer<std::uint32_t>(bytes[at]);
    }
    return value;
  }
};

}  // namespace

int exif_orientation(std::span<const std::byte> app1) {
  constexpr char kSignature[] = {'E', 'x', 'i', 'f', 0, 0};
  if (app1.size() < sizeof(kSignature)) return 1;
  if (std::memcmp(app1.data(), kSignature, sizeof(kSignature)) != 0) return 1;
  return tiff_orientation(app1.subspan(sizeof(kSignature)));
}

int tiff_orientation(std::span<const std::byte> bytes) {
  if (bytes.size() < 8) return 1;
  Tiff tiff{bytes};
  tiff.big_endian = tiff.bytes[0] == std::byte{'M'};  // "MM" (Motorola) is big-endian, "II" (Intel) little
  if (tiff.number(2, 2) != 42u) return 1;

  const std::size_t table = tiff.number(4, 4).value_or(0);
  const std::size_t entry_count = tiff.number(table, 2).value_or(0);
  for (std::size_t i = 0; i < entry_count; ++i) {
    const std::size_t entry = table + 2 + i * kEntryBytes;
    if (entry >= bytes.size()) return 1;  // a file may hold thousands of tables that end early
    if (tiff.number(entry, 2) != kOrientationTag) continue;
    if (tiff.number(entry + 2, 2) != kShortType) return 1;
    const std::uint32_t orientation = tiff.number(entry + 8, 2).value_or(1);
    return 1 <= orientation && orientation <= 8 ? static_cast<int>(orientation) : 1;
  }
  return 1;
}

}  // namespace stipple
