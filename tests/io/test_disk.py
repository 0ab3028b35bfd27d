"""The real disk: files, names, and the lock."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from holdfast.errors import Rejected
from holdfast.io.disk import Locked, RealDirectory


@contextmanager
def files_limited_to(size: int) -> Iterator[None]:
    """Until the end no file of this process may grow beyond `size` bytes: the operating system itself refuses."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_what_is_written_is_read(tmp_path: Path) -> None:
    """W10: buffers of all kinds, more of them than one system call takes, land one after the other."""
    file = RealDirectory(tmp_path).open("a", create=True)
    buffers = [b"%d," % number for number in range(3000)]
    file.write_at(5, [*buffers, bytearray(b"end"), memoryview(b"of it")])
    expected = b"".join(buffers) + b"endof it"
    assert file.size() == 5 + len(expected)
    assert file.read_at(5, len(expected)) == expected
    assert file.read_at(0, 5) == bytes(5)
    file.sync()
    file.close()
    file.close()


def test_reading_stops_at_the_end(tmp_path: Path) -> None:
    """W7: fewer bytes come back only at the end of the file."""
    file = RealDirectory(tmp_path).open("a", create=True)
    file.write_at(0, [b"0123456789"])
    assert file.read_at(6, 100) == b"6789"
    assert file.read_at(10, 1) == file.read_at(1000, 1) == b""


def test_a_file_can_be_cut_and_extended(tmp_path: Path) -> None:
    """W5: with zeros."""
    file = RealDirectory(tmp_path).open("a", create=True)
    file.write_at(0, [b"0123456789"])
    file.truncate(3)
    file.truncate(5)
    assert file.read_at(0, 10) == b"012\0\0"


@pytest.mark.parametrize("count", [1, 3])
def test_a_short_write_is_carried_on_and_a_refused_one_raises(tmp_path: Path, count: int) -> None:
    """W4: the system writes what fits and then refuses; that is an error, not a success."""
    file = RealDirectory(tmp_path).open("a", create=True)
    with files_limited_to(4096):
        file.write_at(0, [b"x" * (4096 // count)] * count)
        with pytest.raises(OSError, match=os.strerror(errno.EFBIG)):
            file.write_at(2048, [b"y" * (4096 // count)] * count)
    assert file.read_at(2048, 4096).strip(b"xy") == b""


def test_create_refuses_what_is_there(tmp_path: Path) -> None:
    """W5: a chunk never overwrites another file."""
    directory = RealDirectory(tmp_path)
    directory.open("a", create=True).close()
    with pytest.raises(FileExistsError):
        directory.open("a", create=True)
    with pytest.raises(FileNotFoundError):
        directory.open("b")


def test_a_file_opened_for_reading_cannot_be_written(tmp_path: Path) -> None:
    """W9: whoever only looks changes nothing."""
    directory = RealDirectory(tmp_path)
    directory.open("a", create=True).close()
    with pytest.raises(OSError, match=os.strerror(errno.EBADF)):
        directory.open("a", write=False).write_at(0, [b"x"])


def test_names(tmp_path: Path) -> None:
    """W6: files only, sorted; renamed and removed ones are gone."""
    directory = RealDirectory(tmp_path)
    for name in ("c", "a", "b"):
        directory.open(name, create=True).close()
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("a")
    assert directory.names() == ["a", "b", "c"]
    directory.rename("a", "d")
    directory.remove("b")
    directory.sync_names()
    assert directory.names() == ["c", "d"]


def test_a_directory_is_made_with_all_above_it_and_their_names_are_durable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """W10: a file is only as durable as the names on its path."""
    synced: list[str] = []
    fsync = os.fsync

    def watched(descriptor: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", watched)
    RealDirectory(tmp_path / "a" / "b" / "c")
    assert synced == [str(tmp_path), str(tmp_path / "a"), str(tmp_path / "a" / "b")]
    RealDirectory(tmp_path / "a" / "b" / "c")
    assert len(synced) == 3


def test_a_directory_that_is_none(tmp_path: Path) -> None:
    """W1: a missing directory is made only on demand, and a file is no directory."""
    with pytest.raises(Rejected):
        RealDirectory(tmp_path / "a", create=False)
    (tmp_path / "a").write_text("")
    with pytest.raises(Rejected, match="is not a directory"):
        RealDirectory(tmp_path / "a")


def test_the_lock_names_its_holder_and_goes_with_it(tmp_path: Path) -> None:
    """W1: a second one in the same process is refused like any other; after the release it is free."""
    directory = RealDirectory(tmp_path)
    lock = directory.lock("a test")
    with pytest.raises(Locked) as refused:
        directory.lock("another")
    assert refused.value.holder == f"process {os.getpid()} (a test)"
    assert refused.value.path == str(tmp_path)
    lock.release()
    lock.release()
    directory.lock("another").release()


def test_the_lock_of_another_process_that_is_killed(tmp_path: Path) -> None:
    """W1: a real child holds the lock; the message names its pid; killed, it holds nothing."""
    script = """
        import sys
        from holdfast.io.disk import RealDirectory
        lock = RealDirectory(sys.argv[1]).lock("a child")
        print("held", flush=True)
        sys.stdin.read()
    """
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script), str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == b"held\n"
    directory = RealDirectory(tmp_path)
    with pytest.raises(Locked, match=f"process {child.pid} \\(a child\\)"):
        directory.lock("us")
    child.kill()
    child.communicate()
    directory.lock("us").release()


def test_a_lock_without_a_readable_holder(tmp_path: Path) -> None:
    """W1: the lock counts, not what the file says."""
    directory = RealDirectory(tmp_path)
    lock = directory.lock("a test")
    (tmp_path / "LOCK").write_text("not json")
    with pytest.raises(Locked, match=f"process {os.getpid()}:"):  # Then the kernel is asked.
        directory.lock("another")
    lock.release()
