// SPDX-License-Identifier: Apache-2.0
// Reads an archive, a meta.json beside valid images, or a lod-meta.json beside a valid SOG in pieces/.
#include "fuzz/fuzz_folder.h"
#include "stipple/core/gaussians.h"
#include "stipple/model/sog/lod.h"
#include "stipple/model/sog/sog.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stipple;
  static const FuzzFolder folder;
  static const bool has_images = [] {
    save_sog(make_gaussians(8, 1), folder.path() / "meta.json", {});
    save_sog(make_gaussians(8, 1), folder.path() / "pieces" / "meta.json", {});
    return true;
  }();
  if (!has_images) return 0;
  const std::filesystem::path path = folder.write("meta.json", data, size);
  ModelFacts facts;
  expect_error_or_result([&] { summarise_sog(path); });
  expect_error_or_result([&] { load_sog(path, facts); });
  const std::filesystem::path lod = folder.write("lod-meta.json", data, size);
  expect_error_or_result([&] { load_lod(lod, facts); });
  return 0;
}
