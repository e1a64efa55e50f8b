// SPDX-License-Identifier: Apache-2.0
// The WebSocket to the server (docs/viewer.md). It is opened again after it was lost.
import type { PageMessage, PictureHeader, ServerMessage } from "./protocol";

export type ConnectionState = "connecting" | "open" | "lost";
type Listener<T> = (message: T) => void;
type Of<Type extends ServerMessage["type"]> = Extract<ServerMessage, { type: Type }>;

const kLongestWaitMs = 8000;

// An address of the server, with the token of this page's own address.
export function addressOf(path: string, parameters: Record<string, string> = {}): string {
  const url = new URL(path, location.href);
  const token = new URLSearchParams(location.search).get("token");
  if (token !== null) url.searchParams.set("token", token);
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url.href;
}

export class Connection {
  private socket: WebSocket | null = null;
  private waitMs = 500;
  private readonly listeners = new Map<string, Listener<never>[]>();
  private readonly pictureListeners: ((header: PictureHeader, jpeg: Blob) => void)[] = [];
  private readonly stateListeners: Listener<ConnectionState>[] = [];

  on<Type extends ServerMessage["type"]>(type: Type, listener: Listener<Of<Type>>): void {
    const all = this.listeners.get(type) ?? [];
    all.push(listener as Listener<never>);
    this.listeners.set(type, all);
  }

  onPicture(listener: (header: PictureHeader, jpeg: Blob) => void): void {
    this.pictureListeners.push(listener);
  }

  onState(listener: Listener<ConnectionState>): void {
    this.stateListeners.push(listener);
  }

  get isOpen(): boolean {
    return this.socket?.readyState === WebSocket.OPEN;
  }

  open(): void {
    this.tell("connecting");
    const socket = new WebSocket(addressOf("socket").replace(/^http/, "ws"));
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      this.waitMs = 500;
      this.tell("open");
    };
    socket.onmessage = (event) => this.receive(event.data);
    socket.onclose = () => {
      this.tell("lost");
      setTimeout(() => this.open(), this.waitMs);
      this.waitMs = Math.min(2 * this.waitMs, kLongestWaitMs);
    };
    this.socket = socket;
  }

  // Messages to a server that is gone are dropped.
  send(message: PageMessage): void {
    if (this.isOpen) this.socket!.send(JSON.stringify(message));
  }

  private receive(data: string | ArrayBuffer): void {
    if (typeof data !== "string") {
      const [header, jpeg] = splitPicture(data);
      for (const listener of this.pictureListeners) listener(header, jpeg);
      return;
    }
    const message = JSON.parse(data) as ServerMessage;
    for (const listener of this.listeners.get(message.type) ?? []) listener(message as never);
  }

  private tell(state: ConnectionState): void {
    for (const listener of this.stateListeners) listener(state);
  }
}

// A picture's message: the length of the header in 4 bytes, least significant first; the header; a JPEG.
export function splitPicture(message: ArrayBuffer): [PictureHeader, Blob] {
  const length = new DataView(message).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(message, 4, length))) as PictureHeader;
  return [header, new Blob([new Uint8Array(message, 4 + length)], { type: "image/jpeg" })];
}
