"""A local store is recognised before each call: what is at its path is not always the store."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.io.objects import StoreFailed
from holdfast.io.objects.local.objects import LocalObjects
from holdfast.io.objects.names import CLUSTER

MOUNTED = "is its file system mounted"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def store(root: Path) -> LocalObjects:
    store = LocalObjects(root)
    store.put_if_absent(CLUSTER, [b"ours"])
    store.put("a/b", [b"x"])
    return store


def unmount(root: Path) -> Path:
    """What a mount point looks like when its file system has gone; where that is now."""
    kept = root.with_name("kept")
    root.rename(kept)
    root.mkdir()
    return kept


def mount(kept: Path, root: Path) -> None:
    root.rmdir()
    kept.rename(root)


def calls(store: LocalObjects) -> list[Callable[[], object]]:
    return [
        lambda: store.put_if_absent("a/c", [b"y"]),
        lambda: store.put("a/c", [b"y"]),
        lambda: store.put_if_absent(CLUSTER, [b"ours"]),
        lambda: store.get("a/b"),
        lambda: store.size("a/b"),
        lambda: store.delete("a/b"),
        lambda: list(store.list("")),
    ]


def test_a_bare_mount_point_is_not_the_store(store: LocalObjects, root: Path) -> None:
    """D7: nothing is written, found missing or called deleted in it; when the store is back, it is known again."""
    kept = unmount(root)
    for call in calls(store):
        with pytest.raises(StoreFailed, match=MOUNTED):
            call()
    assert os.listdir(root) == []
    mount(kept, root)
    store.put_if_absent("a/c", [b"y"])
    assert [each.name for each in store.list("")] == ["a/b", "a/c", CLUSTER]


def test_another_clusters_store_at_the_same_place_is_refused(store: LocalObjects, root: Path) -> None:
    """D7: as long as it runs, too; and the right one is taken again."""
    kept = unmount(root)
    LocalObjects(root).put_if_absent(CLUSTER, [b"theirs"])
    before = sorted(os.listdir(root))
    for call in calls(store):
        with pytest.raises(StoreFailed, match="another cluster's store"):
            call()
    assert sorted(os.listdir(root)) == before
    shutil.rmtree(root)
    kept.rename(root)
    assert store.get("a/b") == b"x"


def test_a_store_that_comes_back_on_another_device_is_known_by_its_cluster_file(
    store: LocalObjects, root: Path
) -> None:
    """D7: device and inode are the system's; folders are looked at again, since they may not be there."""
    kept = unmount(root)
    (root / CLUSTER).write_bytes((kept / CLUSTER).read_bytes())
    store.put_if_absent("a/c", [b"y"])
    assert (root / "a" / "c").read_bytes() == b"y"


def test_what_dead_writers_left_is_swept_when_a_store_comes_back(store: LocalObjects, root: Path) -> None:
    """D7, A3: as at an open."""
    kept = unmount(root)
    shutil.copytree(kept, root, dirs_exist_ok=True)
    left = root / ".unfinished" / "0123456789abcdef"
    left.write_bytes(b"half")
    assert store.get("a/b") == b"x"
    assert not left.exists()


def test_a_store_without_a_cluster_file_is_known_by_its_place(root: Path) -> None:
    """D7: from its first put on."""
    store = LocalObjects(root)
    store.put("a/b", [b"x"])
    kept = unmount(root)
    for call in calls(store):
        with pytest.raises(StoreFailed, match=MOUNTED):
            call()
    assert os.listdir(root) == []
    mount(kept, root)
    assert store.get("a/b") == b"x"


def test_a_known_store_that_is_absent_is_waited_for(store: LocalObjects, root: Path) -> None:
    """D7: neither its directory nor a new one in the bare mount point is made."""
    kept = unmount(root)
    root.rmdir()
    late = LocalObjects(root, may_be_absent=True)
    for call in calls(late):
        with pytest.raises(StoreFailed, match=MOUNTED):
            call()
    assert not root.exists()
    kept.rename(root)
    assert late.get("a/b") == b"x"


def test_a_cluster_file_that_is_written_anew_by_us_is_learned(store: LocalObjects) -> None:
    store.put(CLUSTER, [b"ours, in another form"])
    store.put("a/c", [b"y"])
    assert store.get(CLUSTER) == b"ours, in another form"
