// SPDX-License-Identifier: Apache-2.0
// Reads a JPEG or PNG: its header, its pixels at full size, and its pixels at reduced sizes.
#include "fuzz/fuzz_folder.h"
#include "stipple/io/image/image_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stipple;
  static const FuzzFolder folder;
  const std::filesystem::path path = folder.write("a.png", data, size);
  expect_error_or_result([&] {
    const ImageInfo info = load_image_info(path);
    if (static_cast<std::int64_t>(info.width_px) * info.height_px > 1 << 22) return;  // too slow
    expect_error_or_result([&] { load_image(path); });
    expect_error_or_result([&] { load_byte_image(path, 1, 1); });
    expect_error_or_result([&] { load_small_image(path, 4); });
  });
  return 0;
}
