"""Frames from a byte stream: a length of four bytes, then so many bytes. Fills buffers that the socket writes into.

Small frames arrive in a shared buffer and are copied out; a large one gets a buffer of its own as soon as its length is
known, and the rest of it is received right there, without a copy.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy

from holdfast.errors import Rejected

_SMALL_SIZE = 64 << 10


class BadFrame(Rejected):
    """What arrives is not the Kafka protocol."""

    def __init__(self, size: int, size_max: int) -> None:
        super().__init__(f"a frame says it has {size} bytes, 1 to {size_max} are allowed")
        self.size = size
        self.size_max = size_max


class Frames:
    """The frames of one connection."""

    __slots__ = ("_end", "_large", "_large_end", "_size_max", "_small", "_start")

    def __init__(self, size_max: int) -> None:
        self._size_max = size_max
        self._small = memoryview(bytearray(_SMALL_SIZE))
        self._start = 0
        self._end = 0
        self._large: memoryview | None = None
        self._large_end = 0

    @property
    def arriving(self) -> int:
        """The size of a large frame of which a part is still to come; 0 if there is none."""
        return 0 if self._large is None else len(self._large)

    def buffer(self) -> memoryview:
        """Where the next bytes belong."""
        return self._small[self._end :] if self._large is None else self._large[self._large_end :]

    def received(self, count: int) -> Iterator[memoryview]:
        """So many bytes are there now: the frames that are whole. Each may be kept and written to."""
        if self._large is not None:
            self._large_end += count
            if self._large_end == len(self._large):
                frame, self._large = self._large, None
                yield frame
            return
        self._end += count
        while (frame_ := self._next_small()) is not None:
            yield frame_
        self._make_room()

    def _next_small(self) -> memoryview | None:
        held = self._end - self._start
        if held < 4:
            return None
        size = int.from_bytes(self._small[self._start : self._start + 4], "big", signed=True)
        if not 0 < size <= self._size_max:
            raise BadFrame(size, self._size_max)
        start, end = self._start + 4, self._start + 4 + size
        if end <= self._end:
            self._start = end
            return memoryview(bytearray(self._small[start:end]))
        if size + 4 > _SMALL_SIZE:
            # Not filled with zeros: what a client announces and never sends must not cost memory.
            self._large = numpy.empty(size, numpy.uint8).data
            self._large_end = self._end - start
            self._large[: self._large_end] = self._small[start : self._end]
            self._start = self._end
        return None

    def _make_room(self) -> None:
        held = self._end - self._start
        if self._start:
            self._small[:held] = bytes(self._small[self._start : self._end])
            self._start, self._end = 0, held
