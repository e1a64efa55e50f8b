// SPDX-License-Identifier: Apache-2.0
// Reads a glTF file, as .glb or as JSON.
#include "fuzz/fuzz_folder.h"
#include "stipple/model/formats/gltf.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stipple;
  static const FuzzFolder folder;
  ModelFacts facts;
  const std::filesystem::path path = folder.write("a.gltf", data, size);
  expect_error_or_result([&] { load_gltf(path, facts); });
  return 0;
}
