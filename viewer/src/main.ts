// SPDX-License-Identifier: Apache-2.0
// Starts the page: waits for the server's first message, and puts the parts together.
import { fillAbout } from "./about_panel";
import { poseOf } from "./camera_math";
import { Connection } from "./connection";
import { Controls } from "./controls";
import { button } from "./dom";
import { Frusta } from "./frusta";
import { Help } from "./help";
import { Keys } from "./keys";
import { ModelComparison } from "./model_comparison";
import { fillPhotoList } from "./photo_list";
import { PhotoTour } from "./photo_tour";
import type { Hello } from "./protocol";
import { Shell } from "./shell";
import { Stage } from "./stage";
import { StreamedPicture } from "./streamed_picture";
import { TrainingPanel } from "./training_panel";
import { fillViewPanel } from "./view_panel";
import { Viewpoint } from "./viewpoint";

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
connection.on("status", ({ step, last_step }) => {
  // For who looks at another page meanwhile.
  document.title = `${Math.floor((100 * step) / Math.max(1, last_step))} % – ${first?.title} – Stipple`;
});
connection.on("notice", (notice) => shell.notify(notice));
connection.open();

function start(hello: Hello): void {
  shell.setTitle(hello.title, hello.mode, hello.streams);
  const viewpoint = new Viewpoint(hello.start_camera, hello.bounds.center);
  const maxDegree = Math.max(...hello.models.map((model) => model.sh_degree));
  const picture = new StreamedPicture(connection, hello.models.map((_, i) => i));
  const stage = new Stage(
    picture, viewpoint,
    { shown: "color", background: hello.render.background, scaleModifier: 1, shDegree: maxDegree }, kLongestStreamedPx);
  picture.onDrawn(() => stage.setSettled(picture.isSharp && !viewpoint.isMoving));
  connection.onState((state) => state === "open" && stage.update());
  shell.main.append(stage.element);
  const controls = new Controls(stage.frame, viewpoint, hello.bounds, keys);

  const training = hello.mode === "training" ? new TrainingPanel(shell.addTab("Training"), connection, keys) : null;
  const names = hello.models.map((model) => model.name);
  const comparison =
    hello.mode === "compare" ? new ModelComparison(shell.addTab("Models"), stage, picture, names, keys) : null;
  if (hello.views.length > 0) {
    const tour = new PhotoTour(
      stage, hello.views, connection, names, async () => comparison?.shown() ?? [await picture.capture()],
      () => training?.lastKnownStep ?? null, keys);
    const frusta = new Frusta(stage, hello.views, (index) => tour.look(index));
    fillPhotoList(shell.addTab("Photos"), hello.views, tour, frusta, keys);
  }
  const view = shell.addTab("View");
  fillViewPanel(view, stage, maxDegree, hello.title, () => captured(stage, picture), controls, keys);
  picture.onDrawn(fillAbout(view, hello));
  shell.addLog();

  const home = () => viewpoint.flyTo(poseOf(hello.start_camera), hello.bounds.center);
  keys.add({ keys: ["h"], group: "View", text: "Back to the start", run: home });
  const help = new Help(keys, hello.version);
  shell.addAction(button("Back to the start", "home", home));
  if (document.fullscreenEnabled) shell.addAction(button("Full screen", "whole", () => void toggleFullScreen()));
  shell.addAction(button("Keys and help", "help", () => help.open()));
  stage.update();
  stage.frame.focus();
}

async function toggleFullScreen(): Promise<void> {
  if (document.fullscreenElement) await document.exitFullscreen();
  else await document.documentElement.requestFullscreen();
}

// The picture as a canvas to save; of two models, both beside each other.
async function captured(stage: Stage, picture: StreamedPicture): Promise<HTMLCanvasElement> {
  const bitmap = await picture.capture();
  const canvas = document.createElement("canvas");
  canvas.width = bitmap.width * stage.columns;
  canvas.height = bitmap.height;
  const context = canvas.getContext("2d")!;
  context.drawImage(bitmap, 0, 0);
  for (let i = 1; i < stage.columns; ++i) context.drawImage(picture.canvases[i], i * bitmap.width, 0);
  return canvas;
}
