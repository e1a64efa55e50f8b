// SPDX-License-Identifier: Apache-2.0
#include "stipple/ranks/launched_ranks.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "stipple/ranks/environment.h"
#include "stipple/ranks/mpi/module.h"
#include "stipple/ranks/share_cores.h"

namespace stipple {

namespace {

namespace fs = std::filesystem;

bool is_turned_off() {
  const char* const choice = std::getenv("STIPPLE_MPI");
  return choice && std::string_view(choice) == "off";
}

// The plugins of MPI look for its symbols among those of the whole process.
void* open_module(const std::string& path) { return dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL); }

// Beside the program, as it is built, or where it is installed; otherwise where the loader finds libraries.
void* load_module() {
  std::error_code unknown;
  const fs::path folder = fs::read_symlink("/proc/self/exe", unknown).parent_path();
  std::string problem;
  for (const fs::path& path : {folder / kMpiModule, folder.parent_path() / "lib" / "stipple" / kMpiModule}) {
    if (!fs::exists(path, unknown)) continue;
    if (void* module = open_module(path)) return module;
    problem = dlerror();
  }
  if (void* module = open_module(kMpiModule)) return module;
  // If the module was found, and one of its own libraries was not, the message begins with the name of that.
  const std::string text = dlerror();
  if (problem.empty() && !text.starts_with(kMpiModule + std::string(": cannot open"))) problem = text;
  if (!problem.empty()) throw Error("MPI cannot be loaded: " + problem);
  return nullptr;
}

}  // namespace

// Open MPI's mpirun sets the first two, that of MPICH and Slurm's srun the last two, with srun --mpi=pmix
// only the rank. The first that are there decide, since an mpirun may run within a step of Slurm.
std::optional<LaunchedProcess> launched_process() {
  if (is_turned_off()) return {};
  for (const auto& [rank_name, count_name] :
       {std::pair("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), std::pair("PMI_RANK", "PMI_SIZE"),
        std::pair("PMIX_RANK", "SLURM_STEP_NUM_TASKS")}) {
    const auto rank = number_in_environment(rank_name), count = number_in_environment(count_name);
    if (!rank || !count) continue;
    if (*count == 1) return {};
    return LaunchedProcess{*rank, *count};
  }
  return {};
}

std::unique_ptr<LaunchedRanks> join_launched_ranks(std::function<bool()> is_interrupted) {
  share_cores();
  const std::optional<LaunchedProcess> launched = launched_process();  // before MPI, which may change this
  void* module = load_module();
  if (!module)
    throw Error(
        "this program was started by a launcher of MPI, but it was built without MPI; install MPI with "
        "\"./setup --mpi\" and build it again, or start it without the launcher; for processes that work "
        "independently, set STIPPLE_MPI=off in the environment");
  const auto make = reinterpret_cast<MakeMpiRanks>(dlsym(module, kMakeMpiRanks));
  if (!make) throw Error(fmt::format("{} is not of this version of stipple", kMpiModule));
  std::unique_ptr<LaunchedRanks> ranks(make(std::move(is_interrupted)));
  if (launched && ranks->count() != launched->count)
    throw Error(fmt::format(
        "the launcher has started {} processes, of which MPI finds {}; use the launcher of the MPI that this "
        "program was built with, under Slurm srun --mpi=pmix; for processes that work independently, set "
        "STIPPLE_MPI=off in the environment",
        launched->count, ranks->count()));
  return ranks;
}

}  // namespace stipple
