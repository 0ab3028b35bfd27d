"""The memory of all subscriptions of a server: what is read ahead and what waits to be sent counts, for all together.

The more is taken, the less one more may take: who came first does not starve who comes later, and each may always hold
the one piece or message without which it could not go on.
"""

from __future__ import annotations

_PART = 4  # One piece may be as large as this part of what is left.


class Memory:
    """Counts bytes."""

    def __init__(self, size_max: int) -> None:
        self.size_max = size_max
        self.size = 0

    @property
    def left(self) -> int:
        return max(self.size_max - self.size, 0)


class Share:
    """What one subscription holds of it."""

    __slots__ = ("_held", "_memory")

    def __init__(self, memory: Memory | None = None) -> None:
        self._memory = memory or Memory(2**63)
        self._held = 0

    def allows(self, size: int) -> bool:
        return size <= self._memory.left // _PART

    def add(self, size: int) -> None:
        """Hold more, or less when it is negative."""
        self._held += size
        self._memory.size += size

    def close(self) -> None:
        """The subscription has ended: whatever it held is gone, and what its tasks still let go counts no more."""
        self.add(-self._held)
        self._memory = Memory(0)
