// SPDX-License-Identifier: Apache-2.0
// Pictures that the server renders and streams as JPEGs, one canvas per model. The old picture stays until the new one
// has been decoded.
import type { Connection } from "./connection";
import type { Appearance, Picture } from "./picture";
import type { Camera, PictureHeader } from "./protocol";

export class StreamedPicture implements Picture {
  readonly element = document.createElement("div");
  readonly canvases: HTMLCanvasElement[];

  private readonly contexts: CanvasRenderingContext2D[];
  private readonly drawnListeners: ((header: PictureHeader) => void)[] = [];
  private appearance: Appearance | null = null;
  private camera: Camera | null = null;
  private isMoving = false;
  private isResting = true;
  private serial = 0;
  private oldestWanted = 0; // pictures before this one have another size or show something else
  private readonly drawn: number[]; // per model, the serial of the picture
  private readonly sharp: number[]; // and of the last sharp one
  private decoding: Promise<void> = Promise.resolve();
  private isSending = false;

  constructor(private readonly connection: Connection, private readonly models: number[]) {
    this.element.className = "streamed";
    this.element.dataset.empty = "";
    this.canvases = models.map(() => document.createElement("canvas"));
    this.contexts = this.canvases.map((canvas) => canvas.getContext("2d", { alpha: false })!);
    this.drawn = models.map(() => 0);
    this.sharp = models.map(() => 0);
    this.element.append(...this.canvases);
    connection.onPicture((header, jpeg) => {
      // One after the other, since a small JPEG is decoded sooner than a large one before it.
      this.decoding = this.decoding.then(() => this.draw(header, jpeg));
    });
  }

  // Calls back after a picture has been drawn.
  onDrawn(listener: (header: PictureHeader) => void): void {
    this.drawnListeners.push(listener);
  }

  look(camera: Camera, isMoving: boolean): void {
    const old = this.camera;
    if (old && (old.width !== camera.width || old.height !== camera.height)) this.oldestWanted = this.serial + 1;
    this.camera = camera;
    this.isMoving = isMoving;
    this.isResting = false;
    this.send();
  }

  setAppearance(appearance: Appearance): void {
    if (this.appearance?.shown !== appearance.shown) this.oldestWanted = this.serial + 1;
    this.appearance = { ...appearance };
    if (!this.isResting) this.send();
  }

  async capture(): Promise<ImageBitmap> {
    return createImageBitmap(await this.sharpCanvas(0));
  }

  rest(): void {
    this.isResting = true;
    this.connection.send({ type: "rest" });
  }

  // The canvas of a model, once it has the sharp picture for the present camera.
  async sharpCanvas(model: number): Promise<HTMLCanvasElement> {
    while (this.isSending || this.sharp[model] < this.serial) {
      await new Promise<void>((done) => this.sharpWaiters.push(done));
    }
    return this.canvases[model];
  }
  private sharpWaiters: (() => void)[] = [];

  get isSharp(): boolean {
    return !this.isSending && this.sharp.every((serial) => serial === this.serial);
  }

  // Sends the newest camera, at most once per frame.
  private send(): void {
    if (this.isSending) return;
    this.isSending = true;
    requestAnimationFrame(() => {
      this.isSending = false;
      if (this.isResting || !this.camera || !this.appearance) return;
      this.connection.send({
        type: "camera",
        serial: ++this.serial,
        camera: this.camera,
        is_moving: this.isMoving,
        shown: this.appearance.shown,
        models: this.models,
        background: this.appearance.background,
        scale_modifier: this.appearance.scaleModifier,
        sh_degree: this.appearance.shDegree,
      });
    });
  }

  private async draw(header: PictureHeader, jpeg: Blob): Promise<void> {
    const at = this.models.indexOf(header.model);
    const isWanted = () =>
      at >= 0 && header.serial >= this.drawn[at] && header.serial >= this.oldestWanted;
    try {
      if (isWanted()) {
        const bitmap = await createImageBitmap(jpeg);
        if (isWanted()) this.put(at, bitmap, header);
        bitmap.close();
      }
    } catch {
      // A picture that cannot be decoded is left out; the next one replaces it.
    }
    this.connection.send({ type: "shown", serial: header.serial });
  }

  private put(at: number, bitmap: ImageBitmap, header: PictureHeader): void {
    const canvas = this.canvases[at];
    if (canvas.width !== bitmap.width || canvas.height !== bitmap.height) {
      canvas.width = bitmap.width;
      canvas.height = bitmap.height;
    }
    this.contexts[at].drawImage(bitmap, 0, 0);
    delete this.element.dataset.empty;
    this.drawn[at] = header.serial;
    if (header.is_sharp) this.sharp[at] = header.serial;
    for (const listener of this.drawnListeners) listener(header);
    if (this.isSharp) for (const waiter of this.sharpWaiters.splice(0)) waiter();
  }
}
