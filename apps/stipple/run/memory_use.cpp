// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/run/memory_use.h"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

namespace stipple {

std::size_t peak_memory_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss) * 1024;
}

std::size_t memory_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t all = 0, resident = 0;
  statm >> all >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace stipple
