// SPDX-License-Identifier: Apache-2.0
// Reads what COLMAP or ffmpeg print, in pieces of varying size.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "apps/stipple/programs/output_lines.h"
#include "apps/stipple/programs/step_output.h"
#include "fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stipple;
  std::size_t byte_count = 0;
  OutputLines lines([&](const std::string& line) {
    byte_count += line.size();
    require(line.size() <= kMaxLineSize && line.find_first_of("\r\n") == std::string::npos);
    require(message_of(line).size() <= kMaxMessageSize);
    const auto count = step_count(line);
    require(!count || (!std::isnan(count->done) && !std::isnan(count->total)));
  });
  std::string_view input(reinterpret_cast<const char*>(data), size);
  for (std::size_t piece = 1; !input.empty(); piece = piece * 3 % 1021) {
    lines.add(input.substr(0, piece));
    input.remove_prefix(std::min(input.size(), piece));
  }
  lines.finish();
  const auto ends = std::count_if(data, data + size, [](std::uint8_t c) { return c == '\r' || c == '\n'; });
  require(size > kMaxLineSize || byte_count + static_cast<std::size_t>(ends) == size);
  return 0;
}
