"""An HTTP proxy between an object store's client and its server that disturbs requests on a test's plan.

A plan is asked for each request, by its method and path, and answers with a Fault or None (pass it on). The proxy
listens on the loopback interface; leaving the `with` block ends every connection and joins every thread.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable
from enum import Enum, auto
from http.client import HTTPConnection, HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

_SILENT_SECONDS_MAX = 20  # No connection, held back or not, outlives this.
_PIECE_SIZE = 16 << 10
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER: close by reset, without a farewell.


class Fault(Enum):
    """What happens to one request."""

    CUT_BEFORE_REQUEST = auto()  # The server never sees it.
    CUT_IN_REQUEST = auto()  # The server sees its head and half of its body.
    CUT_BEFORE_ANSWER = auto()  # The server does it; the client sees the connection end.
    CUT_IN_ANSWER = auto()  # The client gets the head and half of the body, then a reset.
    HOLD_ANSWER = auto()  # The server does it; the client hears nothing until it gives up.
    ANSWER_409 = auto()  # The server never sees it; the client is told that another request is in its way.
    ANSWER_503 = auto()  # The server never sees it; the client is told to come back.
    DO_AND_ANSWER_503 = auto()  # The server does it, and the client is told that it did not.


Plan = Callable[[str, str], Fault | None]


def in_order(faults: Iterable[Fault | None]) -> Plan:
    """A plan from a list: one entry for each request; behind the end all pass."""
    left = iter(faults)
    return lambda method, path: next(left, None)


class FaultyProxy:
    """Listens while its `with` block lasts; `plan` may be changed meanwhile."""

    def __init__(self, port: int) -> None:
        self.plan: Plan = lambda method, path: None
        self.delay_s = 0.0  # Before each request.
        self.bytes_per_s: float = 0  # How fast bodies of requests come through, all together; 0: as fast as they can.
        self.disturbed = 0  # How many requests a fault hit: a test that hits none tests nothing.
        self._lock = threading.Lock()
        self._line = threading.Lock()
        self._server = _Server(self, port)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def carry(self, size: int) -> None:
        """Take the time that so many bytes need on the one line that all requests share."""
        with self._line:
            if self.bytes_per_s:
                time.sleep(size / self.bytes_per_s)

    def fault(self, method: str, path: str) -> Fault | None:
        """What to do with this request; called from many threads."""
        with self._lock:
            fault = self.plan(method, path)
            self.disturbed += fault is not None
        return fault

    def __enter__(self) -> FaultyProxy:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.end_connections()
        self._server.server_close()  # Joins the threads of all connections.
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    block_on_close = True

    def __init__(self, proxy: FaultyProxy, port: int) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.proxy = proxy
        self.port = port
        self.connections: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self.connections.add(request)  # Before its thread starts, so that none is missed when all are ended.
        super().process_request(request, client_address)

    def shutdown_request(self, request: socket.socket | tuple[bytes, socket.socket]) -> None:
        self.close_request(request)  # Without the farewell that comes first otherwise, so that a cut is a reset.

    def end_connections(self) -> None:
        for connection in list(self.connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


class _Connection(BaseHTTPRequestHandler):
    """One connection of the client; each of its requests goes over a connection of its own to the server."""

    protocol_version = "HTTP/1.1"
    timeout = _SILENT_SECONDS_MAX
    server: _Server

    def finish(self) -> None:
        with contextlib.suppress(OSError):
            super().finish()
        self.server.connections.discard(self.request)

    def log_message(self, *args: object) -> None:
        """Say nothing: tests look at outcomes."""

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except OSError:
            self.close_connection = True  # The client or the server has gone: that is what proxies are for.

    def _pass(self) -> None:
        size = int(self.headers.get("Content-Length", 0))
        body = self._body(size)
        if len(body) < size:
            return self._cut()  # The client has given up.
        time.sleep(self.server.proxy.delay_s)
        fault = self.server.proxy.fault(self.command, self.path)
        if fault is Fault.CUT_BEFORE_REQUEST:
            return self._cut()
        if fault in (Fault.ANSWER_409, Fault.ANSWER_503):
            return self._answer(409 if fault is Fault.ANSWER_409 else 503, [], b"")
        upstream = HTTPConnection("127.0.0.1", self.server.port, timeout=_SILENT_SECONDS_MAX)
        with contextlib.closing(upstream):
            self._send_upstream(upstream, body[: len(body) // 2] if fault is Fault.CUT_IN_REQUEST else body)
            if fault is Fault.CUT_IN_REQUEST:
                return self._cut()
            response = upstream.getresponse()
            return self._bring_back(response, response.read(), fault)

    def _body(self, size: int) -> bytes:
        pieces = []
        while size > 0 and (piece := self.rfile.read(min(size, _PIECE_SIZE))):
            self.server.proxy.carry(len(piece))
            pieces.append(piece)
            size -= len(piece)
        return b"".join(pieces)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _pass  # noqa: N815

    def _send_upstream(self, upstream: HTTPConnection, body: bytes) -> None:
        # Headers go unchanged, the host too: they are signed.
        upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for key, value in self.headers.items():
            upstream.putheader(key, value)
        upstream.endheaders(body)

    def _bring_back(self, response: HTTPResponse, body: bytes, fault: Fault | None) -> None:
        if fault is Fault.CUT_BEFORE_ANSWER:
            self._cut()
        elif fault is Fault.HOLD_ANSWER:
            self._wait_for_client_to_leave()
        elif fault is Fault.DO_AND_ANSWER_503:
            self._answer(503, [], b"")
        elif fault is Fault.CUT_IN_ANSWER:
            self._answer(response.status, response.getheaders(), body, send_size=len(body) // 2)
            self._cut()
        else:
            self._answer(response.status, response.getheaders(), body)

    def _answer(
        self, status: int, headers: list[tuple[str, str]], body: bytes, *, send_size: int | None = None
    ) -> None:
        self.send_response_only(status)
        sizes = ("content-length", "transfer-encoding", "connection")
        for key, value in headers:
            if key.lower() not in sizes or (key.lower() == "content-length" and self.command == "HEAD"):
                self.send_header(key, value)
        if self.command != "HEAD" and status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body if send_size is None else body[:send_size])
        self.wfile.flush()

    def _wait_for_client_to_leave(self) -> None:
        self.close_connection = True
        with contextlib.suppress(OSError):
            self.rfile.read(1)  # Ends when the client hangs up, at the time-out, or when the proxy stops.

    def _cut(self) -> None:
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
