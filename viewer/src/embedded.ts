// SPDX-License-Identifier: Apache-2.0
// What `stipple export-html` has put into the page, so that it needs no server.
import type { Hello } from "./protocol";

export function embeddedHello(): Hello | null {
  const text = document.getElementById("stipple-hello")?.textContent;
  return text ? (JSON.parse(text) as Hello) : null;
}

// The bytes of a model, which are in the page as base64; null if they are not.
export function embeddedModel(index: number): Uint8Array | null {
  const element = document.getElementById(`stipple-model-${index}`);
  if (!element) return null;
  const bytes = bytesOfBase64(element.textContent!);
  element.remove(); // the text takes more memory than the bytes
  return bytes;
}

export function bytesOfBase64(text: string): Uint8Array {
  const binary = atob(text.trim());
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; ++i) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

export function base64OfBytes(bytes: Uint8Array): string {
  const kPart = 0x8000; // of arguments at once
  let binary = "";
  for (let i = 0; i < bytes.length; i += kPart) binary += String.fromCharCode(...bytes.subarray(i, i + kPart));
  return btoa(binary);
}
