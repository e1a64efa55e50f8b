// SPDX-License-Identifier: Apache-2.0
// Reads an .spz file: the input itself, and the input as what is in the gzip of versions 1 to 3, which
// otherwise no input would be.
#include <span>

#include "fuzz/fuzz_folder.h"
#include "stipple/io/gzip.h"
#include "stipple/io/output_file.h"
#include "stipple/model/formats/spz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stipple;
  static const FuzzFolder folder;
  ModelFacts facts;
  const std::filesystem::path path = folder.write("a.spz", data, size);
  expect_error_or_result([&] { load_spz(path, facts); });
  {
    OutputFile file(path);
    GzipWriter gzip(file);
    gzip.write(std::as_bytes(std::span(data, size)));
    gzip.finish();
    file.commit();
  }
  expect_error_or_result([&] { load_spz(path, facts); });
  return 0;
}
