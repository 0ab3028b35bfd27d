"""A local store after crashes and disk faults: a put that returned is durable, and nothing else is claimed."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from holdfast.io.objects import NotFound, StoreFailed
from holdfast.io.objects.local import files as local_files
from holdfast.io.objects.local.objects import LocalObjects

WRITER = """
import sys
from holdfast.io.objects.local.objects import LocalObjects
store = LocalObjects(sys.argv[1])
for number in range(10_000):
    store.put_if_absent(f"folder-{number % 3}/{number}", [str(number).encode() * 20_000])
    print(number, flush=True)
"""


@pytest.fixture
def store(tmp_path: Path) -> LocalObjects:
    return LocalObjects(tmp_path)


def unfinished(root: Path) -> list[str]:
    folder = root / local_files.UNFINISHED
    return os.listdir(folder) if folder.exists() else []


def failing(real: Callable[..., Any], code: int, calls: set[int]) -> Callable[..., Any]:
    """The same function, but the calls with these numbers (from 0) fail."""
    made = iter(range(1_000_000))

    def fail(*args: Any, **options: Any) -> Any:
        if next(made) in calls:
            raise OSError(code, os.strerror(code))
        return real(*args, **options)

    return fail


def test_the_order_of_syncs(store: LocalObjects, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A3: bytes are durable before they have a name, and every new name on the way before the put returns."""
    done: list[str] = []

    def spy(name: str, real: Callable[..., Any], path_of: Callable[..., str]) -> None:
        def call(*args: Any, **options: Any) -> None:
            done.append(f"{name} {path_of(*args)}")
            real(*args, **options)

        monkeypatch.setattr(os, name, call)

    def path_of_descriptor(descriptor: int) -> str:
        return os.path.relpath(os.readlink(f"/proc/self/fd/{descriptor}"), tmp_path)

    spy("fsync", os.fsync, path_of_descriptor)
    spy("link", os.link, lambda source, target: target)
    spy("rename", os.rename, lambda source, target: target)
    store.put_if_absent("a/b/c", [b"x"])
    assert done[0].startswith("fsync .unfinished/")
    assert done[1:] == ["fsync .", "fsync a", "link a/b/c", "fsync a/b"]
    done.clear()
    store.put("a/b/c", [b"y"])
    assert done[0].startswith("fsync .unfinished/")
    assert done[1:] == ["rename a/b/c", "fsync a/b"]


@pytest.mark.parametrize("failed", range(4))
def test_a_failed_fsync_leaves_no_object(
    store: LocalObjects, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failed: int
) -> None:
    """A3: whichever sync fails, of the bytes or of a name, there is no object, and the retry stores it."""
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", failing(os.fsync, errno.EIO, {failed}))
        with pytest.raises(StoreFailed) as caught:
            store.put_if_absent("a/b/c", [b"x"])
    assert isinstance(caught.value.cause, OSError)
    assert list(store.list("")) == []
    assert unfinished(tmp_path) == []
    store.put_if_absent("a/b/c", [b"x"])
    assert store.get("a/b/c") == b"x"


def test_a_name_in_doubt_stops_the_store(store: LocalObjects, monkeypatch: pytest.MonkeyPatch) -> None:
    """A3: a name neither durable nor removable would be read as success after the failure; the store stops instead."""
    store.put("there", [b"x"])
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", failing(os.fsync, errno.EIO, {1}))
        patch.setattr(os, "unlink", failing(os.unlink, errno.EROFS, {0}))
        with pytest.raises(StoreFailed):
            store.put_if_absent("doubtful", [b"x"])
    for call in (
        lambda: store.get("doubtful"),
        lambda: store.size("there"),
        lambda: list(store.list("")),
        lambda: store.put("other", []),
        lambda: store.put_if_absent("other", []),
        lambda: store.delete("doubtful"),
    ):
        with pytest.raises(StoreFailed, match="reopen the store"):
            call()


