"""Ctrl-C anywhere: a change of the log happens whole or the log stops; either way nothing acknowledged is lost."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from types import FrameType

import pytest
from tests.wal.logs import Held, append, append_batch, append_run, held, new_disk, open_log, reopened

from holdfast.io.disk.simulated import SimulatedDisk
from holdfast.wal import LogId, Vote, Wal, WalFailed

CHANGES: dict[str, Callable[[Wal], object]] = {
    "append": lambda wal: append(wal, 1, epoch=2),
    "append that rolls over": lambda wal: append_batch(wal, 3, epoch=2, size=1000),
    "append of several frames": lambda wal: append_batch(wal, 12, epoch=2),
    "append of a run": lambda wal: append_run(wal, 3, epoch=2),
    "append of a run that rolls over": lambda wal: append_run(wal, 12, epoch=2, size=300),
    "truncate": lambda wal: wal.truncate(4),
    "purge": lambda wal: wal.purge(LogId(1, 5)),
    "commit": lambda wal: wal.commit(LogId(1, 5)),
    "vote": lambda wal: wal.save_vote(Vote(9, 9)),
    "user data": lambda wal: wal.save_user_data(b"data"),
}


class Interrupter:
    """Raises KeyboardInterrupt at the n-th call or return inside the log, like a signal that arrives just then."""

    def __init__(self, at: int) -> None:
        self.left = at
        self.fired = False

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        if "/wal/" not in frame.f_code.co_filename or "tests" in frame.f_code.co_filename:
            return
        if event == "c_call" or frame.f_code.co_name == "__exit__":
            return  # Signals are handled after a call, never just before one that the interpreter makes by itself.
        self.left -= 1
        if self.left == 0:
            sys.setprofile(None)
            self.fired = True
            raise KeyboardInterrupt


def interrupted(at: int, change: Callable[[], object]) -> bool:
    """Whether the change was interrupted; False when it has fewer calls than that."""
    interrupter = Interrupter(at)
    sys.setprofile(interrupter)
    try:
        change()
    except KeyboardInterrupt:
        pass
    finally:
        sys.setprofile(None)
    return interrupter.fired


def prepared() -> tuple[SimulatedDisk, Wal, Held]:
    disk = new_disk()
    wal = open_log(disk, chunk_entries_max=8)
    entries = append(wal, 10, size=100)
    wal.flush()
    return disk, wal, entries


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_interrupted_anywhere(name: str) -> None:
    """W4, W10: either the log still works and is what it says, or it has stopped; a reopen finds it sound."""
    at = 1
    while True:
        disk, wal, entries = prepared()
        if not interrupted(at, lambda wal=wal: CHANGES[name](wal)):
            break
        try:
            more = append(wal, 1, epoch=3)
            wal.flush()
        except WalFailed:
            found = held(reopened(disk))
            assert found == entries, f"interrupted at call {at}"
        else:
            wal.mark()
            assert held(wal)[-1:] == more
            before = held(wal)
            assert held(reopened(disk)) == before, f"interrupted at call {at}"
        at += 1
    assert at > 5


def test_a_sync_interrupted_anywhere() -> None:
    """W4, W10: an interrupted sync leaves no lock held, tells everybody who waits, and loses nothing it told."""
    at = 1
    while True:
        disk, wal, entries = prepared()
        more = append(wal, 3, epoch=2)
        told: list[Exception | None] = []
        wal._rounds.pending()[-1].when_done(told.append)
        if not interrupted(at, wal.sync):
            break
        with contextlib.suppress(WalFailed):
            wal.sync()
        assert len(told) == 1, f"interrupted at call {at}"
        found = held(reopened(disk))
        assert found[:10] == entries
        if told == [None]:
            assert found == entries + more, f"interrupted at call {at}: an acknowledged entry was lost"
        at += 1
    assert at > 20


def test_an_interrupted_change_is_told_to_those_who_wait() -> None:
    """W4: whoever waits for what was queued before the interrupt gets the error, not silence."""
    at = 1
    while True:
        _, wal, _ = prepared()
        append(wal, 1)
        told: list[Exception | None] = []
        wal._rounds.pending()[-1].when_done(told.append)
        if not interrupted(at, lambda wal=wal: wal.save_vote(Vote(9, 9))):
            break
        with contextlib.suppress(WalFailed):
            wal.sync()
        assert len(told) == 1, f"interrupted at call {at}"
        at += 1
    assert at > 5
