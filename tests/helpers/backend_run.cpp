// SPDX-License-Identifier: Apache-2.0
#include "tests/helpers/backend_run.h"

#ifdef STIPPLE_VULKAN
#include "tests/helpers/vulkan_variants.h"
#endif

namespace stipple {

std::vector<std::string> test_backend_names() {
  std::vector<std::string> names;
  for (const std::string& name : backend_names()) {
    names.push_back(name);
    if (name == "cuda") names.push_back(name + kDeterministic);
#ifdef STIPPLE_VULKAN
    if (name == "vulkan")
      for (const std::string& variant : vulkan_variant_names()) names.push_back(variant);
#endif
  }
  return names;
}

std::unique_ptr<Backend> make_test_backend(const std::string& test_name) {
#ifdef STIPPLE_VULKAN
  if (plain_name(test_name) == "vulkan") return make_vulkan_variant(test_name);
#endif
  return make_backend(plain_name(test_name), {.deterministic = is_deterministic(test_name)});
}

}  // namespace stipple
