// SPDX-License-Identifier: Apache-2.0
// Colours for pictures of what is not a colour. For looking at only: nothing differentiates through them, so they have no
// VJPs. Values may lie slightly outside 0 to 1.

CONST(real, palette_turn, 6.283185307179586)

// From light yellow (near) over green and blue to almost black (far); `middle` is the depth that gets the colour in the
// middle. Brightness falls evenly along a helix around the grey axis, so that nearer is always brighter, also in print and
// for the colour-blind. Green, "A colour scheme for the display of astronomical intensity images", 2011: its weights make
// the brightness of the colour that of the grey.
FN vec3 depth_color(real depth, real middle) {
  real grey = real(0.95) - real(0.87) * depth / (depth + middle);
  real angle = palette_turn * (real(0.16666666666666666) - real(0.8) * grey);
  real radius = real(0.7) * grey * (real(1) - grey);
  real x = radius * cos(angle);
  real y = radius * sin(angle);
  return vec3(grey - real(0.14861) * x + real(1.78277) * y, grey - real(0.29227) * x - real(0.90649) * y,
              grey + real(1.97294) * x);
}

// A colour for each Gaussian that tells it from its neighbours: any hue, and one of many brightnesses.
FN vec3 gaussian_color(uint gaussian) {
  RandomBits bits = random_bits(gaussian, 0u, 0u);
  real hue = palette_turn * (uniform_from_bits(bits.x) - real(0.5));  // GPUs are exact in this range only
  real brightness = real(0.55) + real(0.45) * uniform_from_bits(bits.y);
  real x = cos(hue);
  real y = real(0.8660254037844386) * sin(hue);
  vec3 color = vec3(x, real(-0.5) * x + y, real(-0.5) * x - y);  // the cosines of hues a third of a turn apart
  return (vec3(real(0.5), real(0.5), real(0.5)) + color * real(0.4)) * brightness;
}
