// SPDX-License-Identifier: Apache-2.0
// Starts the page: waits for the server's first message, and puts the parts together.
import { Connection } from "./connection";
import { Shell } from "./shell";
import { Stage } from "./stage";
import { StreamedPicture } from "./streamed_picture";
import { Viewpoint } from "./viewpoint";
import { Keys } from "./keys";
import type { Hello } from "./protocol";

const kLongestStreamedPx = 1920;

const keys = new Keys();
const shell = new Shell(keys);
const connection = new Connection();
let first: Hello | null = null;

connection.onState((state) => shell.setConnection(state));
connection.on("hello", (hello) => {
  if (!first) start(hello);
  else if (first.mode !== hello.mode || first.title !== hello.title || first.version !== hello.version) location.reload();
  first = hello;
});
connection.on("notice", (notice) => shell.notify(notice));
connection.open();

function start(hello: Hello): void {
  shell.setTitle(hello.title, hello.mode);
  const viewpoint = new Viewpoint(hello.start_camera, hello.bounds.center);
  const picture = new StreamedPicture(connection, hello.models.map((_, i) => i));
  const stage = new Stage(
    picture, viewpoint,
    { shown: "color", background: hello.render.background, scaleModifier: 1, shDegree: hello.models[0].sh_degree },
    kLongestStreamedPx);
  picture.onDrawn(() => (stage.frame.dataset.settled = String(picture.isSharp && !viewpoint.isMoving)));
  connection.onState((state) => state === "open" && stage.update());
  shell.main.append(stage.element);
  stage.update();
}
