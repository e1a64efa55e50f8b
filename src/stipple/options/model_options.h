// SPDX-License-Identifier: Apache-2.0
#pragma once
// The one list of the options with which a model is saved, for flags and keyword arguments.
#include "stipple/model/model_file.h"

namespace stipple {

// Calls f(name, value, help) for every option.
template <class F, class Options>
void for_each_save_option(Options& o, F f) {
  f("antialiased", o.antialiased,
    "note in the file that the model was trained for antialiased rendering, if the format has a place for "
    "it");
}

}  // namespace stipple
