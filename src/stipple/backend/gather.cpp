// SPDX-License-Identifier: Apache-2.0
#include "stipple/backend/backend.h"

namespace stipple {

DeviceGaussians gather(Backend& backend, const DeviceGaussians& from,
                       const DeviceArray<std::uint32_t>& rows) {
  DeviceGaussians to;
  to.sh_degree = from.sh_degree;
  for_each_parameter(
      [&](int per_gaussian, auto& target, const auto& source) {
        std::size_t row = static_cast<std::size_t>(per_gaussian);
        target.resize(backend, rows.size() * row);
        if (!target.empty())
          backend.gather(*source.memory(), rows, row * source.kElementBytes, *target.memory());
      },
      to, from);
  return to;
}

}  // namespace stipple
