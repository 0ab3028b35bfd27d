"""The console asked as a script asks it."""

from __future__ import annotations

import base64
import http.client
import json
import select
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from tests.broker.wire import wait_for

from holdfast.testing import RunningBroker


class Told(NamedTuple):
    """An answer."""

    status: int
    text: str
    headers: Mapping[str, str]

    @property
    def json(self) -> Any:
        return json.loads(self.text)


class Asked:
    """A console at a port of this machine."""

    def __init__(self, port: int, context: ssl.SSLContext | None = None) -> None:
        self.port = port
        self._context = context

    def ask(self, path: str, method: str = "GET", body: str | None = None, **headers: str) -> Told:
        """Header names have `_` for `-`."""
        link = (
            http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
            if self._context is None
            else http.client.HTTPSConnection("127.0.0.1", self.port, timeout=20, context=self._context)
        )
        given = {"Accept": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}
        link.request(method, path, body, given)
        answer = link.getresponse()
        told = Told(answer.status, answer.read().decode(), {name.lower(): value for name, value in answer.getheaders()})
        link.close()
        return told

    @contextmanager
    def follow(self, path: str, **headers: str) -> Iterator[Iterator[str]]:
        """The lines of a page that is followed."""
        host = "127.0.0.1"
        with socket.create_connection((host, self.port), timeout=20) as plain:
            link = plain if self._context is None else self._context.wrap_socket(plain, server_hostname=host)
            given = {"Host": f"{host}:{self.port}", "Accept": "text/event-stream", **headers}
            lines = "".join(f"{name}: {value}\r\n" for name, value in given.items())
            link.sendall(f"GET {path} HTTP/1.1\r\n{lines}\r\n".encode())
            with link.makefile("r", encoding="utf-8", newline="\n") as answer:
                assert " 200 " in answer.readline()
                yield (line.strip() for line in answer if line.startswith(("data:", "event:")))

    def page(self, path: str, **headers: str) -> Any:
        told = self.ask(path, **headers)
        assert told.status == 200, told
        return told.json

    def wait_for(self, path: str, is_so: Callable[[Any], object], **headers: str) -> None:
        def look() -> bool:
            found = bool(is_so(self.page(path, **headers)))
            if not found:
                select.select([], [], [], 0.05)  # A page costs the broker more than a look at a variable.
            return found

        wait_for(look)


class Place(NamedTuple):
    """A broker with data, and its console."""

    broker: RunningBroker
    port: int
    conf: dict[str, Any]
    asked: Asked
    opened: Any  # The producer whose transaction is open.


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
