// SPDX-License-Identifier: Apache-2.0
// The words of a view's status (ViewStatus in vulkan_pass.h). Floats are stored as bits.
const uint kHasOverflowed = 0;
const uint kIsBad = 1;
const uint kLossTotal = 2;
const uint kLossSquares = 3;
const uint kPairsLow = 4;
const uint kPairsHigh = 5;
const uint kGaussians = 6;
const uint kSplats = 7;
const uint kCamera = 8;
const uint kBackground = 24;
const uint kStatusWords = 64;
