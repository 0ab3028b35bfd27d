"""A pipeline in a process of its own that is killed at a chosen call that writes a file, a database or a table.

Tasks run in that process, too, in the place of Spark: so a kill costs no JVM, and there can be many.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

JOB_SECONDS_MAX = 300
_FILES = {"link", "rename", "replace", "unlink", "remove", "mkdir", "rmdir", "fsync", "fdatasync", "write", "writev"}
_TABLES = {"execute", "commit", "create_write_transaction", "create_table_with_add_actions"}
_CALLS = frozenset(_FILES | _TABLES)  # All that others see something of.


class Here:
    """What a job asks of a session: tasks run one after the other, here and now."""

    defaultParallelism = 2  # noqa: N815

    def __init__(self, units: Iterable[Any] = ()) -> None:
        self._units = units
        self.value: Any = None

    @property
    def sparkContext(self) -> Here:  # noqa: N802
        return self

    def accumulator(self, value: Any, _: Any) -> Here:
        made = Here()
        made.value = value
        return made

    def add(self, more: tuple[int, ...]) -> None:
        self.value = tuple(a + b for a, b in zip(self.value, more, strict=True))

    def parallelize(self, units: Iterable[Any], _: int) -> Here:
        return Here(units)

    def mapPartitions(self, work: Callable[[Iterator[Any]], Iterator[Any]]) -> Here:  # noqa: N802
        return Here(result for unit in self._units for result in work(iter([unit])))

    def collect(self) -> list[Any]:
        return list(self._units)


def killed(job: Callable[..., None], *given: Any, at: int | None) -> tuple[bool, int]:
    """Run a job until its call number `at` begins; whether it was killed there, and how many calls it made if not."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([job.__module__])
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(job, given, at, theirs))
    process.start()
    theirs.close()
    process.join(JOB_SECONDS_MAX)
    try:
        if process.exitcode == -signal.SIGKILL and at is not None:
            return True, 0
        assert process.exitcode == 0, process.exitcode
        return False, ours.recv()
    finally:
        if process.is_alive():
            process.kill()
        ours.close()


def _run(job: Callable[..., None], given: tuple[Any, ...], at: int | None, tell: Any) -> None:
    count = 0

    def watch(_: Any, event: str, function: Any) -> None:
        nonlocal count
        if event == "c_call" and function.__name__ in _CALLS:
            if count == at:
                os.kill(os.getpid(), signal.SIGKILL)
            count += 1

    sys.setprofile(watch)
    job(*given)
    sys.setprofile(None)
    tell.send(count)
