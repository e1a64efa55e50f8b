// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "stipple/edit/similarity_transform.h"

namespace stipple {

// The value of --transform: a matrix of 3 or 4 rows of 4 numbers, or a file with one. A JSON file may
// also be an object with "transform" and perhaps "scale", a factor that is applied after it, as
// nerfstudio's dataparser_transforms.json. Throws Error unless it is a similarity.
SimilarityTransform read_matrix(const std::string& text_or_file);

}  // namespace stipple
