// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "stipple/core/gaussians.h"
#include "stipple/edit/similarity_transform.h"

namespace stipple {

// Moves a model, with everything that depends on the frame: means, scales, rotations, and the directions of
// the spherical harmonics. Seen from a camera that is moved along, it looks the same. After a reflection, it
// is the mirror image: a Gaussian has no handedness, and harmonics can be reflected. What the transform does
// not change keeps its bits.
void transform(const SimilarityTransform& new_from_old, Gaussians& gaussians);

}  // namespace stipple
