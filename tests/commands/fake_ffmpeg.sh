#!/usr/bin/env bash
# Stands in for ffmpeg in the tests of stipple sfm: appends its arguments to $FAKE/calls, and one per line to
# $FAKE/arguments, and writes $FAKE_FRAME four times. Like ffmpeg, it replaces %05d in its last argument with a number and
# %% with %.
echo "$*" >>"$FAKE/calls"
printf '%s\n' "$@" >>"$FAKE/arguments"
pattern=${*: -1}
for i in 1 2 3 4; do cp "$FAKE_FRAME" "$(printf "${pattern#file:}" $i)"; done
