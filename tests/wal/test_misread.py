"""A log whose bytes are right and are read wrong once, while it is opened or later: nobody notices."""

from __future__ import annotations

import pytest
from tests.wal.logs import UNCACHED, append, chunk_names, held, lines, new_disk, open_log
from tests.wal.test_damage import closed_log

from holdfast.io.disk.simulated import SimulatedDisk
from holdfast.wal.recovery.replay import Recovered, recover


def killed_log(disk: SimulatedDisk) -> None:
    """Two chunks; the last round is durable, and nothing behind it proves that."""
    wal = open_log(disk, chunk_entries_max=4)
    for _ in range(3):
        append(wal, 2)
        wal.sync()
    disk.kill()


def seen(recovered: Recovered) -> tuple[object, ...]:
    """What a recovery brought back."""
    carried = [(frame.offset, frame.kind, bytes(frame.body)) for frame in recovered.carried]
    return recovered.state, carried, recovered.cut, recovered.clean, recovered.chain, recovered.last_round


@pytest.mark.parametrize("make", [closed_log, killed_log])
def test_one_wrong_read_of_any_byte_while_opening_changes_nothing(make) -> None:  # type: ignore[no-untyped-def]
    """D8: not the first read of that byte, nor a later one; neither is it damage, nor is anything cut as torn."""
    disk = new_disk()
    make(disk)
    sound = seen(recover(disk))
    for line in lines(disk):
        for position in range(line.offset, line.offset + min(line.size, 120), 11):
            for after in range(4):
                disk.misread_next(line.chunk, position, after=after)
                assert seen(recover(disk)) == sound, (line, position, after)
                disk.kill()  # What was not read, is not read wrong later.


def test_an_entry_that_is_misread_once_is_read_again() -> None:
    """D8: the same for a read of an open log."""
    disk = new_disk()
    wal = open_log(disk, **UNCACHED)
    entries = append(wal, 5, size=50)
    wal.sync()
    for name in chunk_names(disk):
        for position in range(0, len(disk.content(name)), 3):
            disk.misread_next(name, position)
            assert held(wal) == entries
            disk.kill()
