"""Figures about a log: what `open` found, and how it is now."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from holdfast.types import Position
from holdfast.units import counted
from holdfast.wal.recovery.replay import Recovered
from holdfast.wal.state import WalState


@dataclass(frozen=True, slots=True)
class OpenReport:
    """What opening the directory found."""

    clean: bool  # The log was closed before, or is new.
    cut: tuple[str, int] | None  # The file and the byte where a torn tail was cut.
    carried: int  # Records of the last round, which were written again, since nothing proved them durable.
    foreign: tuple[str, ...]  # Files that are none of ours.

    @classmethod
    def of(cls, recovered: Recovered) -> OpenReport:
        return cls(recovered.clean, recovered.cut, len(recovered.carried), tuple(recovered.chain.foreign))

    def log_to(self, log: logging.Logger, path: str) -> None:
        for name in self.foreign:
            log.warning("%s: ignored, %s is not a chunk of this log", path, name)
        if self.cut:
            log.warning("%s: torn tail cut, %s ends at byte %d", path, *self.cut)
        if not self.clean:
            carried = counted(self.carried, "record")
            log.warning("%s: the log was not closed; its last round (%s) was written again", path, carried)


@dataclass(frozen=True, slots=True)
class Stat:
    """The log as it is now."""

    chunks: int
    open_chunk: str
    open_chunk_size: int
    end: Position  # Behind the last record.
    durable: Position  # Behind the last durable record.
    on_disk_size: int
    queued_size: int
    sync_count: int
    cache_entries: int
    cache_size: int
    cache_hits: int
    cache_misses: int
    state: WalState
    chunk_starts: tuple[int, ...] = ()  # The first entry of each chunk.
