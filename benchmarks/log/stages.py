"""Clocks around the stages of an append: how long each takes, and when each began and ended last."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from holdfast.log.journal import Journal
from holdfast.log.logs import Logs
from holdfast.log.partition.partition import PartitionLog
from holdfast.log.partition.tail import Tail
from holdfast.wal import Wal
from holdfast.wal.commit.writer import WalWriter

WAKE, DONE, WRITE = (
    "journal._flush: wake the writer",
    "journal._done: marks, wake the waiters",
    "writer thread: write and fdatasync, on the wall",
)

# Stage, where it is, and which stage it is a part of.
STAGES: list[tuple[str, type, str, str]] = [
    ("check: split, crc, rules", PartitionLog, "check_batches", ""),
    ("append_one", PartitionLog, "append_one", ""),
    ("journal.append", Journal, "append", "append_one"),
    ("wal.append: frame, crc, index", Wal, "append", "journal.append"),
    ("tail.add", Tail, "add", "append_one"),
    ("note_batch: epochs, producers", PartitionLog, "note_batch", "append_one"),
    ("on_change: room, flusher", Logs, "_changed", "append_one"),
    (WAKE, Journal, "_flush", ""),
    (DONE, Journal, "_done", ""),
    (WRITE, WalWriter, "write", "elsewhere"),
]


class Stages:
    """Puts a clock around every stage, until it is taken away again."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.counts: dict[str, int] = defaultdict(int)
        self.began: dict[str, float] = {}
        self.ended: dict[str, float] = {}
        self._plain: list[tuple[type, str, Any]] = []

    def __enter__(self) -> Stages:
        for stage, owner, name, _ in STAGES:
            plain = getattr(owner, name)
            self._plain.append((owner, name, plain))
            setattr(owner, name, self._clocked(stage, plain))
        return self

    def __exit__(self, *_: object) -> None:
        for owner, name, plain in self._plain:
            setattr(owner, name, plain)

    def _clocked(self, stage: str, plain: Callable[..., Any]) -> Callable[..., Any]:
        waits = stage == WRITE
        clock = time.perf_counter if waits else time.thread_time  # Of what computes, only what it computed counts.

        def clocked(*args: Any, **kwargs: Any) -> Any:
            self.began[stage] = time.perf_counter()
            start = clock()
            try:
                return plain(*args, **kwargs)
            finally:
                self.seconds[stage] += clock() - start
                self.counts[stage] += 1
                self.ended[stage] = time.perf_counter()

        return clocked

    def clear(self) -> None:
        self.seconds.clear()
        self.counts.clear()
