// SPDX-License-Identifier: Apache-2.0
// Requests without a browser, which can say anything in their headers.
import { request } from "node:http";

// Resolves to the status of the answer.
export function statusOf(url, headers = {}) {
  return new Promise((resolve, reject) => {
    const sent = request(url, { headers, agent: false });
    sent.on("response", (response) => resolve(response.resume().statusCode));
    sent.on("error", reject).end();
  });
}

// Asks for a WebSocket; 101 means that it was opened.
export function socketStatus(url, headers = {}) {
  return new Promise((resolve, reject) => {
    const sent = request(url, {
      agent: false,
      headers: { Connection: "Upgrade", Upgrade: "websocket", "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": Buffer.from("sixteen bytes...").toString("base64"), ...headers },
    });
    sent.on("response", (response) => resolve(response.resume().statusCode));
    sent.on("upgrade", (response, socket) => {
      socket.destroy();
      resolve(response.statusCode);
    });
    sent.on("error", reject).end();
  });
}
