// SPDX-License-Identifier: Apache-2.0
// PNG files through libpng.
//
// libpng reports errors through a callback that must not return. The callback here uses longjmp, which runs
// no destructors. Functions that call setjmp therefore hold only references; their callers own all objects.
#include <fmt/format.h>
#include <png.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <csetjmp>
#include <cstdlib>
#include <cstring>
#include <new>

#include "stipple/core/error.h"
#include "stipple/io/image/image_codec.h"

namespace stipple {

namespace {

// The state that the callbacks of libpng use.
struct Stream {
  std::span<const std::byte> input;  // not yet read
  bool ended_early = false;
  std::vector<std::byte> output;
  char message[256]{};
};

constexpr png_byte kExifChunk[] = "eXIf";

[[noreturn]] void on_error(png_structp png, png_const_charp message) {
  Stream& stream = *static_cast<Stream*>(png_get_error_ptr(png));
  std::strncpy(stream.message, message, sizeof(stream.message) - 1);
  png_longjmp(png, 1);
}

void ignore_warning(png_structp, png_const_charp) {}  // for example about an unusual colour profile

void read_bytes(png_structp png, png_bytep to, std::size_t count) {
  Stream& stream = *static_cast<Stream*>(png_get_io_ptr(png));
  stream.ended_early = count > stream.input.size();
  if (stream.ended_early) png_error(png, "the file is truncated");
  std::memcpy(to, stream.input.data(), count);
  stream.input = stream.input.subspan(count);
}

void write_bytes(png_structp png, png_bytep from, std::size_t count) {
  Stream& stream = *static_cast<Stream*>(png_get_io_ptr(png));
  const std::byte* bytes = reinterpret_cast<const std::byte*>(from);
  try {
    stream.output.insert(stream.output.end(), bytes, bytes + count);
    return;
  } catch (const std::bad_alloc&) {
    // Exceptions must not pass through libpng, and png_error(), a longjmp, must not leave a handler.
  }
  png_error(png, "out of memory");
}

void flush_nothing(png_structp) {}

// libpng allocates the length that an Exif chunk claims before it reads the chunk. A row, the largest other
// thing that it allocates, takes less than a megabyte.
struct Allocator {
  std::uint64_t file_bytes = 0;
  bool has_run_out = false;  // of the host's memory, which is no fault of the file
};

png_voidp allocate(png_structp png, png_alloc_size_t size) {
  constexpr std::uint64_t kAlwaysAllowedBytes = std::uint64_t{8} << 20;
  Allocator& allocator = *static_cast<Allocator*>(png_get_mem_ptr(png));
  if (size > std::max(allocator.file_bytes, kAlwaysAllowedBytes)) return nullptr;
  void* memory = std::malloc(size);
  if (!memory) allocator.has_run_out = true;
  return memory;
}

void release(png_structp, png_voidp memory) { std::free(memory); }

struct Reader {
  Allocator allocator;
  Stream stream = {};
  png_structp png = nullptr;
  png_infop info = nullptr;

  explicit Reader(std::uint64_t file_bytes) : allocator{file_bytes} {
    png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &stream, on_error, ignore_warning, &allocator,
                                   allocate, release);
    if (png) info = png_create_info_struct(png);
    if (!info) {
      png_destroy_read_struct(&png, nullptr, nullptr);
      throw std::bad_alloc();
    }
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() { png_destroy_read_struct(&png, &info, nullptr); }
};

struct Writer {
  Stream stream;
  png_structp png = nullptr;
  png_infop info = nullptr;

