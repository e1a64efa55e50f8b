// SPDX-License-Identifier: Apache-2.0
// The only file that knows which backends this build has.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "stipple/backend/backend.h"
#include "stipple/backend/cpu/cpu_backend.h"
#include "stipple/backend/find_device.h"
#ifdef STIPPLE_CUDA
#include "stipple/backend/cuda/make_cuda_backend.h"
#endif
#ifdef STIPPLE_VULKAN
#include "stipple/backend/vulkan/make_vulkan_backend.h"
#endif
#include "stipple/core/error.h"

namespace stipple {

namespace {

struct Entry {
  const char* name;
  std::unique_ptr<Backend> (*make)(const BackendOptions&);
  std::string (*why_unusable)();
  std::vector<DeviceInfo> (*list_devices)();
};

constexpr const char* kCpuName = "CPU";

std::unique_ptr<Backend> make_cpu(const BackendOptions& options) {
  find_device("cpu", std::vector<std::string>{kCpuName}, options.device);  // throws unless it means this one
  return cpu::make_cpu_backend();
}

std::string usable() { return ""; }

std::vector<DeviceInfo> list_cpu() {
  return {{.name = kCpuName,
           .description = cpu::make_cpu_backend()->description(),
           .problem = "",
           .id = kCpuName}};
}

constexpr Entry kBackends[] = {  // fastest first
#ifdef STIPPLE_CUDA
    {"cuda", cuda::make_cuda_backend, cuda::why_cuda_is_unusable, cuda::list_cuda_devices},
#endif
#ifdef STIPPLE_VULKAN
    {"vulkan", vulkan::make_vulkan_backend, vulkan::why_vulkan_is_unusable, vulkan::list_vulkan_devices},
#endif
    {"cpu", make_cpu, usable, list_cpu}};

const Entry& find(std::string_view name) {
  for (const Entry& entry : kBackends)
    if (name == entry.name) return entry;
  throw Error(fmt::format("this build has no backend '{}'; available are {}", name,
                          fmt::join(backend_names(), ", ")));
}

// The first backend with a device of that name, even one that "best" would not select on its own.
const Entry& find_by_device(const std::string& device) {
  std::vector<std::string> lists;
  for (const Entry& entry : kBackends) {
    std::vector<std::string> names;
    for (const DeviceInfo& info : entry.list_devices()) names.push_back(info.name);
    if (std::ranges::any_of(names, [&](const auto& name) { return has_in_name(name, device); })) return entry;
    if (!names.empty()) lists.push_back(fmt::format("{} {}", entry.name, numbered_names(names)));
  }
  throw Error(fmt::format("there is no device with '{}' in its name; available are {}", device,
                          fmt::join(lists, ", ")));
}

const Entry& best() {
  const auto is_real = [](const DeviceInfo& info) { return info.problem.empty() && !info.is_software; };
  for (const Entry& entry : kBackends)
    if (std::ranges::any_of(entry.list_devices(), is_real)) return entry;
  throw Error("no backend works on this machine");
}

struct Selection {
  const Entry& entry;
  std::string device;
};

// "vulkan:radeon" overrides the device that is given apart.
Selection select(std::string_view name_and_device, const std::string& given_device) {
  const std::size_t colon = std::min(name_and_device.find(':'), name_and_device.size());
  const std::string_view name = name_and_device.substr(0, colon);
  const std::string device(colon < name_and_device.size() ? name_and_device.substr(colon + 1) : given_device);
  const Entry& entry = name != "best" ? find(name) : is_device_name(device) ? find_by_device(device) : best();
  if (const std::string why = entry.why_unusable(); !why.empty())
    throw Error(fmt::format("the {} backend cannot be used: {}; use cpu or best", entry.name, why));
  return {entry, device};
}

}  // namespace

std::vector<std::string> backend_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kBackends) names.push_back(entry.name);
  return names;
}

std::string why_unusable(std::string_view name) { return find(name).why_unusable(); }

std::vector<DeviceInfo> list_devices(std::string_view name) { return find(name).list_devices(); }

DeviceChoice choose_device(std::string_view name_and_device, const std::string& device) {
  const Selection selection = select(name_and_device, device);
  std::vector<std::string> names;
  for (const DeviceInfo& info : selection.entry.list_devices()) names.push_back(info.name);
  return {selection.entry.name, find_device(selection.entry.name, names, selection.device)};
}

std::unique_ptr<Backend> make_backend(std::string_view name_and_device, const BackendOptions& given) {
  const Selection selection = select(name_and_device, given.device);
  BackendOptions options = given;
  options.device = selection.device;
  return selection.entry.make(options);
}

}  // namespace stipple
