"""The answers that a client has not taken yet: views of what was read, sent piece by piece.

asyncio's transport copies whatever the socket does not take at once. So it gets one piece at a time, and the rest of an
answer stays what it is: views, counted against the budget of all answers until the client takes them.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence

from holdfast.broker.net.budget import Budget
from holdfast.types import Buffer

_PIECE_SIZE = 256 << 10
_JOIN_BELOW = 64 << 10
PROGRESS_SIZE = 64 << 10  # Who takes less than this at a time does not count as taking.


class Outgoing:
    """Of one connection."""

    __slots__ = ("_budget", "_counted", "_marked_size", "_pieces", "_queued", "_transport", "_writable", "taken_at")

    def __init__(self, transport: asyncio.Transport, budget: Budget) -> None:
        transport.set_write_buffer_limits(high=0)
        self._transport = transport
        self._budget = budget
        self._pieces: deque[memoryview] = deque()
        self._queued = 0  # Bytes of the pieces.
        self._counted = 0  # Bytes that the budget knows of.
        self._writable = True
        self._marked_size = 0  # What was left when progress was seen last.
        self.taken_at = 0.0  # When that was.

    @property
    def has_begun(self) -> bool:
        """Whether anything was ever answered."""
        return self.taken_at > 0

    @property
    def size(self) -> int:
        """Bytes that the client has not taken."""
        return self._counted

    def add(self, buffers: Sequence[Buffer], now: float) -> None:
        """Send an answer, behind those that wait."""
        if not self._counted:
            self.taken_at = now
            if len(buffers) == 1 and self._writable and len(buffers[0]) < _JOIN_BELOW and not self._pieces:
                self._transport.write(buffers[0])
                if not self._writable:
                    self._count(self._transport.get_write_buffer_size())
                    self._marked_size = max(self._marked_size, self._counted)
                return
        for piece in _joined(buffers):
            self._pieces.append(memoryview(piece).cast("B"))
            self._queued += len(piece)
        self._send()
        self._marked_size = max(self._marked_size, self._counted)

    def pause(self) -> None:
        self._writable = False

    def resume(self, now: float) -> None:
        """The transport has nothing left to send."""
        self._writable = True
        self._send()
        if self._marked_size - self._counted >= PROGRESS_SIZE or not self._counted:
            self._marked_size, self.taken_at = self._counted, now

    def _send(self) -> None:
        pieces = self._pieces
        while pieces and self._writable:
            piece = pieces[0]
            if len(piece) > _PIECE_SIZE:
                pieces[0] = piece[_PIECE_SIZE:]
                piece = piece[:_PIECE_SIZE]
            else:
                pieces.popleft()
            self._queued -= len(piece)
            self._transport.write(piece)  # Calls `pause` when the socket does not take it all.
        self._count(self._queued if self._writable else self._queued + self._transport.get_write_buffer_size())

    def _count(self, size: int) -> None:
        more, self._counted = size - self._counted, size
        if more > 0:
            self._budget.hold(more)
        elif more:
            self._budget.release(-more)

    def drop(self) -> None:
        """The client has gone."""
        self._pieces.clear()
        self._queued = 0
        self._count(0)


def _joined(buffers: Sequence[Buffer]) -> list[Buffer]:
    """Small buffers joined, large ones as they are: one copy is cheaper than a system call, for small ones."""
    pieces: list[Buffer] = []
    small: list[Buffer] = []
    for buffer in buffers:
        if len(buffer) < _JOIN_BELOW:
            small.append(buffer)
            continue
        if small:
            pieces.append(b"".join(small))
            small = []
        pieces.append(buffer)
    if small:
        pieces.append(b"".join(small))
    return pieces
