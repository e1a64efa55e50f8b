// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parses the lines that COLMAP prints. Since version 3.9 they begin with a severity, a time and a source
// location: "I20240131 12:00:00.000000  4711 sfm.cc:12] Processed file [3/50]".
#include <cstddef>
#include <optional>
#include <string>

namespace stipple {

// Numbers as they are printed: programs may print any, even negative ones.
struct StepCount {
  double done = 0;
  double total = 0;  // 0 if the line does not say
};

// The progress in a line such as "Processed file [3/50]", "Matching block [1/4, 2/4]" or "Registering image
// #12 (13)"; nothing for other lines.
std::optional<StepCount> step_count(const std::string& line);

inline constexpr std::size_t kMaxMessageSize = 300;  // bytes

// The line without its prefix, shortened to kMaxMessageSize; empty if it explains nothing, such as a rule, a
// time or an address.
std::string message_of(const std::string& line);

}  // namespace stipple
