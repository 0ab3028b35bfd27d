"""Lines of stdin, read beside the event loop, and what record each of them is."""

from __future__ import annotations

import asyncio
import contextlib
import io
import select
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TypeAlias, cast

from holdfast.errors import Rejected
from holdfast.record.records import Record

_READ_SIZE = 64 << 10
_PIECES_MAX = 16  # That wait to be taken: past this, stdin is not read.
_LINE_SIZE_MAX = 128 << 20
_CLOSED = "stdin is closed: there are no lines to read"

Piece: TypeAlias = list[bytes] | Exception | None  # Some lines, why there are no more, or the end.


class LineRecords:
    """Makes records of lines."""

    def __init__(self, key_separator: str | None, headers: tuple[tuple[str, bytes | None], ...]) -> None:
        if key_separator == "":
            raise Rejected("--key-separator must not be empty")
        self._separator = key_separator.replace("\\t", "\t").encode() if key_separator else None
        self._headers = headers
        self._line = 0

    def record(self, line: bytes, timestamp: int) -> Record:
        self._line += 1
        if self._separator is None:
            return Record(None, line, timestamp, self._headers)
        key, found, value = line.partition(self._separator)
        if not found:
            separator = self._separator.decode()
            raise Rejected(f"line {self._line} has no {separator!r} between key and value: it is not sent")
        return Record(key, value, timestamp, self._headers)


class _Pieces:
    """On their way from the thread that reads to the event loop; a bounded number of them."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[Piece] = asyncio.Queue()  # The room bounds it.
        self._room = threading.Semaphore(_PIECES_MAX)
        self._ended = False

    def give(self, piece: Piece) -> bool:
        """Hand one over, from the thread; False when nobody wants any more."""
        self._room.acquire()
        if not self._ended:
            with contextlib.suppress(RuntimeError):  # The loop has ended without a word.
                self._loop.call_soon_threadsafe(self._queue.put_nowait, piece)
                return True
        return False

    async def take(self) -> Piece:
        piece = await self._queue.get()
        self._room.release()
        return piece

    def end(self) -> None:
        """Take no more, and let the thread hear of it."""
        self._ended = True
        self._room.release()


async def read_lines(quiet_s: float) -> AsyncIterator[list[bytes]]:
    """The lines of stdin, some at a time, without their ends; an empty list whenever none came for a while."""
    pieces = _Pieces()
    # A daemon, since nobody can end a read of a terminal.
    threading.Thread(target=_read, args=(pieces,), name="stdin", daemon=True).start()
    taking: asyncio.Task[Piece] | None = None
    try:
        while True:
            taking = taking or asyncio.ensure_future(pieces.take())
            done, _ = await asyncio.wait([taking], timeout=quiet_s)
            if not done:
                yield []
                await asyncio.wait([taking])
            piece = taking.result()
            taking = None
            if isinstance(piece, Exception):
                raise piece
            if piece is None:
                return
            yield piece
    finally:
        pieces.end()
        if taking is not None:
            taking.cancel()


def _read(pieces: _Pieces) -> None:
    """The life of the thread that reads."""
    try:
        for lines in split_lines(_stdin_reader()):
            if not pieces.give(lines):
                return
        pieces.give(None)
    except (Rejected, OSError) as failure:
        pieces.give(failure)
    except ValueError:  # What Python says of a file that somebody has closed.
        pieces.give(Rejected(_CLOSED))


def _stdin_reader() -> Callable[[int], bytes | None]:
    """Gives what is there, and does not wait for more. Unbuffered: a process cannot end while a buffer is read."""
    if sys.stdin is None:
        raise Rejected(_CLOSED)
    stdin = cast(io.BufferedReader, sys.stdin.buffer)
    if not hasattr(stdin, "raw"):
        return stdin.read1

    def read(size: int) -> bytes | None:
        while (data := stdin.raw.read(size)) is None:  # Whoever shares the pipe has made it one that does not wait.
            select.select([stdin.raw], [], [])
        return data

    return read


def split_lines(read: Callable[[int], bytes | None]) -> Iterator[list[bytes]]:
    """The lines in what is read, some at a time, without their ends; the last one need not have an end."""
    rest: list[bytes] = []
    size = 0
    while data := read(_READ_SIZE):
        *lines, last = data.split(b"\n")
        if lines:
            lines[0] = b"".join([*rest, lines[0]])
            rest, size = [], 0
            yield lines
        rest.append(last)
        size += len(last)
        if size > _LINE_SIZE_MAX:
            raise Rejected(f"a line has more than {_LINE_SIZE_MAX} bytes")
    if size:
        yield [b"".join(rest)]
