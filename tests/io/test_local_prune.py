"""Folders of deleted topics go from a local store; those that anybody may still use stay."""

from __future__ import annotations

import os
from pathlib import Path
from uuid import UUID

import pytest

from holdfast.io.objects.local.objects import LocalObjects
from holdfast.segment.garbage import collect_topic
from holdfast.types import PartitionId

GONE, STAYS = UUID(int=0xA), UUID(int=0xB)


def folders(path: Path) -> set[str]:
    return {str(Path(found).relative_to(path)) for found, _, _ in os.walk(path)} - {".", ".unfinished"}


def put(store: LocalObjects, home: PartitionId, count: int = 2) -> None:
    for number in range(count):
        store.put_if_absent(f"{home.manifests}{number:020}.json", [b"m"])
        store.put_if_absent(f"{home.segments}{number:020}.seg", [b"s"])


def below(topic_id: UUID, partitions: int, kinds: tuple[str, ...] = ("manifests", "segments")) -> set[str]:
    found = set()
    for kind in kinds:
        found |= {f"{kind}/{topic_id.hex}", *(f"{kind}/{topic_id.hex}/{number}" for number in range(partitions))}
    return found


def test_a_deleted_topic_leaves_no_folder(tmp_path: Path) -> None:
    """D5: also where the segments of a partition had gone before; other topics keep theirs."""
    store = LocalObjects(tmp_path)
    for number in range(3):
        put(store, PartitionId(GONE, number))
        put(store, PartitionId(STAYS, number))
    for number in range(2):
        store.delete(f"{PartitionId(GONE, 1).segments}{number:020}.seg")
    assert below(GONE, 3) <= folders(tmp_path)
    assert collect_topic(store, GONE) == 10
    assert folders(tmp_path) == {"manifests", "segments", *below(STAYS, 3)}
    assert collect_topic(store, STAYS) == 12
    assert folders(tmp_path) == {"manifests", "segments"}


def test_a_living_partition_keeps_its_folders(tmp_path: Path) -> None:
    """D5: without segments for a while, and with other objects deleted: whoever puts the next one finds its place."""
    store = LocalObjects(tmp_path)
    home = PartitionId(STAYS, 0)
    put(store, home)
    for number in range(2):
        store.delete(f"{home.segments}{number:020}.seg")
    store.delete(f"{home.manifests}{0:020}.json")
    store.put("garbage/now", [b""])
    store.delete("garbage/now")
    assert folders(tmp_path) == {"manifests", "segments", "garbage", *below(STAYS, 1)}
    store.put_if_absent(f"{home.segments}later.seg", [b"s"])
    assert store.get(f"{home.segments}later.seg") == b"s"


@pytest.mark.parametrize("other", [False, True], ids=["same", "other"])
def test_a_put_after_a_folder_has_gone_makes_it_again(tmp_path: Path, other: bool) -> None:
    """D5: from the same process and from another one, which knows the folder from before."""
    store, late = LocalObjects(tmp_path), LocalObjects(tmp_path)
    home = PartitionId(GONE, 0)
    put(late if other else store, home)
    collect_topic(store, GONE)
    name = f"{home.manifests}9.json"
    writer = late if other else store
    try:
        writer.put_if_absent(name, [b"m"])
    except Exception:
        assert other, "The process that removed the folder knows that it did."
        writer.put_if_absent(name, [b"m"])  # It has looked again.
    assert store.get(name) == b"m"


def test_one_object_that_cannot_be_deleted_keeps_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """D5: it is said, the rest goes, and with it the folders in which nothing is left."""
    store = LocalObjects(tmp_path)
    for number in range(2):
        put(store, PartitionId(GONE, number))
    locked = f"{PartitionId(GONE, 0).segments}{0:020}.seg"
    unlink = os.unlink

    def denied(path: str, **options: int) -> None:
        if str(path).endswith(locked):
            raise PermissionError(1, "Operation not permitted")
        unlink(path, **options)

    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", denied)
        with pytest.raises(Exception, match="not permitted"):
            collect_topic(store, GONE)
    assert [each.name for each in store.list("")] == [locked]
    assert folders(tmp_path) == {"manifests", "segments", f"segments/{GONE.hex}", f"segments/{GONE.hex}/0"}
    assert collect_topic(store, GONE) == 1
    assert folders(tmp_path) == {"manifests", "segments"}
