"""A socket of the event loop whose small calls keep the interpreter's lock.

Python gives the lock away in every call on a socket. One that never blocks is over in microseconds; the lock may be
with the thread that writes the log by then, and getting it back took a quarter of a small request's processor time.
"""

from __future__ import annotations

import socket
from typing import Any

from holdfast.native import kernels

_SIZE_MAX = 64 << 10  # Bytes of one call: more of them are worth a lock that others wait for.


class QuickSocket(socket.socket):
    """The calls that asyncio makes for every request; all others are as they were."""

    def recv_into(self, buffer: Any, nbytes: int = 0, flags: int = 0) -> int:
        if nbytes or flags or len(buffer) > _SIZE_MAX:
            return super().recv_into(buffer, nbytes, flags)
        size: int = kernels.receive_now(self.fileno(), buffer)  # type: ignore[union-attr]
        return size

    def send(self, data: Any, flags: int = 0) -> int:
        if flags or len(data) > _SIZE_MAX:
            return super().send(data, flags)
        size: int = kernels.send_now(self.fileno(), data)  # type: ignore[union-attr]
        return size


def quick(taken: socket.socket) -> socket.socket:
    """The same connection, with quick calls where there is machine code."""
    return taken if kernels is None else QuickSocket(fileno=taken.detach())
