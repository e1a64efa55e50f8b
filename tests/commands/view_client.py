# SPDX-License-Identifier: Apache-2.0
"""A client for the tests of the viewer: starts a command that serves a page, and speaks HTTP and WebSocket with it."""
import base64
import json
import os
import signal
import socket
import struct
import subprocess
import urllib.error
import urllib.parse
import urllib.request

TIMEOUT_S = 300  # for answers; long, since the machine may be busy


class Viewer:
    """A process that prints the address of its page on a line of its own and runs until it is interrupted."""

    def __init__(self, *command):
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.output = ""
        for line in self.process.stdout:
            self.output += line
            if line.startswith("http://"):
                self.url = line.strip()
                return
        raise AssertionError(f"no address was printed: {self.output}{self.process.stderr.read()}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def stop(self):
        """Interrupts the process as Ctrl-C does. Returns its exit status and what it wrote to stderr."""
        self.process.send_signal(signal.SIGINT)
        _, messages = self.process.communicate(timeout=TIMEOUT_S)
        return self.process.returncode, messages

    def address(self, path):
        base = urllib.parse.urlsplit(self.url)
        parts = urllib.parse.urlsplit(path)
        query = "&".join(q for q in (base.query, parts.query) if q)
        return urllib.parse.urlunsplit((base.scheme, base.netloc, base.path + parts.path.lstrip("/"), query, ""))

    def get(self, path):
        """The status, content type and bytes of an address."""
        return self._open(urllib.request.Request(self.address(path)))

    def post(self, path, message):
        """The status of the answer to a JSON message, and its JSON, if it is any."""
        request = urllib.request.Request(self.address(path), json.dumps(message).encode(),
                                         {"Content-Type": "application/json"})
        status, kind, body = self._open(request)
        return status, json.loads(body) if kind.startswith("application/json") else None

    def _open(self, request):
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
                return answer.status, answer.headers.get("Content-Type"), answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.headers.get("Content-Type"), error.read()

    def connect(self):
        return WebSocket(self.address("socket"))


class WebSocket:
    """Text messages are str, binary ones bytes (RFC 6455)."""

    def __init__(self, url):
        parts = urllib.parse.urlsplit(url)
        self.socket = socket.create_connection((parts.hostname, parts.port), timeout=TIMEOUT_S)
        self.received = b""
        key = base64.b64encode(os.urandom(16)).decode()
        target = parts.path + ("?" + parts.query if parts.query else "")
        self.socket.sendall(
            f"GET {target} HTTP/1.1\r\nHost: {parts.netloc}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode())
        while b"\r\n\r\n" not in self.received:
            self._receive()
        head, self.received = self.received.split(b"\r\n\r\n", 1)
        assert head.startswith(b"HTTP/1.1 101 "), head

    def _receive(self):
        part = self.socket.recv(1 << 16)
        if not part:
            raise ConnectionError("the server closed the connection")
        self.received += part

    def _take(self, count):
        while len(self.received) < count:
            self._receive()
        taken, self.received = self.received[:count], self.received[count:]
        return taken

    def _send_frame(self, opcode, payload):
        mask = os.urandom(4)
        length = len(payload)
        head = bytes([0x80 | opcode])
        if length < 126:
            head += bytes([0x80 | length])
        elif length < 1 << 16:
            head += bytes([0x80 | 126]) + struct.pack(">H", length)
        else:
            head += bytes([0x80 | 127]) + struct.pack(">Q", length)
        self.socket.sendall(head + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(payload)))

    def send(self, message):
        self._send_frame(1, json.dumps(message).encode())

    def receive(self):
        """The next message; JSON if it is text."""
        message, kind = b"", None
        while True:
            first, second = self._take(2)
            length = second & 0x7F
            if length == 126:
                length = struct.unpack(">H", self._take(2))[0]
            elif length == 127:
                length = struct.unpack(">Q", self._take(8))[0]
            payload = self._take(length)
            opcode = first & 0x0F
            if opcode == 9:
                self._send_frame(10, payload)
            elif opcode == 8:
                raise ConnectionError("the server closed the WebSocket")
            elif opcode != 10:
                kind = opcode or kind
                message += payload
                if first & 0x80:
                    return json.loads(message) if kind == 1 else message

    def receive_type(self, kind):
        """The next text message of this type; pictures are skipped."""
        while True:
            message = self.receive()
            if isinstance(message, dict) and message["type"] == kind:
                return message

    def receive_picture(self):
        """The header and the JPEG of the next picture; an error that the server reports fails the test."""
        while True:
            message = self.receive()
            if isinstance(message, bytes):
                length = struct.unpack("<I", message[:4])[0]
                return json.loads(message[4:4 + length]), message[4 + length:]
            assert message.get("kind") != "error", message

    def close(self):
        self.socket.close()
