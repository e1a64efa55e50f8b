// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/train/rank_backend.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <string>
#include <vector>

#include "stipple/ranks/collectives.h"
#include "stipple/ranks/require_same.h"

namespace stipple {

namespace {

BackendOptions backend_options(const RunOptions& options) {
  return {.device = options.device,
          .deterministic = options.deterministic,
          .max_bytes = static_cast<std::size_t>(options.max_vram_gib * (1u << 30))};
}

// The numbers of the devices that can be used, and are no stand-ins on the CPU.
std::vector<std::size_t> usable_devices(const std::string& backend) {
  const std::vector<DeviceInfo> all = list_devices(backend);
  std::vector<std::size_t> usable;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].problem.empty() && !all[i].is_software) usable.push_back(i);
  return usable;
}

// Where a launcher gives each rank devices of its own, these are all that it sees here.
DeviceChoice device_of(const RunOptions& options, const RankPlace& place) {
  DeviceChoice choice = choose_device(options.backend, options.device);
  const bool is_named =
      options.device != RunOptions().device || options.backend.find(':') != std::string::npos;
  const std::vector<std::size_t> usable = usable_devices(choice.backend);
  if (!is_named && !usable.empty())
    choice.device = usable[static_cast<std::size_t>(place.local_rank) % usable.size()];
  return choice;
}

// The same for all containers of a machine. Where the system has no such number, the machine's name.
std::string this_machine() {
  std::string id;
  if (std::ifstream("/proc/sys/kernel/random/boot_id") >> id) return id;
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

}  // namespace

std::unique_ptr<Backend> make_rank_backend(const RunOptions& options, const RankPlace& place) {
  BackendOptions own = backend_options(options);
  if (place.is_alone()) return make_backend(options.backend, own);
  const DeviceChoice choice = device_of(options, place);
  require_same(place.ranks, {{"the backend", choice.backend}}, "choose one for all with --backend");
  own.device = std::to_string(choice.device);
  std::unique_ptr<Backend> backend = make_backend(choice.backend, own);
  // Also tells that all ranks have found out how much memory is free, before any takes some.
  const std::vector<std::uint64_t> bytes =
      gather_value(place.ranks, std::uint64_t{backend->own_memory_bytes()});
  const std::string seat = this_machine() + " " + list_devices(choice.backend).at(choice.device).id;
  const std::vector<std::string> seats = gather_texts(place.ranks, seat);
  std::uint64_t sharers = 0, least_bytes = backend->own_memory_bytes();
  for (std::size_t r = 0; r < seats.size(); ++r) {
    if (seats[r] != seat) continue;
    ++sharers;
    least_bytes = std::min(least_bytes, bytes[r]);
  }
  if (sharers == 1 || least_bytes == 0) return backend;
  own.max_bytes = least_bytes / sharers;
  backend.reset();
  return make_backend(choice.backend, own);
}

}  // namespace stipple
