"""Which partition a record goes to: the one its key says, as Java's producers would choose, or one after the other."""

from __future__ import annotations

_MULTIPLIER = 0x5BD1E995
_SEED = 0x9747B28C
_MASK = 0xFFFFFFFF


def murmur2(data: bytes) -> int:
    """The 32 bits of the hash that all of Kafka's producers use for keys."""
    size = len(data)
    hashed = _SEED ^ size
    whole = size - size % 4
    for start in range(0, whole, 4):
        word = int.from_bytes(data[start : start + 4], "little") * _MULTIPLIER & _MASK
        word = (word ^ word >> 24) * _MULTIPLIER & _MASK
        hashed = hashed * _MULTIPLIER & _MASK ^ word
    if size > whole:
        hashed = (hashed ^ int.from_bytes(data[whole:], "little")) * _MULTIPLIER & _MASK
    hashed = (hashed ^ hashed >> 13) * _MULTIPLIER & _MASK
    return hashed ^ hashed >> 15


class RecordPartitioner:
    """Chooses among a topic's partitions. Records without a key stay together until it is another one's turn."""

    def __init__(self, partitions: list[int], fixed: int | None) -> None:
        self._partitions = partitions
        self._fixed = fixed
        self._turn = 0

    def choose(self, key: bytes | None) -> int:
        if self._fixed is not None:
            return self._fixed
        if key is None:
            return self._partitions[self._turn % len(self._partitions)]
        return self._partitions[(murmur2(key) & 0x7FFFFFFF) % len(self._partitions)]

    def turn(self) -> None:
        """The next partition's turn."""
        self._turn += 1
