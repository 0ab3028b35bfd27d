"""`holdfast serve` with a disk, a store and a clock that fail when the test says so.

    TORTURE_CONTROLS=FILE python tests/torture/faulty_serve.py serve --data DIR

The command itself is the real one: only what it opens is wrapped, each wrapper being an implementation of an interface
of `holdfast.io`.
"""

from __future__ import annotations

import errno
import os
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))  # The checkout: this is a process of its own.

from tests.torture.controls import Controls

from holdfast.io import versions

if "TORTURE_GRACE_S" in os.environ:  # Before the others are loaded: so soon old versions of manifests may be deleted.
    versions.GRACE_S = float(os.environ["TORTURE_GRACE_S"])

from holdfast.broker import running
from holdfast.cli.main import main
from holdfast.io import disk
from holdfast.io.chance import SystemChance
from holdfast.io.clock import SystemClock
from holdfast.io.objects import Objects
from holdfast.io.objects import open as open_objects
from holdfast.io.objects.faulty import (
    Call,
    Delay,
    FailAfter,
    FailBefore,
    FailEarly,
    Fault,
    FaultyObjects,
    WrongByte,
)
from holdfast.types import Buffer

_ARRIVE_EVERY_S = 0.3
_LOOK_S = 0.02
_WRONG_AT = (-1, 0, 40, 90)  # Of an answer: in its last bytes, its first, and in between.


class FaultyFile(disk.RealFile):
    """A file whose fsyncs are slow or fail, and whose disk may be full."""

    def __init__(self, descriptor: int, controls: Controls) -> None:
        super().__init__(descriptor)
        self._controls = controls

    def write_at(self, position: int, buffers: Sequence[Buffer]) -> None:
        if self._controls["no_space"]:
            super().write_at(position, buffers[:1])  # As a disk does that becomes full in the middle of it.
            raise OSError(errno.ENOSPC, "the test says that the disk is full")
        super().write_at(position, buffers)

    def allocate(self, size: int) -> None:
        if self._controls["no_space"]:
            raise OSError(errno.ENOSPC, "the test says that the disk is full")
        super().allocate(size)

    def sync(self) -> None:
        time.sleep(self._controls["sync_delay_ms"] / 1000)
        if self._controls["sync_fails"]:
            self._controls.quiet("sync_fails")
            raise OSError(errno.EIO, "the test says that this fsync has failed")
        super().sync()


class FaultyDirectory(disk.RealDirectory):
    """A directory of such files."""

    controls: Controls

    def open(self, name: str, *, create: bool = False, write: bool = True) -> disk.RealFile:
        opened = super().open(name, create=create, write=write)
        return FaultyFile(opened._descriptor, self.controls)  # The descriptor is that file's from now on.

    def free_size(self) -> int:
        told = int(self.controls["free_size"])
        return super().free_size() if told < 0 else min(told, super().free_size())


class JumpingClock(SystemClock):
    """A clock that somebody sets, forward and back; the one of intervals has stood still while the machine slept."""

    def __init__(self, controls: Controls) -> None:
        self._controls = controls
        self._last = 0.0

    def now_ms(self) -> int:
        return super().now_ms() + int(self._controls["clock_jump_ms"])

    def monotonic(self) -> float:
        self._last = max(self._last, super().monotonic() - self._controls["slept_s"])
        return self._last


class StorePlan:
    """What happens to each call to the store, by chance and by the controls."""

    def __init__(self, controls: Controls) -> None:
        self._controls = controls
        self._chance = SystemChance()

    def __call__(self, call: Call) -> Fault | None:
        drawn = self._chance.fraction()
        for name, fault in (("store_before", FailBefore()), ("store_after", FailAfter()), ("store_early", FailEarly())):
            drawn -= self._controls[name]
            if drawn < 0:
                return fault
        if self._controls["store_denies"] and call.kind == "delete":
            return FailBefore()
        if self._controls["store_errs"] and call.kind == "get":
            self._controls.quiet("store_errs")
            return WrongByte(_WRONG_AT[self._chance.bits(2)])
        delay_ms = self._controls["store_delay_ms"]
        if self._controls["store_hangs"]:
            return Delay(self._hang)
        return Delay(lambda: time.sleep(delay_ms / 1000)) if delay_ms else None

    def _hang(self) -> None:
        while self._controls["store_hangs"]:
            time.sleep(_LOOK_S)


def wrap(controls: Controls) -> None:
    """Put the wrappers where `serve` looks for the real things."""
    open_real = open_objects.open_objects

    def open_faulty(url: str, options: Any = None, **more: Any) -> Objects:
        objects = FaultyObjects(open_real(url, options, **more), StorePlan(controls))
        threading.Thread(target=_let_arrive, args=(objects,), daemon=True).start()
        return objects

    FaultyDirectory.controls = controls
    disk.RealDirectory = FaultyDirectory  # type: ignore[misc]
    open_objects.open_objects = open_faulty
    running.SystemClock = lambda: JumpingClock(controls)  # type: ignore[assignment,misc]


def _let_arrive(objects: FaultyObjects) -> None:
    """Requests whose callers have given up reach the store later: an old one may land behind a newer one."""
    while True:
        time.sleep(_ARRIVE_EVERY_S)
        objects.arrive()


if __name__ == "__main__":
    wrap(Controls(Path(os.environ["TORTURE_CONTROLS"])))
    sys.argv[0] = "holdfast"
    main()
