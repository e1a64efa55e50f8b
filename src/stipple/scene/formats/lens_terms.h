// SPDX-License-Identifier: Apache-2.0
#pragma once
// Terms of other programs' lens models that a Lens does not have. They are usually zero or tiny, so that
// leaving them out moves no pixel visibly.
#include "stipple/camera/partial_lens.h"

namespace stipple {

struct LensWithTerms {
  PartialLens lens;     // if `lens.unsupported` is not empty, no photo of it can be used
  double shift = 0;     // by how much leaving out the other terms moves a point in a corner, as a fraction of
                        // the photo's longer side
  std::string terms{};  // their names: "b2"
};

// Records that a term is left out. `shift` is as above, for this term alone.
void leave_out(const char* term, double shift, LensWithTerms& lens);

// Makes a lens unsupported if the terms that are left out move points visibly.
void judge(LensWithTerms& lens);

}  // namespace stipple
