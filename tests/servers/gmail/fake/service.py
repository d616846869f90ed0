"""The fake on a real socket, one thread a connection."""

from __future__ import annotations

import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import parse_qs, parse_qsl, urlsplit

from tests.servers.gmail.fake import api, discovery, mime
from tests.servers.gmail.fake.account import Account, RefusedError
from tests.servers.gmail.fake.oauth import OAuth
from tests.servers.gmail.fake.trouble import Plan, Trouble, refuse

if TYPE_CHECKING:
    from types import TracebackType

STALL_SECONDS = 60.0
OVERSIZED_BYTES = (64 << 20) + 1
LYING_SUCCESS = {
    "garbage": (200, b"<html>" + b"not JSON " * 3),
    "silent": (204, b""),
    "nameless": (200, b"{}"),
    "foreign": (408, b"a proxy gave up"),
}
"""Answers that come after the request was carried out and do not say so."""


class FakeGmail:
    """Start with `with`; `violations` is what Google's description objects to, in requests and in answers."""

    def __init__(self) -> None:
        self.account = Account()
        self.oauth = OAuth()
        self.plan = Plan()
        self.calls: list[str] = []
        self.uploads = 0
        self.violations: list[str] = []
        self.released = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _Connection)
        self._server.fake = self
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(STALL_SECONDS)

    def count(self, method: str) -> int:
        return self.calls.count(method)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64
    fake: FakeGmail

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients are killed here on purpose."""


class _Connection(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def log_message(self, format: str, *arguments: object) -> None:
        pass

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def do_DELETE(self) -> None:
        self._serve()

    def _serve(self) -> None:
        fake = self.server.fake
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        split = urlsplit(self.path)
        if split.path == "/auth":
            self._answer(302, {}, {"Location": fake.oauth.consent(dict(parse_qsl(split.query)))})
        elif split.path == "/token":
            fake.calls.append("token")
            self._answer(*fake.oauth.exchange(dict(parse_qsl(body.decode()))))
        else:
            self._serve_api(split.path, parse_qs(split.query, keep_blank_values=True), body)

    def _serve_api(self, path: str, query: dict[str, list[str]], body: bytes) -> None:
        fake = self.server.fake
        is_upload = path.startswith("/upload/")
        found = discovery.load().find(self.command, path.removeprefix("/upload"))
        if found is None:
            fake.violations.append(f"{self.command} {path} is no method")
            self._refuse(404, "notFound")
            return
        method, named = found
        fake.calls.append(method.id)
        if is_upload:
            fake.uploads += 1
            fake.violations += discovery.load().list_upload_faults(method, query, body)
            given = mime.unpack_upload(self.headers["Content-Type"], body)
        else:
            given = json.loads(body) if body else {}
        fake.violations += discovery.load().list_query_faults(method, query)
        fake.violations += discovery.load().list_body_faults(f"{method.id} request", method.request, given)
        trouble = fake.plan.next(method.id)
        if trouble is not None and trouble.happens_first:
            self._cause(trouble)
            return
        if self.headers.get("Authorization", "").removeprefix("Bearer ") not in fake.oauth.access_tokens:
            self._refuse(401, "authError")
            return
        try:
            answer = api.answer(fake.account, method.id, named, query, given)
        except RefusedError as refused:
            self._refuse(refused.status, refused.reason)
            return
        fake.violations += discovery.load().list_body_faults(f"{method.id} answer", method.response, answer)
        if trouble is not None:
            self._cause(trouble, answer)
        else:
            self._answer(200, answer)

    def _cause(self, trouble: Trouble, answer: dict[str, Any] | None = None) -> None:
        data = json.dumps(answer).encode()
        if trouble.how == "refuse":
            self._answer(trouble.status, _describe(trouble), trouble.headers)
            return
        if trouble.how in {"stall", "stall_after"}:
            self.server.fake.released.wait(STALL_SECONDS)
        if trouble.how in LYING_SUCCESS:
            status, lie = LYING_SUCCESS[trouble.how]
            self._send(status, lie, {})
            return
        if trouble.how == "oversized":
            self._send(200, data.ljust(OVERSIZED_BYTES), {})
            return
        if trouble.how == "truncate":
            self._send(200, data[: len(data) // 2], {"Content-Length": str(len(data))})
        self.close_connection = True
        self.wfile.flush()
        self.connection.shutdown(socket.SHUT_RDWR)

    def _refuse(self, status: int, reason: str) -> None:
        self._answer(status, _describe(refuse(status, reason)))

    def _answer(self, status: int, answer: dict[str, Any], headers: dict[str, str] | None = None) -> None:
        self._send(status, json.dumps(answer).encode(), headers or {})

    def _send(self, status: int, data: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {
            "Content-Type": "application/json",
            "Content-Length": str(len(data)),
            **headers,
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)


def _describe(trouble: Trouble) -> dict[str, Any]:
    """A refusal's body in the older or the newer of Google's two shapes."""
    error: dict[str, Any] = {"code": trouble.status, "message": "CANARY-upstream-prose", "status": "X"}
    row = {"message": "CANARY-upstream-prose", "domain": "global", "reason": trouble.reason}
    if trouble.newer:
        kind = "type.googleapis.com/google.rpc.ErrorInfo"
        error["errors"] = [row | {"reason": "forbidden"}]  # what the older clients are told beside it
        error["details"] = [{"@type": kind, "reason": trouble.reason, "domain": "googleapis.com"}]
    else:
        error["errors"] = [row] if trouble.reason else []
    return {"error": error}
