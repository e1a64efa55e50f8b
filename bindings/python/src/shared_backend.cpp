// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/src/shared_backend.h"

#include <map>

namespace stipple {

std::shared_ptr<SharedBackend> shared_backend(const std::string& name) {
  thread_local std::map<std::string, std::shared_ptr<SharedBackend>> backends;
  std::shared_ptr<SharedBackend>& backend = backends[name];
  if (!backend) backend = std::make_shared<SharedBackend>(make_backend(name));
  return backend;
}

}  // namespace stipple
