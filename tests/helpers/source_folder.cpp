// SPDX-License-Identifier: Apache-2.0
#include "tests/helpers/source_folder.h"

namespace stipple {

std::filesystem::path source_folder() { return STIPPLE_SOURCE_DIR; }

}  // namespace stipple
