// SPDX-License-Identifier: Apache-2.0
// Takes the place of the fuzzer in ordinary builds, so that their tests cover the corpus: fuzz_replay TARGET
// FOLDER runs a target on all files in a folder.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <vector>

// targets.inc has a line for each target; its function has the name of its file.
#define TARGET(name) extern "C" int fuzz_##name(const std::uint8_t* data, std::size_t size);
#include "targets.inc"
#undef TARGET

namespace {

struct Target {
  std::string_view name;
  int (*run)(const std::uint8_t* data, std::size_t size);
};

constexpr Target kTargets[] = {
#define TARGET(name) {#name, fuzz_##name},
#include "targets.inc"
#undef TARGET
};

int replay(const Target& target, const char* folder) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    target.run(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    ++count;
  }
  std::printf("%d inputs\n", count);
  return count > 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3)
    for (const Target& target : kTargets)
      if (target.name == argv[1]) return replay(target, argv[2]);
  std::fprintf(stderr, "usage: fuzz_replay TARGET FOLDER\n");
  return 2;
}
