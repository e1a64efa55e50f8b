// SPDX-License-Identifier: Apache-2.0
// Tests of the viewer's pages in Chromium; viewer.sh starts this.
import "./cases/access.mjs";
