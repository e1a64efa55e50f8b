// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "apps/stipple/terminal/standard_files.h"
#include "stipple/io/json.h"

namespace stipple {

// Writes a value to the standard output. Names of files may contain control characters. JSON has its own way
// to write them, so that write_output() finds none that it would have to make visible: what it writes for
// them is not valid in JSON.
template <class Json>
void write_json(const Json& value) {
  print("{}\n", with_utf8(value).dump(2, ' ', /*ensure_ascii=*/true));
}

}  // namespace stipple
