// SPDX-License-Identifier: Apache-2.0
// Starts the page: waits for the server's first message, and puts the parts together.
import { fillAbout } from "./about_panel";
import { poseOf } from "./camera_math";
import { Connection } from "./connection";
import { Controls } from "./controls";
import { button } from "./dom";
import { embeddedHello } from "./embedded";
import { Frusta } from "./frusta";
import { Help } from "./help";
import { Keys } from "./keys";
import { LocalView } from "./local_view";
import { ModelComparison } from "./model_comparison";
import { fillPhotoList } from "./photo_list";
import { ModelLoading } from "./model_loading";
import { PhotoTour } from "./photo_tour";
import type { Picture } from "./picture";
import type { Hello, ModelInfo } from "./protocol";
import { Shell } from "./shell";
import { Stage } from "./stage";
import { StreamedPicture } from "./streamed_picture";
import { BrushTool } from "./tools/brush";
import { CropTool } from "./tools/crop";
import { MeasureTool } from "./tools/measure";
import { PathTool } from "./tools/path";
import { ToolsPanel } from "./tools/tools_panel";
import { TrainingPanel } from "./training_panel";
import { fillViewPanel } from "./view_panel";
import { Viewpoint } from "./viewpoint";

const kLongestStreamedPx = 1920;
const kLongestLocalPx = 4096;

const keys = new Keys();
const shell = new Shell(keys);
const connection = new Connection();
let first: Hello | null = null;

const embedded = embeddedHello();
if (embedded) {
  start(embedded);
} else {
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
}

function start(hello: Hello): void {
  shell.setTitle(hello.title, hello.mode, hello.streams);
  const viewpoint = new Viewpoint(hello.start_camera, hello.bounds.center);
  const maxDegree = Math.max(...hello.models.map((model) => model.sh_degree));
  const streamed = hello.streams ? new StreamedPicture(connection, hello.models.map((_, i) => i)) : null;
  const local = streamed ? null : localView(hello);
  const picture: Picture | null = streamed ?? local?.picture ?? null;
  if (!picture) return;
  const stage = new Stage(
    picture, viewpoint,
    { shown: "color", background: hello.render.background, scaleModifier: 1, shDegree: maxDegree },
    streamed ? kLongestStreamedPx : kLongestLocalPx);
  streamed?.onDrawn(() => stage.setSettled(streamed.isSharp && !viewpoint.isMoving));
  local?.picture.onSettled((isSettled) => stage.setSettled(isSettled && local.isComplete && !viewpoint.isMoving));
  if (local) load(local, stage, hello.models[0]);
  connection.onState((state) => state === "open" && stage.update());
  shell.main.append(stage.element);
  const controls = new Controls(stage.frame, viewpoint, hello.bounds, keys);
  if (local) controls.surfaceAt = (x, y) => local.surfaceAt(stage.camera(), x, y);

  const training = hello.mode === "training" ? new TrainingPanel(shell.addTab("Training"), connection, keys) : null;
  const names = hello.models.map((model) => model.name);
  const comparison =
    hello.mode === "compare" && streamed
      ? new ModelComparison(shell.addTab("Models"), stage, streamed, names, keys) : null;
  let frusta: Frusta | null = null;
  if (hello.views.length > 0) {
    const tour = new PhotoTour(
      stage, hello.views, embedded ? null : connection, names, async () => comparison?.shown() ?? [await picture.capture()],
      () => training?.lastKnownStep ?? null, keys);
    frusta = new Frusta(stage, hello.views, (index) => tour.look(index));
    fillPhotoList(shell.addTab("Photos"), hello.views, tour, frusta, keys);
  }
  const view = shell.addTab("View");
  fillViewPanel(view, stage, maxDegree, hello.title, () => captured(stage, streamed?.canvases ?? []), controls, keys);
  const showSize = fillAbout(view, hello);
  streamed?.onDrawn(showSize);
  if (hello.mode === "model") {
    const tools = [
      ...(local
        ? [new MeasureTool(stage, local), new CropTool(stage, local, hello.bounds)]
        : []),
      ...(local && hello.models[0].lod === null ? [new BrushTool(stage, local, hello)] : []),
      new PathTool(stage, hello.title),
    ];
    const tab = shell.addTab("Tools", (isShown) => panel.setShown(isShown));
    const panel = new ToolsPanel(tab, tools, (isInUse) => frusta?.setPickable(!isInUse));
  }
  if (!embedded) shell.addLog(); // messages come from the server

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
async function captured(stage: Stage, canvases: HTMLCanvasElement[]): Promise<HTMLCanvasElement> {
  const bitmap = await stage.picture.capture();
  const canvas = document.createElement("canvas");
  canvas.width = bitmap.width * stage.columns;
  canvas.height = bitmap.height;
  const context = canvas.getContext("2d")!;
  context.drawImage(bitmap, 0, 0);
  for (let i = 1; i < stage.columns; ++i) context.drawImage(canvases[i], i * bitmap.width, 0);
  return canvas;
}

// Loads the model as a whole, or those pieces of it that the camera needs.
function load(local: LocalView, stage: Stage, model: ModelInfo): void {
  if (model.lod === null) {
    new ModelLoading(stage.element, model, 0, (loaded) => local.show(loaded));
    return;
  }
  const fail = (problem: string) =>
    shell.notify({ kind: "error", text: `A part of ${model.name} was not loaded: ${problem}.` });
  local.stream(model.lod, stage, fail).catch((error: Error) => fail(error.message));
}

// The picture by the visitor's own GPU; null, with a message, if there is none.
function localView(hello: Hello): LocalView | null {
  try {
    return new LocalView(hello);
  } catch {
    shell.notify({
      kind: "error",
      text: "This browser cannot draw with WebGL 2. " +
        (embedded ? "Open the page in another one." : "Let the server draw: stipple view --remote."),
    });
    return null;
  }
}
