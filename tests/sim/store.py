"""The object store as one process sees it: each change is a crash point, and a process that is gone changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from holdfast.io.chance import Chance
from holdfast.io.disk.simulated import PowerCut, SimulatedDisk
from holdfast.io.objects import ObjectInfo, Objects, StoreFailed
from holdfast.io.objects.faulty import WrongByte
from holdfast.types import Buffer


class ProcessObjects:
    """Counts its changes together with those of the disk, so that one number chooses among all crash points.

    A crash in a change comes before or after it took effect, as chance decides. Some changes fail although nothing
    crashed, again before or after they took effect. A store may deny all deletions, and one read may give a wrong byte.
    """

    def __init__(
        self,
        inner: Objects,
        disk: SimulatedDisk,
        chance: Chance,
        fault_share: float,
        *,
        denies: bool = False,
        misread_at: int = -1,
    ) -> None:
        self.url = inner.url
        self.is_alive = True
        self._inner = inner
        self._disk = disk
        self._chance = chance
        self._fault_share = fault_share
        self._denies = denies
        self._until_misread = misread_at

    def put_if_absent(self, name: str, data: Sequence[Buffer]) -> None:
        self._change("put", name, lambda: self._inner.put_if_absent(name, data))

    def put(self, name: str, data: Sequence[Buffer]) -> None:
        self._change("put", name, lambda: self._inner.put(name, data))

    def delete(self, name: str) -> None:
        if self._denies:
            raise StoreFailed("delete", name, "it is not allowed")
        self._change("delete", name, lambda: self._inner.delete(name))

    def get(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        self._check_alive()
        data = self._inner.get(name, start, end)
        self._until_misread -= 1
        if self._until_misread or not data:
            return data
        return WrongByte(int(self._chance.fraction() * len(data))).of(data)

    def list(self, prefix: str, after: str = "") -> Iterator[ObjectInfo]:
        self._check_alive()
        return self._inner.list(prefix, after)

    def size(self, name: str) -> int:
        self._check_alive()
        return self._inner.size(name)

    def _change(self, kind: str, name: str, change: Callable[[], None]) -> None:
        if not self.is_alive:
            raise PowerCut("a process that is gone tried to change the store")
        if self._crashes:
            if self._chance.fraction() < 0.5:
                change()
            self.is_alive = False
            raise PowerCut(f"in a {kind} of {name}")
        self._disk.calls += 1
        drawn = self._chance.fraction()
        if drawn < self._fault_share / 2:
            raise StoreFailed(kind, name, "a fault, before it took effect")
        change()
        if drawn < self._fault_share:
            raise StoreFailed(kind, name, "a fault, after it took effect")

    @property
    def _crashes(self) -> bool:
        return self._disk.crash_at is not None and self._disk.calls >= self._disk.crash_at

    def _check_alive(self) -> None:
        if not self.is_alive:
            raise PowerCut("a process that is gone tried to read the store")
