// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/src/shared_backend.h"

#include <map>

namespace stipple {

std::shared_ptr<SharedBackend> shared_backend(const std::string& name) {
  thread_local std::map<std::string, std::shared_ptr<SharedBackend>> backends;
  const auto found = backends.find(name);
  if (found != backends.end()) return found->second;
  const bool is_best = name == "best";  // an alias of one of the others
  auto made = make_backend(name);
  const std::string its_name = is_best ? std::string(made->name()) : name;
  std::shared_ptr<SharedBackend>& kept = backends[its_name];
  if (!kept) kept = std::make_shared<SharedBackend>(std::move(made));
  return backends[name] = kept;
}

}  // namespace stipple
