// SPDX-License-Identifier: Apache-2.0
// What is imported besides TypeScript and packages: shaders as text, and of node what the unit tests use.
declare module "*.glsl" {
  const text: string;
  export default text;
}
declare module "node:test" {
  export function test(name: string, run: () => void | Promise<void>): void;
}
declare module "node:assert/strict" {
  const assert: {
    (value: unknown, message?: string): asserts value;
    equal(actual: unknown, expected: unknown, message?: string): void;
    deepEqual(actual: unknown, expected: unknown, message?: string): void;
    throws(run: () => unknown, expected?: RegExp): void;
    rejects(run: () => Promise<unknown>, expected?: RegExp): Promise<void>;
  };
  export default assert;
}
declare module "node:fs" {
  export function readFileSync(path: string | URL, encoding: "utf8"): string;
}