def test_a_full_disk_is_a_retryable_failure(
    store: LocalObjects, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """O3: no space is said as such, what was written of the object is given back, and the retry stores it."""
    store.put("replaced", [b"old"])
    for put in (store.put_if_absent, store.put):
        with monkeypatch.context() as patch:
            patch.setattr(os, "pwritev", failing(os.pwritev, errno.ENOSPC, {0}))
            with pytest.raises(StoreFailed) as caught:
                put("replaced" if put == store.put else "new", [b"x", b"y"])
        assert isinstance(caught.value.cause, OSError)
        assert caught.value.cause.errno == errno.ENOSPC
        assert unfinished(tmp_path) == []
    with pytest.raises(NotFound):
        store.get("new")
    assert store.get("replaced") == b"old"
    store.put_if_absent("new", [b"x", b"y"])


def test_short_writes_are_completed(store: LocalObjects, monkeypatch: pytest.MonkeyPatch) -> None:
    pwritev, pwrite = os.pwritev, os.pwrite
    monkeypatch.setattr(os, "pwritev", lambda descriptor, data, at: pwritev(descriptor, [data[0][:3]], at))
    monkeypatch.setattr(os, "pwrite", lambda descriptor, data, at: pwrite(descriptor, data[:2], at))
    store.put("a", [b"0123456", b"789"])
    assert store.get("a") == b"0123456789"


def test_a_killed_writer(tmp_path: Path) -> None:
    """A3: after kill -9 all that was acknowledged is there, all that is there is whole, and the rest is swept away."""
    for rounds in (1, 7, 30):
        root = tmp_path / str(rounds)
        writer = subprocess.Popen([sys.executable, "-c", WRITER, root], stdout=subprocess.PIPE, text=True)
        assert writer.stdout is not None
        for _ in range(rounds):
            writer.stdout.readline()
        writer.send_signal(signal.SIGKILL)
        acknowledged = rounds + len(writer.stdout.read().splitlines())
        writer.wait()
        store = LocalObjects(root)
        assert unfinished(root) == []
        found = {int(info.name.split("/")[1]): info.name for info in store.list("")}
        assert set(range(acknowledged)) <= set(found) <= set(range(acknowledged + 1))
        for number, name in found.items():
            assert store.get(name) == str(number).encode() * 20_000


def test_the_files_of_a_living_writer_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A3: opening the store in another process does not disturb a put that is under way; nobody sees it yet."""
    store = LocalObjects(tmp_path)
    reached, go_on = threading.Event(), threading.Event()
    fsync = os.fsync

    def held(descriptor: int) -> None:
        reached.set()
        assert go_on.wait(timeout=30)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", held)
    writer = threading.Thread(target=store.put_if_absent, args=("a", [b"x"]))
    writer.start()
    try:
        assert reached.wait(timeout=30)
        opening = "import sys; from holdfast.io.objects.local.objects import LocalObjects as Store; "
        listing = opening + "print(list(Store(sys.argv[1]).list('')))"
        listed = subprocess.check_output([sys.executable, "-c", listing, tmp_path], text=True)
        assert listed.strip() == "[]"
        assert list(LocalObjects(tmp_path).list("")) == []
        assert len(unfinished(tmp_path)) == 1
    finally:
        go_on.set()
        writer.join()
    assert store.get("a") == b"x"
    assert unfinished(tmp_path) == []


class TestDeadBetweenNameAndSync:
    """A writer died after its object got a name and before that name was durable."""

    @pytest.fixture
    def leftover(self, store: LocalObjects, tmp_path: Path) -> Path:
        store.put_if_absent("a", [b"x"])
        leftover = tmp_path / local_files.UNFINISHED / "0123456789abcdef"
        os.link(tmp_path / "a", leftover)
        return leftover

    def test_the_object_stays_and_the_leftover_goes(self, tmp_path: Path, leftover: Path) -> None:
        """A3: what a reader will find after the open is durable, and nothing is left of the writer."""
        assert LocalObjects(tmp_path).get("a") == b"x"
        assert not leftover.exists()

    def test_the_store_opens_only_when_the_name_is_durable(
        self, tmp_path: Path, leftover: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A3: a name that may go with the next power cut is shown to nobody."""
        with monkeypatch.context() as patch:
            patch.setattr(local_files.ctypes, "CDLL", lambda *_, **__: SimpleNamespace(syncfs=lambda descriptor: -1))
            patch.setattr(local_files.ctypes, "get_errno", lambda: errno.EIO)
            with pytest.raises(StoreFailed):
                LocalObjects(tmp_path)
        assert leftover.exists()
        LocalObjects(tmp_path)
        assert not leftover.exists()
