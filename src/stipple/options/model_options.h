// SPDX-License-Identifier: Apache-2.0
#pragma once
// The one list of the options with which a model is saved, for flags and keyword arguments.
#include "stipple/model/model_file.h"

namespace stipple {

// Calls f(name, value, help) for every option.
template <class F, class Options>
void for_each_save_option(Options& o, F f) {
  f("antialiased", o.antialiased,
    "note in the file, if its format has a place for it, that the model was trained for antialiased "
    "rendering");
  f("spz_version", o.spz_version,
    "version of an .spz, 2 to 4; 4 compresses with Zstandard, and few programs read it");
  f("spz_frame", o.spz_frame,
    "frame of an .spz: rub, as the format says, or rdf, for programs that take its numbers as they are");
}

}  // namespace stipple
