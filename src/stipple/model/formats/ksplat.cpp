// SPDX-License-Identifier: Apache-2.0
#include "stipple/model/formats/ksplat.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stipple/core/error.h"
#include "stipple/io/byte_order.h"
#include "stipple/io/half_float.h"
#include "stipple/io/input_file.h"
#include "stipple/model/formats/quantise.h"
#include "stipple/model/formats/row_io.h"

namespace stipple {

namespace {

constexpr std::size_t kHeaderBytes = 4096;
constexpr std::size_t kSectionHeaderBytes = 1024;
constexpr std::size_t kCenterBytes = 12;  // of a bucket

// Where the parts of a row are; a row starts with the position.
struct Layout {
  std::size_t scale, rotation, color, sh;
  std::size_t sh_bytes;  // of each coefficient
};
constexpr Layout kLayouts[] = {{12, 24, 40, 44, 4}, {6, 12, 20, 24, 2}, {6, 12, 20, 24, 1}};  // by level

struct Header {
  std::uint32_t max_sections, sections, gaussians;
  int level;
  float sh_low, sh_high;  // what the bytes of coefficients range over, at level 2
};

struct Section {
  std::uint32_t count, max_count;  // rows in use, and rows that have space in the file
  std::uint32_t bucket_size, bucket_count, full_buckets, partial_buckets;
  float block_size;            // side of the cube of a bucket
  std::uint32_t scale_range;   // what half of a side is as an integer
  std::uint64_t bucket_bytes;  // of a bucket in the file
  int sh_degree;
  std::size_t row_bytes;

  std::uint64_t buckets_bytes() const { return 4ull * partial_buckets + bucket_bytes * bucket_count; }
  std::uint64_t bytes() const { return buckets_bytes() + std::uint64_t{max_count} * row_bytes; }
};

// Buckets hold neighbours: first all buckets with bucket_size rows, then those with fewer.
struct Buckets {
  std::vector<Vec3f> centers;
  std::uint64_t in_full = 0;            // rows in full buckets
  std::uint32_t size = 0, full = 0;     // rows in a full bucket; full buckets
  std::vector<std::uint64_t> part_end;  // the row after each bucket that is not full

  const Vec3f& center_of(std::uint64_t row) const {
    if (row < in_full) return centers[row / size];
    const auto part = std::upper_bound(part_end.begin(), part_end.end(), row) - part_end.begin();
    return centers[full + static_cast<std::size_t>(part)];
  }
};

class Reader {
 public:
  explicit Reader(InputFile& file) : file_(file) {}
  Gaussians read();

 private:
  std::span<const std::byte> take(std::size_t count);
  void skip(std::uint64_t count);
  void read_header();
  Section read_section_header(std::size_t index);
  void read_section_headers();
  Buckets read_buckets(const Section& section);
  void read_section(const Section& section, std::size_t first);
  void read_row(const std::byte* row, const Section& section, const Buckets& buckets, std::size_t in_section,
                std::size_t i);
  Vec3f position_of(const std::byte* row, const Section& section, const Buckets& buckets,
                    std::size_t in_section) const;
  float number_of(const std::byte* from, std::size_t index) const;
  float harmonic_of(const std::byte* from, std::size_t index) const;
  [[noreturn]] void fail(std::string_view reason) const {
    throw Error(fmt::format("{}: {}", file_.name(), reason));
  }

