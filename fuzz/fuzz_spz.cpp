// SPDX-License-Identifier: Apache-2.0
// Reads an .spz file: the input itself, and the input as what is in the gzip of versions 1 to 3, which
// otherwise no input would be.
#include <zlib.h>

#include <vector>

#include "fuzz/fuzz_folder.h"
#include "stipple/model/formats/spz.h"

namespace {

constexpr int kGzipWindow = 15 + 16;  // of zlib: 16 stands for a gzip header

// Without compression, which would take longer than reading the file.
std::vector<std::uint8_t> gzip(const std::uint8_t* data, std::size_t size) {
  z_stream stream{};
  deflateInit2(&stream, Z_NO_COMPRESSION, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY);
  std::vector<std::uint8_t> bytes(deflateBound(&stream, size));
  stream.next_in = const_cast<std::uint8_t*>(data);
  stream.avail_in = static_cast<unsigned>(size);
  stream.next_out = bytes.data();
  stream.avail_out = static_cast<unsigned>(bytes.size());
  deflate(&stream, Z_FINISH);
  bytes.resize(stream.total_out);
  deflateEnd(&stream);
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stipple;
  static const FuzzFolder folder;
  ModelFacts facts;
  const std::filesystem::path path = folder.write("a.spz", data, size);
  expect_error_or_result([&] { load_spz(path, facts); });
  const std::vector<std::uint8_t> wrapped = gzip(data, size);
  folder.write("a.spz", wrapped.data(), wrapped.size());
  expect_error_or_result([&] { load_spz(path, facts); });
  return 0;
}
