#!/usr/bin/env bash
# page_test.sh PAGE: the page that the command serves asks no other host for anything, and its scripts end where they should.
set -uo pipefail
page=$1
if grep -noiP '\b(src|srcset|href|action|poster|data)\s*=\s*["'\'']?(https?:)?//[^"'\'']*|url\(\s*["'\'']?(https?:)?//[^)]*|@import[^;]*|\b(fetch|import|importScripts|Worker|WebSocket|EventSource)\(\s*["'\''`](https?:|wss?:)?//[^)]*' "$page"; then
  echo "FAIL: $page refers to another host"; exit 1
fi
open=$(grep -oiP '<script[ >]' "$page" | wc -l) close=$(grep -oi '</script' "$page" | wc -l)
if [ "$open" != "$close" ] || [ "$open" = 0 ] || ! tail -c 20 "$page" | grep -q '</html>'; then
  echo "FAIL: $page opens $open scripts and closes $close, or does not end with </html>"; exit 1
fi
