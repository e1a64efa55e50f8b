// SPDX-License-Identifier: Apache-2.0
// JPEG files through libjpeg-turbo.
//
// libjpeg reports errors by a callback that must not return. Ours leaves with longjmp, which runs no
// destructors: the functions that call setjmp therefore hold nothing but references, and everything owned
// lives in their caller.
#include <fmt/format.h>

#include <csetjmp>
// clang-format off
#include <cstdio>  // jpeglib.h needs it first
#include <jpeglib.h>
#include <jerror.h>
// clang-format on

#include "stipple/core/error.h"
#include "stipple/io/image_codec.h"

namespace stipple {

namespace {

struct Decoder {
  jpeg_decompress_struct jpeg{};
  jpeg_error_mgr errors{};
  std::jmp_buf escape{};
  char message[JMSG_LENGTH_MAX]{};

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

// libjpeg fills what is missing with grey and warns (level -1). Half a picture must not pass for a whole one.
void on_message(j_common_ptr jpeg, int level) {
  const bool harmless = jpeg->err->msg_code == JWRN_JFIF_MAJOR;  // a version number, nothing more
  if (level < 0 && !harmless) on_error(jpeg);
}

void print_nothing(j_common_ptr) {}

bool read_header(Decoder& decoder, std::span<const std::byte> file) {
  jpeg_decompress_struct& jpeg = decoder.jpeg;
  jpeg.err = jpeg_std_error(&decoder.errors);
  decoder.errors.error_exit = on_error;
  decoder.errors.emit_message = on_message;
  decoder.errors.output_message = print_nothing;
  jpeg.client_data = &decoder;
  if (setjmp(decoder.escape)) return false;
  jpeg_create_decompress(&jpeg);
  jpeg_save_markers(&jpeg, JPEG_APP0 + 1, 0xffff);  // APP1 holds the Exif data
  jpeg_mem_src(&jpeg, reinterpret_cast<const unsigned char*>(file.data()), file.size());
  jpeg_read_header(&jpeg, TRUE);
  return true;
}

// `row` has room for one row of the output, `to` for all of it.
bool read_pixels(Decoder& decoder, std::vector<JSAMPLE>& row, std::vector<float>& to) {
  if (setjmp(decoder.escape)) return false;
  jpeg_start_decompress(&decoder.jpeg);
  while (decoder.jpeg.output_scanline < decoder.jpeg.output_height) {
    const std::size_t begin = decoder.jpeg.output_scanline * row.size();
    JSAMPROW samples = row.data();
    jpeg_read_scanlines(&decoder.jpeg, &samples, 1);
    for (std::size_t i = 0; i < row.size(); ++i) to[begin + i] = static_cast<float>(row[i]) / 255.0f;
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
      throw Error(fmt::format("{}: a CMYK picture, made for printing; RGB or grey is needed", name));
    default:
      throw Error(fmt::format("{}: {} channels of unknown colours", name, jpeg.num_components));
  }
}

// Every block of 8 x 8 pixels takes a bit at least, so that a header cannot make a tiny file huge in memory.
// Arithmetic coding has no such bound.
void check_file_size(const jpeg_decompress_struct& jpeg, std::size_t file_bytes, const std::string& name) {
  const std::uint64_t pixel_count = std::uint64_t{jpeg.image_width} * jpeg.image_height;
  if (jpeg.arith_code || pixel_count / 64 <= std::uint64_t{file_bytes} * 8) return;
  throw Error(
      fmt::format("{}: file is too short for {} x {} pixels", name, jpeg.image_width, jpeg.image_height));
}

int find_orientation(const jpeg_decompress_struct& jpeg) {
  for (jpeg_saved_marker_ptr marker = jpeg.marker_list; marker; marker = marker->next) {
    const int orientation = exif_orientation(std::as_bytes(std::span(marker->data, marker->data_length)));
    if (orientation != 1) return orientation;
  }
  return 1;
}

}  // namespace

Image decode_jpeg(std::span<const std::byte> file, const std::string& name) {
  Decoder decoder;
  if (!read_header(decoder, file)) throw Error(fmt::format("{}: {}", name, decoder.message));
  jpeg_decompress_struct& jpeg = decoder.jpeg;
  check_pixel_count(jpeg.image_width, jpeg.image_height, name);
  check_file_size(jpeg, file.size(), name);
  choose_output(jpeg, name);
  const int orientation = find_orientation(jpeg);

  const int channels = jpeg.out_color_space == JCS_GRAYSCALE ? 1 : 3;
  Image image(static_cast<int>(jpeg.image_width), static_cast<int>(jpeg.image_height), channels);
  std::vector<JSAMPLE> row(static_cast<std::size_t>(jpeg.image_width) * channels);
  if (!read_pixels(decoder, row, image.values)) throw Error(fmt::format("{}: {}", name, decoder.message));
  return apply_orientation(std::move(image), orientation);
}

}  // namespace stipple
