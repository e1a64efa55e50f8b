// SPDX-License-Identifier: Apache-2.0
// Draws Gaussians with WebGL: Spark decodes, colours and sorts them, and Stipple's shaders blend them.
import { SparkRenderer, SplatMesh } from "@sparkjsdev/spark";
import * as THREE from "three";
import { FullScreenQuad } from "three/addons/postprocessing/Pass.js";
import type { TurnedBox } from "./box";
import { rotated } from "./camera_math";
import type { Appearance } from "./picture";
import type { Bounds, Camera, Shown, Vec3 } from "./protocol";
import { kPresentShader, kSplatFragmentShader, kSplatVertexShader } from "./splat_shaders";

const kShownNumbers: Record<Shown, number> = { color: 0, depth: 1, alpha: 2, gaussians: 3 }; // shaders/shown.glsl

const kStatesWidth = 4096; // as the vertex shader has it
const kScreenTriangle = "void main() { gl_Position = vec4(position, 1.0); }";

export class SplatScene {
  readonly canvas: HTMLCanvasElement;
  readonly meshes = new THREE.Group();

  private readonly renderer: THREE.WebGLRenderer;
  private readonly scene = new THREE.Scene();
  private readonly camera = new THREE.PerspectiveCamera(); // tells Spark where to sort from; the shaders have their own
  private readonly spark: SparkRenderer;
  private readonly blended: THREE.WebGLRenderTarget;
  private readonly screen: FullScreenQuad;
  private readonly uniforms = {
    cameraRotation: { value: new THREE.Matrix3() },
    cameraTranslation: { value: new THREE.Vector3() },
    focalPx: { value: new THREE.Vector2() },
    centerPx: { value: new THREE.Vector2() },
    sizePx: { value: new THREE.Vector2() },
    antialiased: { value: false },
    scaleModifier: { value: 1 },
    shown: { value: 0 },
    isCropped: { value: false },
    cropCenter: { value: new THREE.Vector3() },
    cropHalf: { value: new THREE.Vector3() },
    boxFromWorld: { value: new THREE.Matrix3() },
    hasStates: { value: false },
    states: { value: statesTexture(new Uint8Array(1), 1) }, // not used yet, but WebGL wants one of the right type
  };
  private readonly screenUniforms: Record<string, THREE.IUniform>;

  constructor(bounds: Bounds, antialiased: boolean) {
    this.uniforms.antialiased.value = antialiased;
    this.renderer = new THREE.WebGLRenderer({ antialias: false, depth: false, powerPreference: "high-performance" });
    this.renderer.setPixelRatio(1);
    this.canvas = this.renderer.domElement;
    this.spark = new SparkRenderer({
      renderer: this.renderer,
      vertexShader: kSplatVertexShader,
      fragmentShader: kSplatFragmentShader,
      extraUniforms: this.uniforms,
      accumExtSplats: true, // full precision
      sortRadial: false, // by z, as the backends
      autoUpdate: false, // sort() says when
      enableLod: false,
      depthTest: false,
    });
    this.camera.matrixAutoUpdate = false;
    this.scene.add(this.spark, this.meshes);

    // Half precision keeps faint contributions that bytes would round away, and depths.
    const canBlendHalf = this.renderer.extensions.has("EXT_color_buffer_float");
    this.blended = new THREE.WebGLRenderTarget(1, 1, {
      type: canBlendHalf ? THREE.HalfFloatType : THREE.UnsignedByteType,
      depthBuffer: false,
      magFilter: THREE.NearestFilter,
      minFilter: THREE.NearestFilter,
    });
    this.screenUniforms = {
      picture: { value: this.blended.texture },
      background: { value: new THREE.Vector3() },
      middleDepth: { value: bounds.radius },
      shown: this.uniforms.shown,
    };
    this.screen = new FullScreenQuad(
      new THREE.RawShaderMaterial({
        glslVersion: THREE.GLSL3,
        vertexShader: `in vec3 position;\n${kScreenTriangle}`,
        fragmentShader: kPresentShader,
        uniforms: this.screenUniforms,
        depthTest: false,
        depthWrite: false,
      }),
    );
  }