  Writer() {
    png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &stream, on_error, ignore_warning);
    if (png) info = png_create_info_struct(png);
    if (!info) {
      png_destroy_write_struct(&png, nullptr);
      throw std::bad_alloc();
    }
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer() { png_destroy_write_struct(&png, &info); }
};

bool read_header(Reader& reader) {
  if (setjmp(png_jmpbuf(reader.png))) return false;
  png_set_read_fn(reader.png, &reader.stream, read_bytes);
  png_set_user_limits(reader.png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);  // check_pixel_count() is clearer
  // By default libpng skips damaged ancillary chunks, but the transparency of a palette is stored in one.
  png_set_crc_action(reader.png, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
  // Other ancillary chunks, some of which are compressed, are checked but not decompressed and kept.
  png_set_keep_unknown_chunks(reader.png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  png_set_keep_unknown_chunks(reader.png, PNG_HANDLE_CHUNK_AS_DEFAULT, kExifChunk, 1);
  png_read_info(reader.png, reader.info);
  return true;
}

// Requests 8 or 16 bits in native byte order, grey or RGB, with transparency as a channel.
bool choose_output(Reader& reader) {
  if (setjmp(png_jmpbuf(reader.png))) return false;
  png_set_expand(reader.png);
  if constexpr (std::endian::native == std::endian::little) png_set_swap(reader.png);
  png_set_interlace_handling(reader.png);
  png_read_update_info(reader.png, reader.info);
  return true;
}

bool read_pixels(Reader& reader, std::vector<png_bytep>& rows) {
  if (setjmp(png_jmpbuf(reader.png))) return false;
  png_read_image(reader.png, rows.data());
  png_read_end(reader.png, reader.info);  // also checks the rest, to detect a truncated file
  return true;
}

bool write_pixels(Writer& writer, const ByteImage& image, std::vector<png_bytep>& rows) {
  constexpr int kColorTypes[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                 PNG_COLOR_TYPE_RGB_ALPHA};
  if (setjmp(png_jmpbuf(writer.png))) return false;
  png_set_write_fn(writer.png, &writer.stream, write_bytes, flush_nothing);
  png_set_user_limits(writer.png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_set_IHDR(writer.png, writer.info, static_cast<png_uint_32>(image.width_px),
               static_cast<png_uint_32>(image.height_px), 8, kColorTypes[image.channel_count - 1],
               PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(writer.png, writer.info);
  png_write_image(writer.png, rows.data());
  png_write_end(writer.png, nullptr);
  return true;
}

// Whole bytes per pixel after choose_output(), which expands a palette and fewer than 8 bits.
int expanded_pixel_bytes(const Reader& reader) {
  const int color_type = png_get_color_type(reader.png, reader.info);
  const bool has_color = color_type & PNG_COLOR_MASK_COLOR;  // a palette has this flag, too
  const bool has_alpha =
      color_type & PNG_COLOR_MASK_ALPHA || png_get_valid(reader.png, reader.info, PNG_INFO_tRNS);
  const int sample_bytes = png_get_bit_depth(reader.png, reader.info) == 16 ? 2 : 1;
  return ((has_color ? 3 : 1) + (has_alpha ? 1 : 0)) * sample_bytes;
}

// Prevents the header of a tiny file from causing a huge allocation: Deflate compresses by at most 1032 : 1.
// A pixel of one bit may become four bytes; an image for which this matters is as large only if its file is.
void check_file_size(const Reader& reader, std::uint64_t file_bytes, const std::string& name) {
  constexpr std::uint64_t kMaxRatio = 1032;
  constexpr std::uint64_t kAlwaysAllowedBytes = std::uint64_t{1} << 28;  // 67 megapixels of RGBA
  const std::uint64_t width = png_get_image_width(reader.png, reader.info);
  const std::uint64_t height = png_get_image_height(reader.png, reader.info);
  const std::uint64_t stored_bytes = png_get_rowbytes(reader.png, reader.info) * height;
  if (stored_bytes / kMaxRatio > file_bytes)
    throw Error(fmt::format("{}: the file is too short for its {} bytes of pixels", name, stored_bytes));
  const std::uint64_t expanded_bytes = width * height * static_cast<unsigned>(expanded_pixel_bytes(reader));
  if (expanded_bytes > kAlwaysAllowedBytes && expanded_bytes / kMaxRatio > file_bytes)
    throw Error(
        fmt::format("{}: {} x {} pixels are more than a file of {} bytes should have; save the image at a "
                    "smaller size",
                    name, width, height, file_bytes));
}

std::vector<png_bytep> row_pointers(png_bytep first, std::size_t row_bytes, int height) {
  std::vector<png_bytep> rows(static_cast<std::size_t>(height));
  for (std::size_t y = 0; y < rows.size(); ++y) rows[y] = first + y * row_bytes;
  return rows;
}

void require(const Reader& reader, bool done, const std::string& name) {
  if (!done && reader.allocator.has_run_out) throw std::bad_alloc();
  if (!done) throw Error(fmt::format("{}: {}", name, reader.stream.message));
}

int find_orientation(const Reader& reader) {
  png_uint_32 size = 0;
  png_bytep exif = nullptr;
  if (png_get_eXIf_1(reader.png, reader.info, &size, &exif) == 0) return 1;
  return tiff_orientation(std::as_bytes(std::span(exif, size)));
}

// Returns the contents of the header after checking them, and calls choose_output().
ImageInfo take_info(Reader& reader, std::uint64_t file_bytes, const std::string& name) {
  const std::uint64_t width = png_get_image_width(reader.png, reader.info);
  const std::uint64_t height = png_get_image_height(reader.png, reader.info);
  check_pixel_count(width, height, name);
  check_file_size(reader, file_bytes, name);
  require(reader, choose_output(reader), name);
  return {.width_px = static_cast<int>(width),
          .height_px = static_cast<int>(height),
          .channel_count = png_get_channels(reader.png, reader.info),
          .orientation = find_orientation(reader)};
}

}  // namespace

std::optional<ImageInfo> read_png_info(std::span<const std::byte> start, std::uint64_t file_bytes,
                                       const std::string& name) {
  Reader reader(file_bytes);
  reader.stream.input = start;
  const bool done = read_header(reader);
  if (reader.stream.ended_early && start.size() < file_bytes) return std::nullopt;
  require(reader, done, name);
  return take_info(reader, file_bytes, name);
}

DecodedImage decode_png(std::span<const std::byte> file, const std::string& name) {
  Reader reader(file.size());
  reader.stream.input = file;
  require(reader, read_header(reader), name);
  DecodedImage image{.info = take_info(reader, file.size(), name)};
  image.width_px = image.info.width_px;
  image.height_px = image.info.height_px;
  image.sample_bytes = png_get_bit_depth(reader.png, reader.info) / 8;
  const std::size_t row_bytes = png_get_rowbytes(reader.png, reader.info);
  image.bytes.resize(row_bytes * static_cast<std::size_t>(image.height_px));
  std::vector<png_bytep> rows = row_pointers(image.bytes.data(), row_bytes, image.height_px);
  require(reader, read_pixels(reader, rows), name);
  if (find_orientation(reader) != image.info.orientation)  // load_image_info() cannot have seen it
    throw Error(fmt::format(
        "{}: an Exif orientation stored after the pixels is not supported; save the image upright", name));
  return image;
}

std::vector<std::byte> encode_png(const ByteImage& image, const std::string& name) {
  assert(1 <= image.channel_count && image.channel_count <= 4);
  const std::size_t row_bytes = static_cast<std::size_t>(image.width_px) * image.channel_count;
  // libpng takes pointers to non-const rows but only reads them.
  std::vector<png_bytep> rows =
      row_pointers(const_cast<png_bytep>(image.values.data()), row_bytes, image.height_px);
  Writer writer;
  if (!write_pixels(writer, image, rows)) {
    throw Error(fmt::format("cannot write {}: {}", name, writer.stream.message));
  }
  return std::move(writer.stream.output);
}

}  // namespace stipple
