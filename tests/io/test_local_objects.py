"""An object store in a directory keeps the contract, and stays within its directory."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from tests.io.objects_contract import ObjectsContract, OpenStore

from holdfast.errors import Rejected
from holdfast.io.objects import StoreFailed
from holdfast.io.objects.local.objects import LocalObjects


class TestLocalObjects(ObjectsContract):
    @pytest.fixture
    def open_store(self, tmp_path: Path) -> OpenStore:
        return lambda: LocalObjects(tmp_path / "store")


@pytest.fixture
def store(tmp_path: Path) -> LocalObjects:
    return LocalObjects(tmp_path)


def test_what_is_not_an_object_is_not_listed(store: LocalObjects, tmp_path: Path) -> None:
    store.put("a/b", [b"x"])
    (tmp_path / "a" / ".hidden").touch()
    (tmp_path / ".trash").mkdir()
    (tmp_path / ".trash" / "c").touch()
    (tmp_path / os.fsdecode(b"not-utf-8-\xff")).touch()
    assert [info.name for info in store.list("")] == ["a/b"]


def test_symbolic_links_are_an_error(tmp_path: Path) -> None:
    """L3: a link leads out of the store, and to leave it out would hide objects: it is said."""
    (tmp_path / "outside").write_text("secret")
    store = LocalObjects(tmp_path / "store")
    (tmp_path / "store" / "link").symlink_to(tmp_path / "outside")
    with pytest.raises(StoreFailed):
        store.get("link")
    with pytest.raises(StoreFailed):
        list(store.list(""))


def test_a_listing_reads_only_the_folders_it_needs(
    store: LocalObjects, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ["a/1/x", "a/2/x", "a/2/y", "a/3/x", "b/1/x"]:
        store.put(name, [])
    read: list[str] = []
    scandir = os.scandir

    def spy(descriptor: int) -> object:
        read.append(os.path.relpath(os.readlink(f"/proc/self/fd/{descriptor}"), tmp_path))
        return scandir(descriptor)

    monkeypatch.setattr(os, "scandir", spy)
    assert [info.name for info in store.list("a/", after="a/2/x")] == ["a/2/y", "a/3/x"]
    assert read == ["a", "a/2", "a/3"]
    read.clear()
    assert [info.name for info in store.list("a/3")] == ["a/3/x"]
    assert read == ["a", "a/3"]
    read.clear()
    assert next(store.list("")).name == "a/1/x"
    assert read == [".", "a", "a/1"]


def test_an_object_deleted_during_a_listing_is_left_out(store: LocalObjects) -> None:
    for name in "abc":
        store.put(name, [])
    listing = store.list("")
    assert next(listing).name == "a"
    store.delete("b")
    assert [info.name for info in listing] == ["c"]


def test_a_store_that_has_gone_is_an_error(store: LocalObjects, tmp_path: Path) -> None:
    """L3: a disk that is not mounted any more is not an empty store, and no new one is begun in its place."""
    store.put("a/b", [b"x"])
    shutil.rmtree(tmp_path)
    for call in (
        lambda: store.get("a/b"),
        lambda: store.size("a/b"),
        lambda: list(store.list("")),
        lambda: list(store.list("a/")),
        lambda: store.put_if_absent("a/c", []),
        lambda: store.put("a/c", []),
    ):
        with pytest.raises(StoreFailed):
            call()
    assert not tmp_path.exists()


def test_a_folder_that_was_removed_is_made_again(store: LocalObjects, tmp_path: Path) -> None:
    """A3: the failure is a retryable one, and the retry succeeds."""
    store.put("a/b", [b"x"])
    shutil.rmtree(tmp_path / "a")
    with pytest.raises(StoreFailed):
        store.put("a/c", [b"y"])
    store.put("a/c", [b"y"])
    assert store.get("a/c") == b"y"


def test_what_is_not_a_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path, create in [("file", True), ("file", False), ("file/below", True), ("absent", False)]:
        with pytest.raises(Rejected, match="is not a directory"):
            LocalObjects(tmp_path / path, create=create)
    assert not (tmp_path / "absent").exists()


def test_a_relative_path_means_the_same_after_a_change_of_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    store = LocalObjects("deep/store")
    monkeypatch.chdir("/")
    store.put("a", [b"x"])
    assert (tmp_path / "deep" / "store" / "a").read_bytes() == b"x"
