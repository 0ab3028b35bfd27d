"""A directory that times what makes bytes durable: for metrics."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from holdfast.io.clock import Clock
from holdfast.io.disk import RealDirectory, RealFile
from holdfast.measure import Histogram, RecentRounds, SyncRound
from holdfast.types import Buffer


class TimedDirectory(RealDirectory):
    """A directory of the operating system. How long each sync of a file's bytes took is added to `syncs`.

    With `rounds`, these hold the last of them, with the bytes that each made durable.
    """

    def __init__(self, path: str | Path, clock: Clock, syncs: Histogram, rounds: RecentRounds | None = None) -> None:
        super().__init__(path)
        self._clock = clock
        self._syncs = syncs
        self._rounds = rounds

    def open(self, name: str, *, create: bool = False, write: bool = True) -> RealFile:
        opened = super().open(name, create=create, write=write)
        descriptor = opened._descriptor  # It is the timed file's from now on.
        if self._rounds is None:
            return _TimedFile(descriptor, self._clock, self._syncs)
        return _WatchedFile(descriptor, self._clock, self._syncs, self._rounds)


class _TimedFile(RealFile):
    """One open file."""

    def __init__(self, descriptor: int, clock: Clock, syncs: Histogram) -> None:
        super().__init__(descriptor)
        self._clock = clock
        self._syncs = syncs

    def sync(self) -> None:
        began = self._clock.monotonic()
        super().sync()
        self._syncs.add(self._clock.monotonic() - began)


class _WatchedFile(_TimedFile):
    """One whose rounds are kept, too."""

    def __init__(self, descriptor: int, clock: Clock, syncs: Histogram, rounds: RecentRounds) -> None:
        super().__init__(descriptor, clock, syncs)
        self._rounds = rounds.rounds
        self._written = 0

    def write_at(self, position: int, buffers: Sequence[Buffer]) -> None:
        super().write_at(position, buffers)
        self._written += sum(map(len, buffers))

    def sync(self) -> None:
        began = self._clock.monotonic()
        super().sync()
        seconds = self._clock.monotonic() - began
        self._rounds.append(SyncRound(self._clock.now_ms(), seconds, self._written))
        self._written = 0
