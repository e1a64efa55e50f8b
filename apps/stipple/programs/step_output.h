// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the lines that COLMAP prints say. Up to version 3.8 they are bare, later they begin with a severity, a
// time and a place: "I20240131 12:00:00.000000  4711 sfm.cc:12] Processed file [3/50]".
#include <optional>
#include <string>

namespace stipple {

struct StepCount {
  int done = 0;
  int total = 0;  // 0: the line does not say
};

// How far a step has come, from "Processed file [3/50]", "Matching block [1/4, 2/4]", "Registering image #12
// (13)" and the like; none in other lines.
std::optional<StepCount> step_count(const std::string& line);

// The line without what stands before the message; empty when it explains nothing: rules, times, addresses.
std::string message_of(const std::string& line);

}  // namespace stipple
