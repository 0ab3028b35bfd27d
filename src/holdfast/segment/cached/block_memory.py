"""Memory for blocks, used again: the system takes as long to hand out a fresh megabyte as to read one.

A block is handed out as views, and nobody knows how long a client takes to be sent them. So memory comes back when the
last view of it has gone, and not before: Python counts them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_FREE_COUNT_MAX = 4  # Blocks that are kept for the next.


class BlockMemory:
    """Of blocks of one size. Any thread may call."""

    def __init__(self, block_size: int) -> None:
        self._block_size = block_size
        self._free: list[NDArray[np.uint8]] = []

    def take(self, size: int) -> memoryview:
        """So many bytes, with anything in them; nobody else has them while there is a view of them."""
        if size != self._block_size:
            return memoryview(bytearray(size))
        try:
            whole = self._free.pop()
        except IndexError:
            whole = np.empty(size, np.uint8)
        lent = whole.view(_Lent)
        lent.free = self._free
        return lent.data


class _Lent(np.ndarray[tuple[int], np.dtype[np.uint8]]):
    """One that is in use: as long as it lives, somebody has a view of it."""

    free: list[NDArray[np.uint8]] | None = None

    def __del__(self) -> None:
        if self.free is not None and self.base is not None and len(self.free) < _FREE_COUNT_MAX:
            self.free.append(self.base)
