// SPDX-License-Identifier: Apache-2.0
// What `stipple export-html` has put into the page, so that it needs no server.
import type { Progress } from "./model_bytes";
import type { Hello } from "./protocol";

const kPollMs = 50;

export function embeddedHello(): Hello | null {
  const text = document.getElementById("stipple-hello")?.textContent;
  return text ? (JSON.parse(text) as Hello) : null;
}

// The bytes of a model, which are in the page as base64, in parts. The page may still be on its way: each part is decoded when
// it has come, and then removed, since the text takes more memory than the bytes.
export async function embeddedModel(index: number, length: number, progress: Progress): Promise<Uint8Array> {
  const parts = document.getElementsByClassName(`stipple-model-${index}`);
  const bytes = new Uint8Array(length);
  let received = 0;
  for (;;) {
    const isLoaded = document.readyState !== "loading";
    const hasCome = parts.length > (isLoaded ? 0 : 1); // the last one may not have ended
    if (!hasCome && isLoaded) break;
    if (hasCome) {
      const text = parts[0].textContent!;
      const part = text.length % 4 === 0 ? bytesOfBase64(text) : null;
      if (!part || part.length > length - received) break;
      bytes.set(part, received);
      received += part.length;
      parts[0].remove();
      progress(received, length);
    }
    await new Promise((next) => setTimeout(next, hasCome ? 0 : kPollMs));
  }
  if (received !== length) throw new Error("the file of this page is not complete; get it again");
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
