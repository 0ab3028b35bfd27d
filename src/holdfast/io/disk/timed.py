"""A directory that times what makes bytes durable: for metrics."""

from __future__ import annotations

from pathlib import Path

from holdfast.io.clock import Clock
from holdfast.io.disk import RealDirectory, RealFile
from holdfast.measure import Histogram


class TimedDirectory(RealDirectory):
    """A directory of the operating system. How long each sync of a file's bytes took is added to `syncs`."""

    def __init__(self, path: str | Path, clock: Clock, syncs: Histogram) -> None:
        super().__init__(path)
        self._clock = clock
        self._syncs = syncs

    def open(self, name: str, *, create: bool = False, write: bool = True) -> RealFile:
        opened = super().open(name, create=create, write=write)
        return _TimedFile(opened._descriptor, self._clock, self._syncs)  # The descriptor is this file's from now on.


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
