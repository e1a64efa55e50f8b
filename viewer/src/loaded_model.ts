// SPDX-License-Identifier: Apache-2.0
// A model that Spark has decoded, for drawing and for tools that need to know where the Gaussians are.
import { SplatFileType, SplatMesh } from "@sparkjsdev/spark";
import type { Quaternion } from "./camera_math";
import { harmonicsOf } from "./file_harmonics";
import { replaceHarmonics } from "./harmonics";
import type { Vec3 } from "./protocol";
import { crossing, type Crossing, type Ellipsoid, type Ray } from "./surface";

const kFileTypes: Record<string, SplatFileType> = {
  ply: SplatFileType.PLY,
  "compressed.ply": SplatFileType.PLY,
  splat: SplatFileType.SPLAT,
  ksplat: SplatFileType.KSPLAT,
  spz: SplatFileType.SPZ,
  sog: SplatFileType.PCSOGSZIP,
};

const kReach = 3.33; // standard deviations, after which the most opaque Gaussian ends
const kFaintest = 1 / 255;
const kNearest = 0.2; // the near plane of the renderer, scene units

export class LoadedModel {
  readonly count: number;
  // Spark's lists have four words per Gaussian: here x, y, z and the opacity ...
  private readonly positions: Float32Array;
  // ... and here colour, the logarithms of the scales, and the rotation.
  private readonly shapes: Uint32Array;
  private readonly flip: number; // of y and z, into the frame of the world

  private constructor(readonly mesh: SplatMesh, isFlipped: boolean) {
    const [first, second] = mesh.extSplats!.extArrays;
    this.count = mesh.extSplats!.numSplats;
    this.positions = new Float32Array(first.buffer, first.byteOffset, first.length);
    this.shapes = second;
    this.flip = isFlipped ? -1 : 1;
  }

  static async decode(bytes: Uint8Array, format: string): Promise<LoadedModel> {
    const fileType = kFileTypes[format];
    if (fileType === undefined) throw new Error(`a model in the format ${format} cannot be shown in the browser`);
    const mesh = new SplatMesh({ fileBytes: bytes, fileType, extSplats: true, raycastable: false, editable: false });
    await mesh.initialized;
    const harmonics = await harmonicsOf(bytes, format);
    if (harmonics) await replaceHarmonics(mesh.extSplats!.extra, mesh.extSplats!.numSplats, harmonics);
    // The bytes of .spz are in the frame x right, y up, z back; all others in that of the world.
    const isFlipped = format === "spz";
    if (isFlipped) mesh.quaternion.set(1, 0, 0, 0);
    return new LoadedModel(mesh, isFlipped);
  }

  position(i: number): Vec3 {
    return [this.positions[4 * i], this.flip * this.positions[4 * i + 1], this.flip * this.positions[4 * i + 2]];
  }

  // Calls back with the position of every Gaussian, without making an object for each.
  forEachPosition(visit: (i: number, x: number, y: number, z: number) => void): void {
    const { positions, flip } = this;
    for (let i = 0, at = 0; i < this.count; ++i, at += 4) {
      visit(i, positions[at], flip * positions[at + 1], flip * positions[at + 2]);
    }
  }

  // Where the ray crosses Gaussians that are shown.
  crossings(ray: Ray, isShown: (i: number) => boolean): Crossing[] {
    const flipped = (v: Vec3): Vec3 => [v[0], this.flip * v[1], this.flip * v[2]];
    const own: Ray = { origin: flipped(ray.origin), direction: flipped(ray.direction) };
    const found: Crossing[] = [];
    for (const gaussian of this.near(own, isShown)) {
      const c = crossing(own, gaussian);
      if (c.distance > kNearest && c.alpha >= kFaintest) found.push(c);
    }
    return found;
  }

  // The Gaussians that the ray may meet, in the model's own frame.
  private *near(ray: Ray, isShown: (i: number) => boolean): Iterable<Ellipsoid> {
    const { positions, shapes } = this;
    const [ox, oy, oz] = ray.origin, [dx, dy, dz] = ray.direction;
    const scaleOf = scales();
    for (let i = 0; i < this.count; ++i) {
      const at = 4 * i;
      const x = positions[at] - ox, y = positions[at + 1] - oy, z = positions[at + 2] - oz;
      const along = x * dx + y * dy + z * dz;
      const beside2 = x * x + y * y + z * z - along * along;
      const first = scaleOf[shapes[at + 1] >>> 16], others = shapes[at + 2];
      const reach = kReach * Math.max(first, scaleOf[others & 0xffff], scaleOf[others >>> 16]);
      if (beside2 <= reach * reach && along > -reach && isShown(i)) yield this.ellipsoid(i);
    }
  }

  private ellipsoid(i: number): Ellipsoid {
    const { center, scales, quaternion: q, opacity } = this.mesh.extSplats!.getSplat(i);
    const rotation: Quaternion = [q.w, q.x, q.y, q.z];
    return { center: center.toArray() as Vec3, scales: scales.toArray() as Vec3, rotation, opacity };
  }
}

let scaleOfHalf: Float32Array | null = null;

// The scale whose logarithm is a half-precision number, by the bits of that.
function scales(): Float32Array {
  scaleOfHalf ??= Float32Array.from({ length: 1 << 16 }, (_, bits) => {
    const exponent = (bits >> 10) & 31, fraction = bits & 1023;
    const size = exponent === 0 ? fraction * 2 ** -24 : exponent === 31 ? Infinity : (1024 + fraction) * 2 ** (exponent - 25);
    return Math.exp(bits >> 15 ? -size : size);
  });
  return scaleOfHalf;
}
