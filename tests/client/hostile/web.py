"""The same floods behind a URL; a process of its own, so that its work is not ours."""

import gzip
import json
import signal
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.client.hostile.floods import CHUNK, HUGE, NOTICE

EVENT = b"data: %s\n\n"
ANSWER = b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"'
END = b'"}]}}'


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        method, request_id = message["method"], message.get("id")
        if request_id is None:
            self._begin("text/plain", 202, ("content-length", "0"))
        elif method == "initialize":
            info = {"name": "web", "version": "1"}
            version = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
            self._result(request_id, version)
        elif method == "tools/list":
            self._result(request_id, {"tools": []})
        elif method == "tools/call":
            getattr(self, message["params"]["name"])(request_id)
        else:
            self._begin("text/plain", 405, ("content-length", "0"))

    def do_GET(self) -> None:
        self._begin("text/plain", 405, ("content-length", "0"))

    do_DELETE = do_GET  # noqa: N815 - as above

    def echo(self, request_id: int) -> None:
        self._result(request_id, {"content": [{"type": "text", "text": "fine"}]})

    def endless_comments(self, _: int) -> None:
        self._begin("text/event-stream")
        self._forever(b": still working\n" * 1000)

    def endless_notifications(self, _: int) -> None:
        self._begin("text/event-stream")
        self._forever(EVENT % NOTICE.strip() * 1000)

    def endless_event(self, request_id: int) -> None:
        self._begin("text/event-stream")
        self.wfile.write(b"data: " + ANSWER % request_id)
        self._forever(b"x" * CHUNK)

    def half_a_body(self, request_id: int) -> None:
        self._begin("application/json", 200, ("content-length", "5000"))
        self.wfile.write(ANSWER % request_id)
        signal.sigwait({signal.SIGUSR1})

    def huge_body(self, request_id: int) -> None:
        size = HUGE + len(ANSWER % request_id) + len(END)
        self._begin("application/json", 200, ("content-length", str(size)))
        self._write_huge(ANSWER % request_id, END)

    def huge_event(self, request_id: int) -> None:
        self._begin("text/event-stream")
        self._write_huge(b"data: " + ANSWER % request_id, END + b"\n\n")

    def many_values(self, request_id: int) -> None:
        body = b'{"jsonrpc":"2.0","id":%d,"result":{"content":[],"structuredContent":{"a":[%s[]]}}}'
        body %= (request_id, b"[]," * CHUNK * 10)
        self._begin("application/json", 200, ("content-length", str(len(body))))
        self.wfile.write(body)

    def many_values_in_an_event(self, request_id: int) -> None:
        body = b'data: {"jsonrpc":"2.0","id":%d,"result":{"content":[],"structuredContent":{"a":[%s[]]}}}\n\n'
        self._begin("text/event-stream")
        self.wfile.write(body % (request_id, b"[]," * CHUNK * 10))

    def compressed(self, request_id: int) -> None:
        body = gzip.compress(ANSWER % request_id + b"x" * HUGE + END, compresslevel=1)
        size = ("content-length", str(len(body)))
        self._begin("application/json", 200, size, ("content-encoding", "gzip"))
        self.wfile.write(body)

    def _write_huge(self, head: bytes, tail: bytes) -> None:
        self.wfile.write(head)
        for _chunk in range(HUGE // CHUNK):
            self.wfile.write(b"x" * CHUNK)
        self.wfile.write(tail)

    def _forever(self, data: bytes) -> None:
        while True:
            self.wfile.write(data)

    def _result(self, request_id: int, result: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", "id": request_id, "result": result}).encode()
        self._begin("application/json", 200, ("content-length", str(len(body))))
        self.wfile.write(body)

    def _begin(self, kind: str, status: int = 200, *headers: tuple[str, str]) -> None:
        self.send_response(status)
        for name, value in (("content-type", kind), *headers):
            self.send_header(name, value)
        if not any(name == "content-length" for name, _ in headers):
            self.send_header("connection", "close")
        self.end_headers()

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except OSError:  # the client had enough
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Tests are quiet."""


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    sys.stdout.write(f"http://127.0.0.1:{server.server_port}/mcp\n")
    sys.stdout.flush()
    server.serve_forever()
