// SPDX-License-Identifier: Apache-2.0
// Writes JPEGs through libjpeg-turbo. As in jpeg.cpp, errors leave libjpeg by longjmp, so that functions
// which call setjmp hold only references.
#include <fmt/format.h>

#include <cassert>
#include <csetjmp>
#include <cstdlib>
#include <new>
// clang-format off
#include <cstdio>  // must precede jpeglib.h
#include <jpeglib.h>
#include <jerror.h>
// clang-format on

#include "stipple/core/error.h"
#include "stipple/io/image/image_codec.h"

namespace stipple {

namespace {

struct Encoder {
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  std::jmp_buf escape{};
  char message[JMSG_LENGTH_MAX]{};
  unsigned char* bytes = nullptr;  // allocated by libjpeg
  unsigned long size = 0;

  Encoder() = default;
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;
  ~Encoder() {
    jpeg_destroy_compress(&jpeg);
    std::free(bytes);
  }
};

[[noreturn]] void on_error(j_common_ptr jpeg) {
  Encoder& encoder = *static_cast<Encoder*>(jpeg->client_data);
  jpeg->err->format_message(jpeg, encoder.message);
  std::longjmp(encoder.escape, 1);
}

bool compress(Encoder& encoder, const ByteImage& image, const JpegOptions& options) {
  jpeg_compress_struct& jpeg = encoder.jpeg;
  jpeg.err = jpeg_std_error(&encoder.errors);
  jpeg.err->error_exit = on_error;
  jpeg.client_data = &encoder;
  if (setjmp(encoder.escape)) return false;
  jpeg_create_compress(&jpeg);
  jpeg_mem_dest(&jpeg, &encoder.bytes, &encoder.size);
  jpeg.image_width = static_cast<JDIMENSION>(image.width_px);
  jpeg.image_height = static_cast<JDIMENSION>(image.height_px);
  jpeg.input_components = image.channel_count;
  jpeg.in_color_space = image.channel_count == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, options.quality, TRUE);
  if (image.channel_count == 3 && options.full_color) {
    jpeg.comp_info[0].h_samp_factor = 1;
    jpeg.comp_info[0].v_samp_factor = 1;
  }
  jpeg_start_compress(&jpeg, TRUE);
  const std::size_t row_bytes =
      static_cast<std::size_t>(image.width_px) * static_cast<std::size_t>(image.channel_count);
  while (jpeg.next_scanline < jpeg.image_height) {
    // libjpeg does not write to its input.
    JSAMPROW row = const_cast<JSAMPROW>(image.values.data() + jpeg.next_scanline * row_bytes);
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  return true;
}

}  // namespace

std::vector<std::byte> encode_jpeg(const ByteImage& image, const JpegOptions& options) {
  assert(image.channel_count == 1 || image.channel_count == 3);
  Encoder encoder;
  if (!compress(encoder, image, options)) {
    if (encoder.errors.msg_code == JERR_OUT_OF_MEMORY) throw std::bad_alloc();
    throw Error(fmt::format("cannot write {} x {} pixels as a JPEG: {}", image.width_px, image.height_px,
                            encoder.message));
  }
  const auto* begin = reinterpret_cast<const std::byte*>(encoder.bytes);
  return {begin, begin + encoder.size};
}

}  // namespace stipple
