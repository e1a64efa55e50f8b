// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

namespace stipple {

// The page that the server serves: one HTML file that needs nothing else. Without npm at build time, this is
// the plain one (cmake/viewer.cmake).
std::string_view viewer_page();

}  // namespace stipple
