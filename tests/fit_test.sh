#!/usr/bin/env bash
# fit_test.sh STIPPLE: the built-in picture, 768x512 with 2,000 Gaussians in 2,000 steps, is fitted to 28 dB or more, which
# is what is promised, and to 38 dB, near what it reaches: less means that something got worse.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$1" fit --builtin --gaussians 2000 --steps 2000 -o "$work/out" | tee "$work/said"
sed -n 's/.* \([0-9]*\)\.[0-9]* dB.*/\1/p' "$work/said" | { read -r dB; [ "$dB" -ge 28 ] && [ "$dB" -ge 38 ]; }