  setCamera(camera: Camera): void {
    const { width, height } = camera;
    if (this.blended.width !== width || this.blended.height !== height) {
      this.renderer.setSize(width, height, false);
      this.blended.setSize(width, height);
    }
    const [x, y, z] = camera.camera_from_world;
    this.uniforms.cameraRotation.value.set(x[0], x[1], x[2], y[0], y[1], y[2], z[0], z[1], z[2]);
    this.uniforms.cameraTranslation.value.set(x[3], y[3], z[3]);
    this.uniforms.focalPx.value.set(camera.fx, camera.fy);
    this.uniforms.centerPx.value.set(camera.cx, camera.cy);
    this.uniforms.sizePx.value.set(width, height);
    // three.js looks along -z, with y up.
    this.camera.matrix
      .set(
        x[0], x[1], x[2], x[3],
        -y[0], -y[1], -y[2], -y[3],
        -z[0], -z[1], -z[2], -z[3],
        0, 0, 0, 1,
      )
      .invert();
    this.camera.updateMatrixWorld(true);
  }

  setAppearance(appearance: Appearance): void {
    this.uniforms.shown.value = kShownNumbers[appearance.shown];
    this.uniforms.scaleModifier.value = appearance.scaleModifier;
    (this.screenUniforms.background.value as THREE.Vector3).set(...appearance.background);
    for (const mesh of this.meshes.children as SplatMesh[]) {
      if (mesh.maxSh === appearance.shDegree) continue;
      mesh.maxSh = appearance.shDegree;
      mesh.updateGenerator();
    }
  }

  // Hides what is outside of this box.
  setCrop(box: TurnedBox | null): void {
    this.uniforms.isCropped.value = box !== null;
    if (!box) return;
    this.uniforms.cropCenter.value.set(...box.center);
    this.uniforms.cropHalf.value.set(...box.half);
    const axes = ([[1, 0, 0], [0, 1, 0], [0, 0, 1]] as Vec3[]).map((axis) => rotated(box.rotation, axis));
    const [x, y, z] = axes; // in the world: the rows of box_from_world
    this.uniforms.boxFromWorld.value.set(...x, ...y, ...z);
  }

  // How large an array of states has to be for so many Gaussians.
  static statesCapacity(count: number): number {
    return Math.ceil(count / kStatesWidth) * kStatesWidth;
  }

  // Shows which Gaussians are selected or removed (edits.ts); to be called again whenever the array has changed.
  showStates(states: Uint8Array): void {
    if (this.uniforms.states.value.image.data !== states) {
      this.uniforms.states.value.dispose();
      this.uniforms.states.value = statesTexture(states, kStatesWidth);
    }
    this.uniforms.states.value.needsUpdate = true;
    this.uniforms.hasStates.value = true;
  }

  // Computes the colours from here, and sorts; resolves when draw() draws the new order. Not to be called again before.
  async sort(): Promise<void> {
    this.scene.updateMatrixWorld();
    await this.spark.update({ scene: this.scene, camera: this.camera });
  }

  draw(): void {
    this.renderer.setRenderTarget(this.blended);
    this.renderer.setClearColor(0, 0);
    this.renderer.clear();
    this.renderer.render(this.scene, this.camera);
    this.renderer.setRenderTarget(null);
    this.screen.render(this.renderer);
  }

  dispose(): void {
    for (const mesh of this.meshes.children as SplatMesh[]) mesh.dispose();
    this.spark.dispose();
    this.blended.dispose();
    this.screen.dispose();
    this.renderer.dispose();
  }
}

function statesTexture(states: Uint8Array, width: number): THREE.DataTexture {
  const texture = new THREE.DataTexture(
    states as Uint8Array<ArrayBuffer>, width, states.length / width, THREE.RedIntegerFormat, THREE.UnsignedByteType);
  texture.internalFormat = "R8UI";
  texture.unpackAlignment = 1;
  texture.needsUpdate = true;
  return texture;
}
