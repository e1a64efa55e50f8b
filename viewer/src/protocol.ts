// SPDX-License-Identifier: Apache-2.0
// The messages between the page and the server (docs/viewer.md).

export type Vec3 = [number, number, number];
export type Box = number[]; // as `stipple convert --crop` takes it: 6 numbers, or 10 with a quaternion w, x, y, z

export interface Camera { // camera.json: x right, y down, z forward; pixels
  width: number;
  height: number;
  fx: number;
  fy: number;
  cx: number;
  cy: number;
  camera_from_world: number[][]; // 3x4
}

export interface ModelInfo {
  name: string;
  count: number;
  sh_degree: number;
  bytes: number | null;
  url: string | null;
  format: string | null;
  lod: string | null;
}

export interface ViewInfo {
  name: string;
  is_test: boolean;
  camera: Camera;
  photo: string;
}

export interface Bounds {
  min: Vec3;
  max: Vec3;
  center: Vec3;
  radius: number;
  up: Vec3;
}

export type Mode = "model" | "training" | "compare";
export type Shown = "color" | "depth" | "alpha" | "gaussians";
export type TrainingState = "training" | "paused" | "saving" | "evaluating" | "finished";

export interface Hello {
  type: "hello";
  version: string;
  mode: Mode;
  title: string;
  streams: boolean;
  backend: string | null;
  models: ModelInfo[];
  bounds: Bounds;
  start_camera: Camera;
  views: ViewInfo[];
  render: { background: Vec3; antialiased: boolean };
  can_save: boolean;
  folder: string | null;
}

export interface Status {
  type: "status";
  step: number;
  last_step: number;
  state: TrainingState;
  loss: number | null;
  psnr: number | null;
  gaussians: number;
  steps_per_second: number | null;
  seconds: number;
  seconds_left: number | null;
  watch_share: number;
}

export interface TrainingPoint {
  step: number;
  seconds: number;
  loss: number;
  psnr: number;
  gaussians: number;
}

export interface EvaluationPoint {
  step: number;
  psnr: number;
  ssim: number;
  gaussians: number;
}

export interface History {
  type: "history";
  training: TrainingPoint[];
  evaluations: EvaluationPoint[];
}

export interface Notice {
  type: "notice";
  kind: "info" | "warning" | "error";
  text: string;
}

export interface Score {
  type: "score";
  view: number;
  model: number;
  step: number | null;
  psnr: number | null;
  ssim: number | null;
}

export type ServerMessage = Hello | Status | History | Notice | Score;

export interface PictureHeader {
  serial: number;
  model: number;
  shown: Shown;
  width: number;
  height: number;
  is_sharp: boolean;
  step: number | null;
}

export interface CameraMessage {
  type: "camera";
  serial: number;
  camera: Camera;
  is_moving: boolean;
  shown: Shown;
  models: number[];
  background: Vec3;
  scale_modifier: number;
  sh_degree: number;
}

export type PageMessage =
  | CameraMessage
  | { type: "rest" }
  | { type: "shown"; serial: number }
  | { type: "command"; name: "pause" | "resume" | "save" | "stop" }
  | { type: "score"; view: number };
