"""The words. One word is one thing; a type keeps two of them from being mixed up."""

from __future__ import annotations

from typing import NamedTuple, NewType, TypeAlias

Offset = NewType("Offset", int)  # A record's place in one partition; never bytes.
Position = NewType("Position", int)  # A byte's place in the write-ahead log; never records.
Epoch = NewType("Epoch", int)  # Who writes: a higher one fences a lower one.

Buffer: TypeAlias = bytes | bytearray | memoryview  # Bytes that nobody will change any more.


class TopicPartition(NamedTuple):
    """One partition of a topic."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"
