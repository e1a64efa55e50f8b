// SPDX-License-Identifier: Apache-2.0
// Tests of the viewer's pages in Chromium; viewer.sh starts this.
import "./cases/access.mjs";
import "./cases/model.mjs";
import "./cases/photos.mjs";
import "./cases/tools.mjs";
import "./cases/training.mjs";
import "./cases/compare.mjs";
import "./cases/page.mjs";
import "./cases/plain.mjs";
import "./cases/streamed.mjs";
import "./cases/export.mjs";
import "./cases/tour.mjs";
