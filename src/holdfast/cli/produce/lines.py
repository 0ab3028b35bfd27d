"""Lines of stdin as they come, and what record each of them is."""

from __future__ import annotations

import io
import select
import sys
from collections.abc import Callable, Iterator
from typing import cast

from holdfast.errors import Rejected
from holdfast.record.records import Record

_READ_SIZE = 64 << 10
_LINE_SIZE_MAX = 128 << 20
_CLOSED = "stdin is closed: there are no lines to read"


class LineRecords:
    """Makes records of lines."""

    def __init__(
        self, key_separator: str | None, headers: tuple[tuple[str, bytes | None], ...], null: str | None = None
    ) -> None:
        if key_separator == "":
            raise Rejected("--key-separator must not be empty")
        self._separator = key_separator.replace("\\t", "\t").encode() if key_separator else None
        self._headers = headers
        self._null = null.encode() if null is not None else None
        self._line = 0

    def record(self, line: bytes, timestamp: int) -> Record:
        self._line += 1
        if self._separator is None:
            return Record(None, self._unless_null(line), timestamp, self._headers)
        key, found, value = line.partition(self._separator)
        if not found:
            separator = self._separator.decode()
            raise Rejected(f"line {self._line} has no {separator!r} between key and value: it is not sent")
        return Record(self._unless_null(key), self._unless_null(value), timestamp, self._headers)

    def _unless_null(self, data: bytes) -> bytes | None:
        return None if data == self._null else data


def read_lines(quiet_s: float) -> Iterator[list[bytes]]:
    """The lines of stdin, some at a time, without their ends; an empty list whenever none came for a while."""
    try:
        yield from split_lines(_stdin_reader(quiet_s))
    except ValueError:  # What Python says of a file that somebody has closed.
        raise Rejected(_CLOSED) from None


def _stdin_reader(quiet_s: float) -> Callable[[int], bytes | None]:
    """Gives what is there, without waiting for more; None once when nothing came for a while.

    Unbuffered: what a buffer holds is not seen by `select`. A signal ends the wait.
    """
    if sys.stdin is None:
        raise Rejected(_CLOSED)
    stdin = cast(io.BufferedReader, sys.stdin.buffer)
    if not hasattr(stdin, "raw"):
        return stdin.read1
    said_quiet = False

    def read(size: int) -> bytes | None:
        nonlocal said_quiet
        while True:
            ready, _, _ = select.select([stdin.fileno()], [], [], None if said_quiet else quiet_s)
            if not ready:
                said_quiet = True
                return None
            data = stdin.raw.read(size)
            if data is not None:  # Whoever shares a pipe that does not wait may have been quicker.
                said_quiet = False
                return data

    return read


def split_lines(read: Callable[[int], bytes | None]) -> Iterator[list[bytes]]:
    """The lines in what is read, some at a time, without their ends; the last one need not have an end.

    Where nothing was read, which is not the end, there are no lines.
    """
    rest: list[bytes] = []
    size = 0
    while (data := read(_READ_SIZE)) != b"":
        if data is None:
            yield []
            continue
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