  InputFile& file_;
  Header header_{};
  Layout layout_{};
  std::vector<Section> sections_;
  Gaussians gaussians_;
};

std::span<const std::byte> Reader::take(std::size_t count) {
  const std::span<const std::byte> bytes = file_.take(count);
  if (bytes.size() < count) fail("the file is truncated");
  return bytes;
}

void Reader::skip(std::uint64_t count) {
  if (count > file_.remaining_bytes()) fail("the file is truncated");
  file_.skip(count);
}

void Reader::read_header() {
  const std::byte* const at = take(kHeaderBytes).data();
  const auto major = load_little<std::uint8_t>(at), minor = load_little<std::uint8_t>(at + 1);
  if (major != 0 || minor < 1)
    fail(fmt::format("this is not a .ksplat file of version 0.1 (but {}.{})", major, minor));
  header_.max_sections = load_little<std::uint32_t>(at + 4);
  header_.sections = load_little<std::uint32_t>(at + 8);
  header_.gaussians = load_little<std::uint32_t>(at + 16);
  header_.level = load_little<std::uint16_t>(at + 20);
  if (header_.level > 2)
    fail(fmt::format("the compression level {} is not known; 0 to 2 are", header_.level));
  layout_ = kLayouts[header_.level];
  header_.sh_low = load_little<float>(at + 36);
  header_.sh_high = load_little<float>(at + 40);
  if (header_.sh_low == 0) header_.sh_low = -1.5f;  // written before the format had these numbers
  if (header_.sh_high == 0) header_.sh_high = 1.5f;
}

Section Reader::read_section_header(std::size_t index) {
  const std::byte* const at = take(kSectionHeaderBytes).data();
  const auto number = [&](std::size_t offset) { return load_little<std::uint32_t>(at + offset); };
  Section section{};
  section.count = number(0);
  section.max_count = number(4);
  section.bucket_size = number(8);
  section.bucket_count = number(12);
  section.block_size = load_little<float>(at + 16);
  section.bucket_bytes = load_little<std::uint16_t>(at + 20);
  section.scale_range = number(24) != 0 ? number(24) : 32767;
  section.full_buckets = number(32);
  section.partial_buckets = number(36);
  section.sh_degree = load_little<std::uint16_t>(at + 40);
  if (section.count > section.max_count)
    fail(fmt::format("section {} has {} Gaussians, but space for {}", index, section.count,
                     section.max_count));
  if (section.sh_degree > 3)
    fail(fmt::format("section {} has spherical harmonics of degree {}; the maximum is 3", index,
                     section.sh_degree));
  const auto sh_count = static_cast<std::size_t>((section.sh_degree + 1) * (section.sh_degree + 1));
  section.row_bytes = layout_.sh + 3 * (sh_count - 1) * layout_.sh_bytes;
  if (header_.level == 0) return section;  // positions are not relative to buckets
  if (section.bucket_bytes != kCenterBytes && section.bucket_count > 0)
    fail(fmt::format("the buckets of section {} have {} bytes instead of {}", index, section.bucket_bytes,
                     kCenterBytes));
  if (std::uint64_t{section.full_buckets} + section.partial_buckets > section.bucket_count)
    fail(fmt::format("section {} has {} buckets, of which {} are full and {} are not", index,
                     section.bucket_count, section.full_buckets, section.partial_buckets));
  return section;
}

// Checks the claims of the headers against the size of the file before memory is allocated for them.
void Reader::read_section_headers() {
  if (header_.sections > header_.max_sections)
    fail(fmt::format("the header declares {} sections, but space for {}", header_.sections,
                     header_.max_sections));
  if (header_.max_sections > file_.remaining_bytes() / kSectionHeaderBytes)
    fail(fmt::format("the {} sections that the header declares do not fit into the file",
                     header_.max_sections));
  std::uint64_t bytes = 0, count = 0;
  const auto check_size = [&] {
    if (bytes > file_.remaining_bytes())
      fail(fmt::format("the sections need {} bytes, but the file has {}", bytes, file_.remaining_bytes()));
  };
  for (std::uint32_t i = 0; i < header_.sections; ++i) {
    sections_.push_back(read_section_header(i));
    bytes += sections_.back().bytes();
    count += sections_.back().count;
    check_size();  // each time, so that the sum cannot overflow
  }
  skip(std::uint64_t{header_.max_sections - header_.sections} * kSectionHeaderBytes);
  check_size();
  if (count != header_.gaussians)
    fail(fmt::format("the header declares {} Gaussians, but its sections {}", header_.gaussians, count));
}

Buckets Reader::read_buckets(const Section& section) {
  Buckets buckets;
  if (header_.level == 0) {
    skip(section.buckets_bytes());
    return buckets;
  }
  buckets.size = section.bucket_size;
  buckets.full = section.full_buckets;
  buckets.in_full = std::uint64_t{section.full_buckets} * section.bucket_size;
  buckets.part_end.resize(section.partial_buckets);
  std::uint64_t end = buckets.in_full;
  for (std::uint64_t& part_end : buckets.part_end)
    part_end = end += load_little<std::uint32_t>(take(4).data());
  if (end < section.count)
    fail(fmt::format("buckets for {} of {} Gaussians are missing", section.count - end, section.count));
  buckets.centers.resize(section.bucket_count);
  for (Vec3f& center : buckets.centers) {
    const std::byte* const at = take(kCenterBytes).data();
    center = {load_little<float>(at), load_little<float>(at + 4), load_little<float>(at + 8)};
  }
  return buckets;
}

float Reader::number_of(const std::byte* from, std::size_t index) const {
  if (header_.level == 0) return load_little<float>(from + 4 * index);
  return float_from_half(load_little<std::uint16_t>(from + 2 * index));
}

float Reader::harmonic_of(const std::byte* from, std::size_t index) const {
  if (header_.level < 2) return number_of(from, index);
  const float t = from_unorm(std::to_integer<std::uint32_t>(from[index]), 255);
  return header_.sh_low * (1 - t) + header_.sh_high * t;
}

Vec3f Reader::position_of(const std::byte* row, const Section& section, const Buckets& buckets,
                          std::size_t in_section) const {
  if (header_.level == 0) return {number_of(row, 0), number_of(row, 1), number_of(row, 2)};
  const auto range = static_cast<float>(section.scale_range);
  Vec3f position = buckets.center_of(in_section);
  for (int axis = 0; axis < 3; ++axis) {
    const auto field = static_cast<float>(load_little<std::uint16_t>(row + 2 * axis));
    position[axis] += (field - range) * (section.block_size / 2 / range);
  }
  return position;
}

void Reader::read_row(const std::byte* row, const Section& section, const Buckets& buckets,
                      std::size_t in_section, std::size_t i) {
  gaussians_.mean[i] = position_of(row, section, buckets, in_section);
  for (int axis = 0; axis < 3; ++axis)
    gaussians_.log_scale[i][axis] =
        log_from_scale(number_of(row + layout_.scale, static_cast<std::size_t>(axis)));
  const auto q = [&](std::size_t k) { return number_of(row + layout_.rotation, k); };
  gaussians_.rotation[i] = {q(0), q(1), q(2), q(3)};
  const auto byte = [&](std::size_t k) { return std::to_integer<std::uint8_t>(row[layout_.color + k]); };
  Vec3f* const sh = gaussians_.sh.data() + i * static_cast<std::size_t>(gaussians_.sh_count());
  for (std::size_t c = 0; c < 3; ++c) sh[0][static_cast<int>(c)] = base_from_color(from_unorm(byte(c), 255));
  gaussians_.logit_opacity[i] = logit_of_byte(byte(3));
  // One degree after the other, and in each one channel after the other.
  std::size_t index = 0;
  for (int degree = 1; degree <= section.sh_degree; ++degree)
    for (int channel = 0; channel < 3; ++channel)
      for (int k = degree * degree; k < (degree + 1) * (degree + 1); ++k)
        sh[k][channel] = harmonic_of(row + layout_.sh, index++);
}

void Reader::read_section(const Section& section, std::size_t first) {
  const Buckets buckets = read_buckets(section);
  read_rows(file_, section.count, section.row_bytes,
            [&](std::size_t i, const std::byte* row) { read_row(row, section, buckets, i, first + i); });
  skip(std::uint64_t{section.max_count - section.count} * section.row_bytes);
}

Gaussians Reader::read() {
  read_header();
  read_section_headers();
  int sh_degree = 0;
  for (const Section& section : sections_) sh_degree = std::max(sh_degree, section.sh_degree);
  gaussians_ = make_gaussians(header_.gaussians, sh_degree);
  std::size_t first = 0;
  for (const Section& section : sections_) {
    read_section(section, first);
    first += section.count;
  }
  return std::move(gaussians_);
}

}  // namespace

Gaussians load_ksplat(const std::filesystem::path& path, ModelFacts& facts) {
  facts.format = ".ksplat";
  InputFile file(path);
  return Reader(file).read();
}

}  // namespace stipple
