// SPDX-License-Identifier: Apache-2.0
// stipple_write_shaders FOLDER: writes every kernel of the Vulkan backend as FOLDER/<name>.spv, as it is
// given to the driver, for tools that read SPIR-V.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "stipple/backend/vulkan/runtime/shader.h"

int main(int argument_count, char** arguments) {
  if (argument_count != 2) {
    std::fputs("usage: stipple_write_shaders FOLDER\n", stderr);
    return 2;
  }
  for (const stipple::vulkan::Shader& shader : stipple::vulkan::all_shaders()) {
    const std::vector<std::uint32_t> words = stipple::vulkan::without_contraction(shader.words);
    const auto path = std::filesystem::path(arguments[1]) / (std::string(shader.name) + ".spv");
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(words.data()),
               static_cast<std::streamsize>(words.size() * sizeof(std::uint32_t)));
    if (!file.flush()) {
      std::fprintf(stderr, "cannot write %s\n", path.c_str());
      return 1;
    }
  }
}
