#!/usr/bin/env bash
# fit_test.sh STIPPLE: fits 4,000 Gaussians to the built-in 768x512 picture in 125 steps and requires a PSNR of 38 dB, which is
# close to what the fit reaches, so that a regression is noticed.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$1" fit --builtin --gaussians 4000 --steps 125 -o "$work/out" | tee "$work/output"
dB=$(sed -n 's/.* \([0-9]*\)\.[0-9]* dB.*/\1/p' "$work/output")
if [ -z "$dB" ] || [ "$dB" -lt 38 ]; then
  echo "fit_test: the PSNR is ${dB:-unknown} dB, less than 38 dB" >&2
  exit 1
fi
