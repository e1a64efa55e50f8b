// SPDX-License-Identifier: Apache-2.0
// JPEG files through libjpeg-turbo.
//
// libjpeg reports errors through a callback that must not return. The callback here uses longjmp, which runs
// no destructors. Functions that call setjmp therefore hold only references; their callers own all objects.
#include <fmt/format.h>

#include <csetjmp>
#include <utility>
// clang-format off
#include <cstdio>  // must precede jpeglib.h
#include <jpeglib.h>
#include <jerror.h>
// clang-format on

#include "stipple/core/error.h"
#include "stipple/io/image/image_codec.h"
#include "stipple/io/image/orientation.h"

namespace stipple {

namespace {

// Programs write about ten. Each takes a pass over the whole image, and a few bytes can be a scan.
constexpr int kMaxScans = 100;

struct Decoder {
  jpeg_decompress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg_progress_mgr progress{};
  std::jmp_buf escape{};
  char message[JMSG_LENGTH_MAX]{};
  int orientation = 1;  // of the first Exif data that are not upright

  Decoder() = default;
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  ~Decoder() { jpeg_destroy_decompress(&jpeg); }
};

[[noreturn]] void on_error(j_common_ptr jpeg) {
  Decoder& decoder = *static_cast<Decoder*>(jpeg->client_data);
  jpeg->err->format_message(jpeg, decoder.message);
  std::longjmp(decoder.escape, 1);
}

// libjpeg fills missing data with grey and issues a warning (level -1). A partial image must not pass for a
// whole one, so warnings are errors.
void on_message(j_common_ptr jpeg, int level) {
  const int code = jpeg->err->msg_code;
  const bool harmless = code == JWRN_JFIF_MAJOR ||     // only an unknown version number
                        code == JWRN_EXTRANEOUS_DATA;  // padding between segments, written by some cameras
  if (level < 0 && !harmless) on_error(jpeg);
}

void print_nothing(j_common_ptr) {}

// libjpeg calls this many times per scan.
void check_scan_count(j_common_ptr jpeg) {
  Decoder& decoder = *static_cast<Decoder*>(jpeg->client_data);
  if (decoder.jpeg.input_scan_number <= kMaxScans) return;
  std::snprintf(decoder.message, sizeof(decoder.message),
                "the image has more than %d scans; save it as a baseline JPEG", kMaxScans);
  std::longjmp(decoder.escape, 1);
}

// Reads an APP1 marker, which holds Exif data. libjpeg could keep these markers, but it would walk the list
// of those that it has for each one that it adds.
boolean read_exif(j_decompress_ptr jpeg) {
  Decoder& decoder = *static_cast<Decoder*>(jpeg->client_data);
  jpeg_source_mgr& source = *jpeg->src;
  constexpr std::size_t kLengthBytes = 2;
  // The whole file is in the buffer, so that refilling it is the error for a truncated file.
  if (source.bytes_in_buffer < kLengthBytes) source.fill_input_buffer(jpeg);
  const std::size_t length = std::size_t{source.next_input_byte[0]} << 8 | source.next_input_byte[1];
  if (length < kLengthBytes) ERREXIT(jpeg, JERR_BAD_LENGTH);
  if (source.bytes_in_buffer < length) source.fill_input_buffer(jpeg);
  const std::span content(source.next_input_byte + kLengthBytes, length - kLengthBytes);
  if (decoder.orientation == 1) decoder.orientation = exif_orientation(std::as_bytes(content));
  source.next_input_byte += length;
  source.bytes_in_buffer -= length;
  return TRUE;
}

bool read_header(Decoder& decoder, std::span<const std::byte> file) {
  jpeg_decompress_struct& jpeg = decoder.jpeg;
  jpeg.err = jpeg_std_error(&decoder.errors);
  decoder.errors.error_exit = on_error;
  decoder.errors.emit_message = on_message;
  decoder.errors.output_message = print_nothing;
  jpeg.client_data = &decoder;
  if (setjmp(decoder.escape)) return false;
  jpeg_create_decompress(&jpeg);
  decoder.progress.progress_monitor = check_scan_count;
  jpeg.progress = &decoder.progress;
  jpeg_set_marker_processor(&jpeg, JPEG_APP0 + 1, read_exif);
  jpeg_mem_src(&jpeg, reinterpret_cast<const unsigned char*>(file.data()), file.size());
  jpeg_read_header(&jpeg, TRUE);
  return true;
}

bool start_pixels(Decoder& decoder) {
  if (setjmp(decoder.escape)) return false;
  jpeg_start_decompress(&decoder.jpeg);
  return true;
}

// `to` must be large enough for all rows of the output.
bool read_pixels(Decoder& decoder, std::size_t row_bytes, std::vector<std::uint8_t>& to) {
  if (setjmp(decoder.escape)) return false;
  while (decoder.jpeg.output_scanline < decoder.jpeg.output_height) {
    JSAMPROW row = to.data() + decoder.jpeg.output_scanline * row_bytes;
    jpeg_read_scanlines(&decoder.jpeg, &row, 1);
  }
  jpeg_finish_decompress(&decoder.jpeg);
  return true;
}

void choose_output(jpeg_decompress_struct& jpeg, const std::string& name) {
  switch (jpeg.jpeg_color_space) {
    case JCS_GRAYSCALE:
      jpeg.out_color_space = JCS_GRAYSCALE;
      return;
    case JCS_YCbCr:
    case JCS_RGB:
      jpeg.out_color_space = JCS_RGB;
      return;
    case JCS_CMYK:
    case JCS_YCCK:
      throw Error(fmt::format("{}: CMYK is not supported; convert the image to RGB or grey", name));
    default:
      throw Error(
          fmt::format("{}: the colour space of its {} channels is unknown; convert the image to RGB or grey",
                      name, jpeg.num_components));
  }
}

// Prevents the header of a tiny file from causing a huge allocation: in each channel, a block of 8 x 8
// samples takes at least one bit, its average, and without progression a second one, the end of its details.
// Arithmetic coding has no such bound, and no camera uses it.
void check_file_size(const jpeg_decompress_struct& jpeg, std::uint64_t file_bytes, const std::string& name) {
  if (jpeg.arith_code)
    throw Error(fmt::format(
        "{}: arithmetic coding is not supported; save the image as a baseline or progressive JPEG", name));
  std::uint64_t block_count = 0;
  for (const jpeg_component_info& channel : std::span(jpeg.comp_info, jpeg.num_components))
    block_count += std::uint64_t{channel.width_in_blocks} * channel.height_in_blocks;
  if (block_count * (jpeg.progressive_mode ? 1 : 2) <= file_bytes * 8) return;
  throw Error(
      fmt::format("{}: the file is too short for {} x {} pixels", name, jpeg.image_width, jpeg.image_height));
}

void require(const Decoder& decoder, bool done, const std::string& name) {
  // This is no fault of the file.
  if (!done && decoder.errors.msg_code == JERR_OUT_OF_MEMORY) throw std::bad_alloc();
  if (!done) throw Error(fmt::format("{}: {}", name, decoder.message));
}

// Returns the contents of the header after checking them.
ImageInfo take_info(Decoder& decoder, std::uint64_t file_bytes, const std::string& name) {
  jpeg_decompress_struct& jpeg = decoder.jpeg;
  check_pixel_count(jpeg.image_width, jpeg.image_height, name);
  check_file_size(jpeg, file_bytes, name);
  choose_output(jpeg, name);
  return {.width_px = static_cast<int>(jpeg.image_width),
          .height_px = static_cast<int>(jpeg.image_height),
          .channel_count = jpeg.out_color_space == JCS_GRAYSCALE ? 1 : 3,
          .orientation = decoder.orientation};
}

// Returns the largest factor for which the upright image still has the minimum size.
int choose_shrinking(const ImageInfo& info, int min_width_px, int min_height_px) {
  if (swaps_axes(info.orientation)) std::swap(min_width_px, min_height_px);
  if (min_width_px <= 0 || min_height_px <= 0) return 1;
  const auto is_enough = [&](int factor) {
    const int more = factor - 1;  // libjpeg rounds up
    return (info.width_px + more) / factor >= min_width_px &&
           (info.height_px + more) / factor >= min_height_px;
  };
  return is_enough(8) ? 8 : is_enough(4) ? 4 : is_enough(2) ? 2 : 1;
}

}  // namespace

std::optional<ImageInfo> read_jpeg_info(std::span<const std::byte> start, std::uint64_t file_bytes,
                                        const std::string& name) {
  Decoder decoder;
  const bool done = read_header(decoder, start);
  const bool ended_early = !done && decoder.errors.msg_code == JWRN_JPEG_EOF;
  if (ended_early && start.size() < file_bytes) return std::nullopt;
  require(decoder, done, name);
  return take_info(decoder, file_bytes, name);
}

DecodedImage decode_jpeg(std::span<const std::byte> file, int min_width_px, int min_height_px,
                         const std::string& name) {
  Decoder decoder;
  require(decoder, read_header(decoder, file), name);
  jpeg_decompress_struct& jpeg = decoder.jpeg;
  DecodedImage image{.info = take_info(decoder, file.size(), name)};
  image.shrunk_by = choose_shrinking(image.info, min_width_px, min_height_px);
  jpeg.scale_num = 1;
  jpeg.scale_denom = static_cast<unsigned>(image.shrunk_by);
  require(decoder, start_pixels(decoder), name);

  image.width_px = static_cast<int>(jpeg.output_width);
  image.height_px = static_cast<int>(jpeg.output_height);
  const std::size_t row_bytes =
      std::size_t{jpeg.output_width} * static_cast<unsigned>(jpeg.output_components);
  image.bytes.resize(row_bytes * jpeg.output_height);
  require(decoder, read_pixels(decoder, row_bytes, image.bytes), name);
  return image;
}

}  // namespace stipple
