"""Frames from a byte stream: a length of four bytes, then so many bytes. Fills buffers that the socket writes into.

All connections receive into one buffer, and whole frames are copied out of it. A frame of which a part is still to come
gets a buffer of its own, and the rest of it is received right there, without a copy. That buffer has the frame's size
up to a limit, and grows with what arrives above it: an announcement alone costs next to nothing.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

import numpy

from holdfast.errors import Rejected

SHARED_SIZE = 64 << 10
_SIZE = struct.Struct(">i")
_OWN_SIZE = 2 << 20  # Frames up to this size are never copied again.
_HELLO = 0x1603  # How TLS begins, in any version of it.
_HTTP = (b"GET ", b"POST", b"HEAD")
_HTTP_2 = b"PRI "


class Frames:
    """The frames of one connection."""

    __slots__ = ("_filled", "_head", "_own", "_shared", "_size", "size_max")

    def __init__(self, size_max: int, shared: memoryview) -> None:
        self.size_max = size_max  # Of the next frame.
        self._shared = shared  # Of all connections of a loop: what is in it is taken out before anybody else reads.
        self._head = b""  # Of a frame whose size is not known yet: fewer than four bytes.
        self._own: memoryview | None = None
        self._filled = 0
        self._size = 0  # Of the frame that arrives.

    @property
    def is_partial(self) -> bool:
        """Whether a frame has begun to arrive."""
        return self._own is not None or bool(self._head)

    @property
    def arrived(self) -> int:
        """Bytes that are here of a frame that is not whole."""
        return self._filled or len(self._head)

    @property
    def missing(self) -> int:
        """Bytes that are still to come of a frame whose size is known."""
        return self._size - self._filled if self._own is not None else 0

    def buffer(self, size_max: int = SHARED_SIZE) -> memoryview:
        """Where the next bytes belong; of the shared buffer at most `size_max` bytes."""
        if self._own is not None:
            return self._own[self._filled :]
        if not self._head and size_max >= SHARED_SIZE:
            return self._shared
        head = len(self._head)
        self._shared[:head] = self._head
        return self._shared[head : head + size_max]

    def only(self, count: int) -> memoryview | None:
        """So many bytes are there now, and are one whole frame, which may be kept and written to; None: ask `received`.

        Most clients wait for an answer before they send more.
        """
        if self._own is not None or self._head or count <= _SIZE.size:
            return None
        shared = self._shared
        (size,) = _SIZE.unpack_from(shared)
        if size != count - _SIZE.size or size > self.size_max:
            return None
        return memoryview(bytearray(shared[_SIZE.size : count]))

    def received(self, count: int) -> Iterator[memoryview]:
        """So many bytes are there now: the frames that are whole. Each may be kept and written to."""
        if self._own is None:
            end = len(self._head) + count
            self._head = b""
            yield from self._cut(end)
            return
        self._filled += count
        if self._filled == self._size:
            frame, self._own, self._filled = self._own, None, 0
            yield frame
        elif self._filled == len(self._own):
            self._grow(self._own)

    def _cut(self, end: int) -> Iterator[memoryview]:
        shared, start = self._shared, 0
        while end - start >= 4:
            size = int.from_bytes(shared[start : start + 4], "big", signed=True)
            if not 0 < size <= self.size_max:
                raise Rejected(f"a frame says it has {size} bytes, 1 to {self.size_max} are allowed{_guess(size)}")
            start += 4
            if start + size > end:
                self._begin_own(size, shared[start:end])
                return
            yield memoryview(bytearray(shared[start : start + size]))
            start += size
        self._head = bytes(shared[start:end])

    def _begin_own(self, size: int, first: memoryview) -> None:
        # Not filled with zeros: what a client announces and never sends must not cost memory.
        own = numpy.empty(min(size, _OWN_SIZE), numpy.uint8).data
        own[: len(first)] = first
        self._own, self._filled, self._size = own, len(first), size

    def _grow(self, full: memoryview) -> None:
        larger = numpy.empty(min(self._size, 2 * len(full)), numpy.uint8).data
        larger[: len(full)] = full
        self._own = larger


def _guess(size: int) -> str:
    """What somebody speaks who says that a frame has so many bytes."""
    if size >> 16 == _HELLO:
        return ": that is TLS, and there is none here; the client's security.protocol has to be another"
    if _SIZE.pack(max(size, 0)) == _HTTP_2:
        return ": that is HTTP/2, as subscribers speak it; their port is another, see subscribe.listen"
    return ": that is HTTP" if size > 0 and _SIZE.pack(size) in _HTTP else ""
