"""A directory's lock is on the directory itself: what happens to the file LOCK lets nobody in."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from holdfast.io.disk import Locked, RealDirectory

HOLDER = """
    import sys
    from holdfast.io.disk import RealDirectory
    lock = RealDirectory(sys.argv[1]).lock("a child")
    print("held", flush=True)
    sys.stdin.read()
"""
OLD_RELEASE = """
    import fcntl, os, sys
    descriptor = os.open(sys.argv[1] + "/LOCK", os.O_RDWR | os.O_CREAT)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def child(script: str, directory: Path) -> Iterator[int]:
    words = [sys.executable, "-c", textwrap.dedent(script), str(directory)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"held\n"
            yield process.pid
        finally:
            process.kill()


def test_without_its_file_the_directory_is_still_held(tmp_path: Path) -> None:
    """W1: `rm LOCK` lets no second process in, and the holder is named all the same."""
    with child(HOLDER, tmp_path) as pid:
        (tmp_path / "LOCK").unlink()
        for _ in range(2):
            with pytest.raises(Locked) as refused:
                RealDirectory(tmp_path).lock("us")
            assert refused.value.holder == f"process {pid}"
    RealDirectory(tmp_path).lock("us").release()


def test_another_file_in_its_place_lets_nobody_in(tmp_path: Path) -> None:
    """W1: nor does a new LOCK, such as a copy of the directory brings along."""
    with child(HOLDER, tmp_path) as pid:
        (tmp_path / "LOCK").rename(tmp_path / "old")
        (tmp_path / "LOCK").touch()
        with pytest.raises(Locked, match=f"process {pid}"):
            RealDirectory(tmp_path).lock("us")


def test_a_release_that_knows_only_the_file_is_kept_out_and_keeps_out(tmp_path: Path) -> None:
    """W1: both locks are held, so that an old release beside a new one is refused, whoever came first."""
    with child(OLD_RELEASE, tmp_path) as pid, pytest.raises(Locked, match=f"process {pid}"):
        RealDirectory(tmp_path).lock("us")
    lock = RealDirectory(tmp_path).lock("us")
    descriptor = os.open(tmp_path / "LOCK", os.O_RDWR)
    with pytest.raises(BlockingIOError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(descriptor)
    lock.release()


def test_a_file_system_that_locks_no_directories_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """W1: then the file has to do, and a line says that it must stay."""
    flock = fcntl.flock

    def only_files(descriptor: int, operation: int) -> None:
        if os.path.isdir(f"/proc/self/fd/{descriptor}"):
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        flock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", only_files)
    lock = RealDirectory(tmp_path).lock("us")
    assert "cannot lock a directory" in caplog.text
    with pytest.raises(Locked, match=f"process {os.getpid()} \\(us\\)"):
        RealDirectory(tmp_path).lock("another")
    lock.release()


def test_a_directory_that_cannot_be_locked_for_another_reason_is_not_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """W1: an interrupted or failing lock is no lock."""

    def failing(descriptor: int, operation: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(fcntl, "flock", failing)
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        RealDirectory(tmp_path).lock("us")
