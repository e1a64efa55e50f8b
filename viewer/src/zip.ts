// SPDX-License-Identifier: Apache-2.0
// The entries of a zip archive that are stored as they are.

const kEnd = 0x06054b50, kEntry = 0x02014b50; // marks
const kEndBytes = 22, kEntryBytes = 46, kHeadBytes = 30, kLongestComment = 0xffff;

// By name; null if the bytes are not such an archive. Compressed entries are left out.
export function storedFiles(bytes: Uint8Array): Map<string, Uint8Array> | null {
  const data = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = endOf(data);
  if (end === null) return null;
  const files = new Map<string, Uint8Array>();
  let at = data.getUint32(end + 16, true);
  for (let left = data.getUint16(end + 10, true); left > 0; --left) {
    if (at + kEntryBytes > end || data.getUint32(at, true) !== kEntry) return null;
    const method = data.getUint16(at + 10, true), size = data.getUint32(at + 24, true);
    const [nameBytes, extraBytes, commentBytes] = [28, 30, 32].map((offset) => data.getUint16(at + offset, true));
    const name = new TextDecoder().decode(bytes.subarray(at + kEntryBytes, at + kEntryBytes + nameBytes));
    const head = data.getUint32(at + 42, true);
    if (head + kHeadBytes > end) return null;
    const start = head + kHeadBytes + data.getUint16(head + 26, true) + data.getUint16(head + 28, true);
    if (start + size > end) return null;
    if (method === 0) files.set(name, bytes.subarray(start, start + size));
    at += kEntryBytes + nameBytes + extraBytes + commentBytes;
  }
  return files;
}

// Where the record is that ends the archive, behind which there can only be a comment.
function endOf(data: DataView): number | null {
  const first = Math.max(0, data.byteLength - kEndBytes - kLongestComment);
  for (let at = data.byteLength - kEndBytes; at >= first; --at) {
    if (data.getUint32(at, true) === kEnd) return at;
  }
  return null;
}
