// SPDX-License-Identifier: Apache-2.0
#include "stipple/core/host_memory.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

namespace stipple {

namespace {

namespace fs = std::filesystem;

// The number in a file that holds nothing else; a limit that is not set is the word "max".
std::optional<std::size_t> number_in(const fs::path& path) {
  std::ifstream file(path);
  std::size_t number = 0;
  return file >> number ? std::optional(number) : std::nullopt;
}

// The number behind a name, in a file with one on every line.
std::optional<std::size_t> number_of(std::string_view wanted, const fs::path& path) {
  std::ifstream file(path);
  std::string name, rest;
  for (std::size_t number = 0; file >> name >> number; std::getline(file, rest))
    if (name == wanted) return number;
  return std::nullopt;
}

// What a group may still take. Copies of files that have been read count as used, but make room.
std::optional<std::size_t> left_in(const fs::path& group, const char* limit_name, const char* used_name,
                                   const char* files_name) {
  const std::optional<std::size_t> limit = number_in(group / limit_name), used = number_in(group / used_name);
  if (!limit || !used) return std::nullopt;
  const std::size_t files = number_of(files_name, group / "memory.stat").value_or(0);
  return *limit - std::min(*limit, *used - std::min(*used, files));
}

// A container may have less than its machine: what its group has, and every group that this is in.
fs::path own_group(const fs::path& proc, const fs::path& cgroups) {
  std::ifstream file(proc / "self/cgroup");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("0::/")) return cgroups / line.substr(4);
  return cgroups;
}

}  // namespace

std::size_t available_host_bytes(const fs::path& proc, const fs::path& cgroups) {
  std::size_t bytes = number_of("MemAvailable:", proc / "meminfo").value_or(0) * 1024;
  const auto limit_to = [&](std::optional<std::size_t> left) {
    bytes = std::min(bytes, left.value_or(bytes));
  };
  // As the first version of the kernel's groups has it.
  limit_to(
      left_in(cgroups / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"));
  for (fs::path group = own_group(proc, cgroups);; group = group.parent_path()) {
    limit_to(left_in(group, "memory.max", "memory.current", "inactive_file"));
    if (group == cgroups || group == group.parent_path()) return bytes;
  }
}

std::size_t available_host_bytes() { return available_host_bytes("/proc", "/sys/fs/cgroup"); }

}  // namespace stipple
