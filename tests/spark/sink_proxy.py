"""Between the sink and a broker: every request and answer passes here, and a chosen one does not."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import struct
import threading
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple


class Passing(NamedTuple):
    """A frame that is about to be passed on."""

    api_key: int
    is_answer: bool


ANY = Passing(-1, False)  # Each frame, in either direction; it is passed on, and only told.


class KafkaProxy:
    """Passes frames on until `stop_at` says that one must not be; then `stopped` is called, once."""

    def __init__(self, target: tuple[str, int], port: int) -> None:
        self._target = target
        self._server = socket.create_server(("127.0.0.1", port))
        self._lock = threading.Lock()
        self._stop_at: Passing | None = None
        self._before = 0
        self._stopped: Callable[[], None] = lambda: None
        threading.Thread(target=self._accept, daemon=True).start()

    def arm(self, stop_at: Passing | None, stopped: Callable[[], None] = lambda: None, before: int = 0) -> None:
        """After so many frames of this kind the next one is the last."""
        with self._lock:
            self._stop_at, self._stopped, self._before = stop_at, stopped, before

    def close(self) -> None:
        self._server.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            try:
                broker = socket.create_connection(self._target, 20)
            except OSError:
                client.close()  # It is away; it may come back.
                continue
            broker.settimeout(None)
            asked: dict[int, int] = {}
            for source, target, is_answer in ((client, broker, False), (broker, client, True)):
                threading.Thread(target=self._pass, args=(source, target, asked, is_answer), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket, asked: dict[int, int], is_answer: bool) -> None:
        try:
            while (frame := _frame(source)) is not None:
                if self._is_last(_kind(frame, asked, is_answer)):
                    break
                target.sendall(frame)
        except OSError:
            pass
        finally:
            for each in (source, target):
                with each:
                    _shut(each)

    def _is_last(self, passing: Passing) -> bool:
        with self._lock:
            if self._stop_at not in (passing, ANY):
                return False
            if self._before:
                self._before -= 1
                return False
            is_cut = self._stop_at != ANY
            self._stop_at = None
            self._stopped()
            return is_cut


def _shut(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def _kind(frame: bytes, asked: dict[int, int], is_answer: bool) -> Passing:
    if is_answer:
        (number,) = struct.unpack_from(">i", frame, 4)
        return Passing(asked.pop(number, -1), True)
    key, _, number = struct.unpack_from(">hhi", frame, 4)
    asked[number] = key
    return Passing(key, False)


def _frame(source: socket.socket) -> bytes | None:
    head = _take(source, 4)
    if head is None:
        return None
    body = _take(source, struct.unpack(">i", head)[0])
    return None if body is None else head + body


def _take(source: socket.socket, size: int) -> bytes | None:
    data = bytearray()
    while len(data) < size:
        piece = source.recv(size - len(data))
        if not piece:
            return None
        data += piece
    return bytes(data)


def kill_session(leader: int) -> None:
    """SIGKILL for every process of a session: Spark's workers leave the group of their parent, not its session."""
    for pid in members(leader):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def members(leader: int) -> list[int]:
    """All processes of a session."""
    folders = (each for each in Path("/proc").iterdir() if each.name.isdecimal())
    return [int(each.name) for each in folders if _session(each) == leader]


def _session(folder: Path) -> int | None:
    try:
        return int((folder / "stat").read_text().rpartition(")")[2].split()[3])
    except (OSError, IndexError):
        return None
