"""Which internal partition holds a group: the same one as in Kafka."""

from __future__ import annotations

from functools import lru_cache


def partition_of(group_id: str, partition_count: int) -> int:
    """The absolute value of Java's hash of the text, modulo the number of partitions."""
    hashed = java_hash(group_id)
    return (0 if hashed == -(1 << 31) else abs(hashed)) % partition_count


@lru_cache(10_000)  # The same groups ask again and again.
def java_hash(text: str) -> int:
    """Java's String.hashCode: over UTF-16 units, in 32 bits, signed."""
    data = text.encode("utf-16-be", "surrogatepass")
    hashed = 0
    for at in range(0, len(data), 2):
        hashed = (31 * hashed + int.from_bytes(data[at : at + 2], "big")) & 0xFFFFFFFF
    return hashed - (1 << 32) if hashed >= 1 << 31 else hashed
