// SPDX-License-Identifier: Apache-2.0
// What is shown of the Gaussians; the numbers are those of kShownNumbers.
const int COLOR = 0;
const int DEPTH = 1;
const int ALPHA = 2;
const int GAUSSIANS = 3;
uniform int shown;

// As GAUSSIANS, each is a solid body that ends where its alpha falls to this (kEllipsoidAlpha in draw/shown_picture.h).
const float ellipsoidAlpha = 0.2;
