// SPDX-License-Identifier: Apache-2.0
// The only file that knows which backends this build has.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "stipple/backend/backend.h"
#include "stipple/backend/cpu/cpu_backend.h"
#ifdef STIPPLE_CUDA
#include "stipple/backend/cuda/make_cuda_backend.h"
#endif
#ifdef STIPPLE_VULKAN
#include "stipple/backend/vulkan/make_vulkan_backend.h"
#endif
#include "stipple/core/error.h"
#include "stipple/io/text.h"

namespace stipple {

namespace {

struct Entry {
  const char* name;
  std::unique_ptr<Backend> (*make)(const BackendOptions&);
  std::string (*why_unusable)();
  std::string (*why_not_best)();  // the same, also if it works but would be slower than the next
  std::vector<std::string> (*list_devices)();
};

std::unique_ptr<Backend> make_cpu(const BackendOptions& options) {
  if (options.device != 0)
    throw Error(fmt::format("the cpu backend has no device {}; use device 0", options.device));
  return cpu::make_cpu_backend();
}

std::string usable() { return ""; }

constexpr Entry kBackends[] = {  // fastest first
#ifdef STIPPLE_CUDA
    {"cuda", cuda::make_cuda_backend, cuda::why_cuda_is_unusable, cuda::why_cuda_is_unusable,
     cuda::list_cuda_devices},
#endif
#ifdef STIPPLE_VULKAN
    {"vulkan", vulkan::make_vulkan_backend, vulkan::why_vulkan_is_unusable, vulkan::why_vulkan_is_not_best,
     vulkan::list_vulkan_devices},
#endif
    {"cpu", make_cpu, usable, usable, [] { return std::vector{cpu::make_cpu_backend()->description()}; }}};

const Entry& find(std::string_view name) {
  for (const Entry& entry : kBackends)
    if (name == entry.name) return entry;
  throw Error(fmt::format("this build has no backend '{}'; available are {}", name,
                          fmt::join(backend_names(), ", ")));
}

const Entry& best() {
  for (const Entry& entry : kBackends)
    if (entry.why_not_best().empty()) return entry;
  throw Error("no backend works on this machine");
}

}  // namespace

std::vector<std::string> backend_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kBackends) names.push_back(entry.name);
  return names;
}

std::string why_unusable(std::string_view name) { return find(name).why_unusable(); }

std::vector<std::string> list_devices(std::string_view name) {
  const Entry& entry = find(name);
  return entry.why_unusable().empty() ? entry.list_devices() : std::vector<std::string>();
}

std::unique_ptr<Backend> make_backend(std::string_view name_and_device, const BackendOptions& given) {
  const std::size_t colon = std::min(name_and_device.find(':'), name_and_device.size());
  const std::string_view name = name_and_device.substr(0, colon);
  BackendOptions options = given;
  if (colon < name_and_device.size() && !parse_whole(name_and_device.substr(colon + 1), options.device))
    throw Error(fmt::format("'{}' is not a backend; write cuda:0, cuda:1 and so on", name_and_device));
  const Entry& entry = name == "best" ? best() : find(name);
  if (const std::string why = entry.why_unusable(); !why.empty())
    throw Error(fmt::format("the {} backend cannot be used: {}; use cpu or best", entry.name, why));
  return entry.make(options);
}

}  // namespace stipple
