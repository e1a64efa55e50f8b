// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/src/shared_backend.h"

#include <fmt/format.h>

#include <map>

#include "stipple/io/text.h"

namespace stipple {

std::shared_ptr<SharedBackend> shared_backend(const std::string& name) {
  thread_local std::map<std::string, std::shared_ptr<SharedBackend>> backends;
  const auto found = backends.find(name);
  if (found != backends.end()) return found->second;
  const std::size_t colon = name.find(':');
  BackendOptions options;
  if (colon != name.npos && !parse_whole(name.substr(colon + 1), options.device))
    throw Error(fmt::format("'{}' is no device; write cuda:0, cuda:1 and so on", name));
  auto made = make_backend(name.substr(0, colon), options);
  const std::string its_name =
      fmt::format("{}:{}", made->name(), options.device);  // "best" is one of the others
  std::shared_ptr<SharedBackend>& kept = backends[its_name];
  if (!kept) kept = std::make_shared<SharedBackend>(std::move(made));
  return backends[name] = kept;
}

}  // namespace stipple
