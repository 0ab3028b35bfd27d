"""Backups of a store that has the write-ahead log in it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.log.log_world import HOME, LogWorld, batch, fill, in_loop, numbered, read_all, turns
from tests.rounds.test_store_log import STORE, a_world

from holdfast.io.objects import ObjectInfo, Objects
from holdfast.io.objects.memory import MemoryBucket, MemoryObjects
from holdfast.log.errors import LogInStore
from holdfast.log.rounds.series import GRACE_S
from holdfast.operate.backup.store import StoreCopy
from holdfast.wal import WalSettings


class Backup:
    """A place that a store is copied to, again and again."""

    def __init__(self) -> None:
        self.objects = MemoryObjects(MemoryBucket())
        self._written: frozenset[str] = frozenset()

    def copy(self, source: Objects) -> None:
        made = StoreCopy(source, self.objects, self._written)
        made.run()
        self._written = made.written

    def names(self) -> list[str]:
        return [each.name for each in self.objects.list("wal/")]


def restored(backup: Backup) -> LogWorld:
    world = a_world()
    StoreCopy(backup.objects, world.objects).run()
    return world


@in_loop
async def test_a_backup_has_what_is_only_in_rounds() -> None:
    """C4: acknowledged before it began, in a life that goes on; a log on disk would pass it over."""
    world, backup = a_world(), Backup()
    partition = await (await world.open()).partition(HOME)
    await fill(partition, 3)
    await partition.flush()
    await fill(partition, 3, start=3)
    backup.copy(world.objects)
    await fill(partition, 3, start=6)
    fresh = restored(backup)
    assert fresh.names("owner/") == []
    fresh.wal = WalSettings(chunk_size_max=4096)
    with pytest.raises(LogInStore, match="in a backup"):
        await fresh.open()
    fresh.wal = STORE
    logs = await fresh.open()
    assert await read_all(await logs.partition(HOME)) == numbered(0, 6)


@in_loop
async def test_a_backup_that_is_made_again_lets_go_of_rounds_that_nobody_needs() -> None:
    """C4: and of no others, however much the store has let go of meanwhile."""
    world, backup = a_world(), Backup()
    logs = await world.open()
    partition = await logs.partition(HOME)
    await fill(partition, 40)
    backup.copy(world.objects)
    many = len(backup.names())
    await partition.flush()
    for _ in range(3):
        logs.purge()
        await partition.append(batch(b"more"))
        await turns()
        world.clock.advance(2 * GRACE_S + 1)
    await partition.flush()
    logs.purge()
    await turns()
    backup.copy(world.objects)
    assert len(backup.names()) < many // 2
    logs = await restored(backup).open()
    assert len(await read_all(await logs.partition(HOME))) == 43


@in_loop
async def test_a_backup_needs_rounds_that_the_store_has_deleted() -> None:
    """C4: what is put and deleted while it is made changes nothing of what it has."""
    world, backup = a_world(), Backup()
    await fill(await (await world.open()).partition(HOME), 5)
    rounds = [name for name in world.names("wal/") if not name.endswith("5")]

    class Emptied(MemoryObjects):
        """Rounds that were listed first are gone when it is looked what may go."""

        def list(self, prefix: str, after: str = "") -> Iterator[ObjectInfo]:
            found = list(super().list(prefix, after))
            if prefix == "wal/" and backup.names():
                found = [each for each in found if each.name not in rounds]
            return iter(found)

    backup.copy(Emptied(world.bucket))
    logs = await restored(backup).open()
    assert await read_all(await logs.partition(HOME)) == numbered(0, 5)
