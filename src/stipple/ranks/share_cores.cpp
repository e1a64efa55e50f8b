// SPDX-License-Identifier: Apache-2.0
#include "stipple/ranks/share_cores.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <vector>

#include "stipple/ranks/environment.h"

namespace stipple {

namespace {

// Those that the launcher may use, since it has bound this process, but not itself.
std::vector<int> cores_of_launcher() {
  cpu_set_t set;
  std::vector<int> cores;
  if (sched_getaffinity(getppid(), sizeof(set), &set) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  return cores;
}

}  // namespace

void share_cores() {
  const std::optional<int> rank = number_in_environment("OMPI_COMM_WORLD_LOCAL_RANK"),
                           count = number_in_environment("OMPI_COMM_WORLD_LOCAL_SIZE");
  const bool is_chosen = std::getenv("OMPI_MCA_hwloc_base_binding_policy") != nullptr ||
                         std::getenv("OMPI_MCA_rmaps_base_mapping_policy") != nullptr;
  const std::vector<int> cores = cores_of_launcher();
  if (!rank || !count || *rank >= *count || is_chosen || cores.empty()) return;
  const auto at = static_cast<std::size_t>(*rank), parts = static_cast<std::size_t>(*count);
  const std::size_t begin = at * cores.size() / parts,
                    end = std::max(begin + 1, (at + 1) * cores.size() / parts);
  cpu_set_t own;
  CPU_ZERO(&own);
  for (std::size_t i = begin; i < end; ++i) CPU_SET(cores[i], &own);
  sched_setaffinity(0, sizeof(own), &own);  // where that is not allowed, the launcher's binding stays
}

}  // namespace stipple
