"""One writer per directory, and who it is."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from tests.wal.logs import append, held, new_disk, open_log

from holdfast.io.disk import Locked, RealDirectory
from holdfast.wal import LogId, Wal
from holdfast.wal.inspect import dump, verify

CHILD = """
    import sys
    from holdfast.io.disk import RealDirectory
    from holdfast.wal import LogId, Wal
    wal = Wal.open(RealDirectory(sys.argv[1]))
    wal.append(LogId(1, wal.state.next_index), [b"from the child"])
    wal.sync()
    print("open", flush=True)
    sys.stdin.read()
"""


def test_two_processes_on_one_directory(tmp_path: Path) -> None:
    """W1: the second is refused, the message names the first by its pid; after kill -9 the log opens at once.
    The test of W1."""
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(CHILD), str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdout is not None
    assert child.stdout.readline() == b"open\n"
    with pytest.raises(Locked, match=f"process {child.pid} \\(write-ahead log\\)") as refused:
        Wal.open(RealDirectory(tmp_path))
    assert refused.value.path == str(tmp_path)
    child.kill()
    child.communicate()
    with Wal.open(RealDirectory(tmp_path)) as wal:
        assert held(wal) == [(LogId(1, 0), b"from the child")]


def test_twice_in_one_process(tmp_path: Path) -> None:
    """W1: also our own second open is refused, and the first goes on."""
    with Wal.open(RealDirectory(tmp_path)) as wal:
        with pytest.raises(Locked, match=f"process {os.getpid()}"):
            Wal.open(RealDirectory(tmp_path))
        append(wal, 1)
        wal.sync()
    Wal.open(RealDirectory(tmp_path)).close()


def test_looking_takes_no_lock(tmp_path: Path) -> None:
    """W1, W9: dump and verify work beside the writer, and the writer beside them."""
    with Wal.open(RealDirectory(tmp_path)) as wal:
        append(wal, 3)
        wal.sync()
        assert verify(RealDirectory(tmp_path)).entries == 3
        assert len(list(dump(RealDirectory(tmp_path)))) >= 4
        append(wal, 1)
        wal.sync()


def test_a_refused_open_of_a_damaged_log_lets_the_directory_go() -> None:
    """W1, W7: whoever repairs it needs the lock."""
    disk = new_disk()
    wal = open_log(disk)
    append(wal, 3)
    wal.close()
    disk.damage(disk.names()[0], 30)
    for _ in range(2):
        with pytest.raises(Exception, match="damaged"):
            open_log(disk)
