// SPDX-License-Identifier: Apache-2.0
// The bytes of a model: from the server, or from the page itself, if `stipple export-html` made it.

export type Progress = (received: number, total: number | null) => void;

// What went wrong, in the server's words.
export async function problemOf(response: Response): Promise<string> {
  const isSentence = response.headers.get("Content-Type")?.startsWith("text/plain");
  return (isSentence && (await response.text()).trim()) || `the server answered ${response.status}`;
}

export async function fetchBytes(url: string, progress: Progress, signal: AbortSignal): Promise<Uint8Array> {
  const response = await fetch(url, { signal });
  if (!response.ok) throw new Error(await problemOf(response));
  const header = response.headers.get("Content-Length");
  const total = header === null ? null : Number(header);
  if (!response.body) return new Uint8Array(await response.arrayBuffer());

  // One buffer where the length is known: a model can take a good part of the memory.
  let bytes = new Uint8Array(total ?? 1 << 20);
  let received = 0;
  const reader = response.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    if (received + value.length > bytes.length) {
      const larger = new Uint8Array(Math.max(2 * bytes.length, received + value.length));
      larger.set(bytes);
      bytes = larger;
    }
    bytes.set(value, received);
    received += value.length;
    progress(received, total);
  }
  if (total !== null && received < total) throw new Error("the connection ended early");
  return bytes.subarray(0, received);
}
