// SPDX-License-Identifier: Apache-2.0
// Adam's moments as they are stored: the two of a value share one word, of 32 bits ("wide") or of 16 ("narrow").
//
//   wide      m: bfloat16 | v: bfloat16                       bfloat16: the upper half of a float
//   narrow    sign of m | v: 7 + 3 bits | size of m: 3 + 2    a + b bits: a of the exponent, b of the mantissa
//
// Rounding is stochastic: x lies between two numbers that can be stored, and becomes the upper one with the probability
// (x - lower) / (upper - lower), so that its expectation is x. Rounding to the nearest would freeze v, which changes by a
// thousandth per step. Gupta et al., "Deep Learning with Limited Numerical Precision", 2015. It adds noise to v: in a
// narrow word, its standard deviation is about a quarter of v, which matters little, since v is itself an average over the
// few views that have shown the Gaussian lately.
//
// Positive floats are ordered like their bits, and linear between two numbers that can be stored. So adding a random
// number to the bits that are cut off, and cutting, rounds stochastically.
//
// Narrow v is from 2^-102 to 1.875 * 2^25; what lies outside becomes the nearest of these. The least, which also stands for
// 0, is below the square of the usual epsilon, 1e-15, so that epsilon decides before it does.
//
// Narrow m is stored relative to s, a power of two near the root of the v that has been stored next to it:
//   s = 2^floor(e / 2), for v in [2^e, 2^(e+1)), so that sqrt(v) / 2 < s <= sqrt(v)
// By Cauchy and Schwarz, m = (1 - b1) sum_k b1^k g_k and v = (1 - b2) sum_k b2^k g_k^2 fulfil
//   m^2 / v <= (1 - b1)^2 / ((1 - b1^2 / b2) (1 - b2))
// which is 7.3^2 for b1 = 0.9 and b2 = 0.999, so |m| / s < 14.6. What is larger than the largest number, 13.9375, becomes
// it. |m| / s + 1/16 is stored as a float from 1/16 on, so that 0 can be stored; near 0, the numbers are 1/64 apart.
//
// A word of 0 stands for moments of 0. A negative m can become -0, which is read as 0: otherwise, the sign of a gradient of
// 0, which is left to chance, would show in the bits of the next word.
//
// Nothing differentiates through an update, so there are no VJPs.

CONST(real, wide_most, 3.3895313892515355e38)             // the largest finite bfloat16
CONST(real, narrow_second_least, 1.9721522630525295e-31)  // 2^-102
CONST(real, narrow_second_most, 62914560)                 // 1.875 * 2^25
CONST(real, narrow_first_offset, 0.0625)
CONST(real, narrow_first_most, 13.9375)

// The random word for the value at an index, of which the highest bits round v and the lowest ones m. The words of
// consecutive values are multiples of 2^32 divided by the golden ratio (a Weyl sequence), which spreads them evenly. The
// key is random for every step and array (backend/adam_rule.h), and so the words of one value are independent.
FN bits32 rounding_bits(bits32 key, bits32 index) { return key + index * 0x9e3779b9u; }

FN bits32 wide_moments(AdamParameter p, bits32 random) {
  bits32 first = floatBitsToUint(clamp(p.first_moment, real(-wide_most), real(wide_most))) + (random & 0xffffu);
  bits32 second = floatBitsToUint(min(p.second_moment, real(wide_most))) + (random >> 16u);
  return (first & 0xffff0000u) | (second >> 16u);
}

FN AdamParameter with_wide_moments(real value, bits32 stored) {
  AdamParameter p;
  p.value = value;
  p.first_moment = real(uintBitsToFloat(stored & 0xffff0000u)) + real(0);
  p.second_moment = real(uintBitsToFloat(stored << 16u));
  return p;
}

// The bits of s, from a narrow word: v has the exponent e = exponent + 25 - 127, so that s has exponent / 2 + 76 - 127.
FN bits32 unit_bits(bits32 stored) { return ((stored & 0x7e00u) << 14u) + 0x26000000u; }

// 0x0c800000 are the bits of 2^-102, with 3 bits of mantissa above bit 20, and 0x3d800000 those of 1/16, with 2 above bit
// 21. 1 / s has the exponent of s with the opposite sign.
FN bits32 narrow_moments(AdamParameter p, bits32 random) {
  real v = clamp(p.second_moment, real(narrow_second_least), real(narrow_second_most));
  bits32 second = ((floatBitsToUint(v) + (random >> 12u) - 0x0c800000u) >> 15u) & 0x7fe0u;
  real inverse_unit = real(uintBitsToFloat(0x7f000000u - unit_bits(second)));
  real size = min(abs(p.first_moment) * inverse_unit, real(narrow_first_most)) + real(narrow_first_offset);
  bits32 first = (floatBitsToUint(size) + ((random << 9u) & 0x1ffe00u) - 0x3d800000u) >> 21u;
  return ((floatBitsToUint(p.first_moment) & 0x80000000u) >> 16u) | second | first;
}

FN AdamParameter with_narrow_moments(real value, bits32 stored) {
  AdamParameter p;
  p.value = value;
  real v = real(uintBitsToFloat(((stored & 0x7fe0u) << 15u) + 0x0c800000u));
  p.second_moment = v;
  real size = real(uintBitsToFloat(((stored & 31u) << 21u) + 0x3d800000u)) - real(narrow_first_offset);
  real m = size * real(uintBitsToFloat(unit_bits(stored)));
  p.first_moment = real(uintBitsToFloat(floatBitsToUint(m) | ((stored << 16u) & 0x80000000u))) + real(0);
  return p;
}
