"""Puts on a full disk with a reserve: small ones are served by it, large ones leave it alone."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from pathlib import Path

import pytest

from holdfast.io.objects import ObjectInfo, StoreFailed
from holdfast.io.objects.local.objects import LocalObjects
from holdfast.io.objects.memory import MemoryObjects
from holdfast.io.objects.reserved import SMALL, ReservedObjects
from holdfast.types import Buffer


class Disk:
    """A disk whose reserve is held, or was given up and has so many bytes left."""

    def __init__(self, path: Path, left: int | None = None) -> None:
        self.path = str(path)
        self.left = left
        self.asked = 0

    def make_room_for_store(self) -> bool:
        self.asked += 1
        self.left = 4 * SMALL
        return True

    def may_take(self, size: int) -> bool:
        return self.left is None or self.left - size >= 2 * SMALL


class Full:
    """A store that finds no space until the reserve is given up."""

    def __init__(self, disk: Disk) -> None:
        self.inner = MemoryObjects()
        self.url = self.inner.url
        self._disk = disk

    def put_if_absent(self, name: str, data: Sequence[Buffer]) -> None:
        self._check(name)
        self.inner.put_if_absent(name, data)

    def put(self, name: str, data: Sequence[Buffer]) -> None:
        self._check(name)
        self.inner.put(name, data)

    def _check(self, name: str) -> None:
        if self._disk.left is None:
            raise StoreFailed("put", name, OSError(errno.ENOSPC, "full"))

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)


@pytest.mark.parametrize("call", ["put", "put_if_absent"])
def test_a_small_put_uses_the_reserve(tmp_path: Path, call: str) -> None:
    """O3: it is made once more; a large one is not, and leaves the reserve where it is."""
    disk = Disk(tmp_path)
    store = ReservedObjects(Full(disk), disk)  # type: ignore[arg-type]
    with pytest.raises(StoreFailed, match="full"):
        getattr(store, call)("large", [bytes(SMALL + 1)])
    assert disk.asked == 0
    getattr(store, call)("small", [bytes(SMALL)])
    assert disk.asked == 1
    assert store.size("small") == SMALL


def test_a_large_put_leaves_what_the_way_back_needs(tmp_path: Path) -> None:
    """O3: not even for the time until it fails, where the store lies on that disk; elsewhere it may."""
    disk = Disk(tmp_path, left=3 * SMALL)
    here = ReservedObjects(LocalObjects(tmp_path / "store"), disk)
    with pytest.raises(StoreFailed, match="way back"):
        here.put_if_absent("large", [bytes(SMALL + 1)])
    here.put_if_absent("small", [b"x"])
    assert [each.name for each in here.list("")] == ["small"]
    elsewhere = ReservedObjects(MemoryObjects(), disk)
    elsewhere.put_if_absent("large", [bytes(SMALL + 1)])
    found: ObjectInfo = next(iter(elsewhere.list("")))
    assert found.size == SMALL + 1
