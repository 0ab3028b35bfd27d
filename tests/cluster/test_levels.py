"""Levels in the metadata: what may be written, who has to know it, and who is refused where it was."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cluster.test_version_log import Store
from tests.cluster.world import Broker, World

from holdfast.cluster.errors import BrokerBehind, BrokersBehind, LevelBelow
from holdfast.cluster.identity import claim_store
from holdfast.cluster.leads import spread
from holdfast.cluster.lease import Lease, read_lease
from holdfast.cluster.level import LEVEL
from holdfast.cluster.lives import BrokerLife, end, join
from holdfast.cluster.metadata import Metadata, raise_level
from holdfast.cluster.metadata_copy import read_copy, write_copy
from holdfast.cluster.metadata_log import METADATA, MetadataLog
from holdfast.cluster.version_log import VersionLog
from holdfast.errors import Rejected
from holdfast.io.chance import SeededChance
from holdfast.io.disk import RealDirectory
from holdfast.io.envelope import seal
from holdfast.io.objects.memory import MemoryBucket, MemoryObjects
from holdfast.io.store_errors import NewerFormat
from holdfast.io.versions import FULL_EVERY, VersionRetries
from holdfast.operate.levels import upgrade

NEXT = LEVEL + 1


class TwoReleases(Store):
    """One store, this release, and the next one, which knows one level more."""

    def next_log(self) -> VersionLog[Metadata]:
        patience = VersionRetries(self.clock, SeededChance(99), self.clock.advance)
        return VersionLog(replace(METADATA, format=METADATA.format + 1), self.objects, "c", "w", patience, "n")

    def join(self, broker: int, level: int) -> BrokerLife:
        found = self.next_log().commit(join(broker, "", f"place-{broker}", f"b{broker}", {}, level))
        return found.lives.by_broker[broker]

    def newest(self) -> dict[str, object]:
        name = max(each.name for each in self.objects.list("meta/0"))
        found: dict[str, object] = json.loads(self.objects.get(name))
        return found


def test_a_level_waits_until_all_who_live_know_it() -> None:
    """C11: the sentence names those who do not; whoever has gone is not asked."""
    store = TwoReleases()
    old, _, other = store.join(1, LEVEL), store.join(2, NEXT), store.join(3, LEVEL)
    with pytest.raises(BrokersBehind, match=rf"level {NEXT} \(broker 1 up to level {LEVEL}; broker 3 up to") as told:
        store.next_log().commit(raise_level(NEXT))
    assert told.value.known == {1: LEVEL, 3: LEVEL}
    assert store.log().metadata.level == LEVEL
    store.log().commit(end(old), end(other))
    assert store.next_log().commit(raise_level(NEXT)).level == NEXT
    assert store.next_log().commit(raise_level(NEXT)).level == NEXT
    with pytest.raises(LevelBelow, match=f"is at level {NEXT}, and cannot go back to level {LEVEL}"):
        store.next_log().commit(raise_level(LEVEL))


@pytest.mark.parametrize("leaders", ["one", "many"])
def test_a_release_that_does_not_know_the_level_refuses_all_that_is_written_from_there_on(leaders: str) -> None:
    """C11: by the number of the format, in one sentence; before that it reads and writes as ever."""
    store = TwoReleases()
    if leaders == "many":
        store.log().commit(spread(0, 0))
    store.join(1, NEXT)
    known = store.newest()["format"]
    early = store.log()
    store.next_log().commit(raise_level(NEXT))
    assert store.newest()["format"] == METADATA.format + 1 > int(str(known))
    said = f"format version {METADATA.format + 1}; this release knows up to {METADATA.format}: use a newer one"
    with pytest.raises(NewerFormat, match=said):
        store.log()
    for asked in (early.refresh, lambda: early.commit(["quota", "all", {"x": 1.0}])):
        with pytest.raises(NewerFormat, match=said):
            asked()
    for _ in range(FULL_EVERY):
        store.next_log().commit(["quota", "all", {"x": 1.0}])
        assert store.newest()["format"] == METADATA.format + 1


def test_a_level_is_kept_when_everything_is_written_whole() -> None:
    """C11: that of the cluster, and those that brokers know."""
    store = TwoReleases()
    store.join(1, NEXT)
    store.next_log().commit(raise_level(NEXT))
    for _ in range(FULL_EVERY):
        store.next_log().commit(end(store.join(2, NEXT)))
    found = store.next_log().value
    assert (found.level, found.lives.by_broker[1].level, found.lives.gone[2].level) == (NEXT, NEXT, NEXT)
    assert Metadata.from_body("c", found.version, json.loads(json.dumps(found.to_body()))) == found


def test_a_broker_that_does_not_know_the_level_does_not_join() -> None:
    """C11: nobody lives there who cannot read what others write."""
    store = TwoReleases()
    store.join(1, NEXT)
    store.next_log().commit(raise_level(NEXT))
    with pytest.raises(BrokerBehind, match=rf"at level {NEXT}, and broker 2 .* knows up to level {LEVEL}: use a newer"):
        store.join(2, LEVEL)
    assert set(store.next_log().value.lives.by_broker) == {1}


def test_nothing_is_written_of_the_first_level() -> None:
    """C11, O5: metadata of clusters that were there before levels were is as it was."""
    store = TwoReleases()
    life = store.join(1, 1)
    assert "level" not in join(1, "", "", "", {}, 1)[2]
    assert "level" not in life.to_row()
    assert "level" not in store.log().metadata.to_body()
    assert store.newest()["format"] == 3


def test_a_lease_tells_the_release() -> None:
    """C11, C12: those of releases that did not say it are read as ever."""
    objects = MemoryObjects(MemoryBucket())
    for release in (None, "1.2.3"):
        lease = Lease(1, 7, 3, "leading", 12, (), "", release)
        objects.put(lease.object_name, [lease.encode()])
        assert read_lease(objects, 1, 7) == lease


def test_a_copy_of_the_metadata_at_a_newer_level_is_none(tmp_path: Path) -> None:
    """C11: topics of a format that is not known are not told."""
    directory = RealDirectory(tmp_path)
    write_copy(directory, Metadata("c", 3))
    assert read_copy(directory) == Metadata("c", 3)
    write_copy(directory, Metadata("c", 4, level=NEXT))
    assert read_copy(directory) is None


@pytest.mark.parametrize("leaders", ["one", "many"])
def test_a_broker_that_slept_while_the_level_was_raised_ends(leaders: str) -> None:
    """C11: it is told once that its release is too old, instead of looking for ever."""

    async def go(world: World) -> None:
        sleeper = Broker(world, 1)
        await world.pass_time(2.0)
        assert sleeper.member is not None
        over: list[Exception] = []
        if leaders == "many":
            watching = asyncio.ensure_future(sleeper.member.watch_on(over.append))
        sleeper.stop()
        await world.pass_time(1.0)
        patience = VersionRetries(world.clock, SeededChance(9), lambda _: None)
        version = MetadataLog(world.objects, "c", "", patience, "").metadata.version
        newer = seal(METADATA.kind, METADATA.format + 1, {})
        world.objects.put_if_absent(f"meta/{version + 1:020}.json", [newer])
        sleeper.go_on()
        await world.pass_time(10.0)
        assert isinstance(sleeper.failure, NewerFormat)
        if leaders == "many":
            assert [type(each) for each in over] == [NewerFormat]
            assert watching.done()

    run(go)


def run(test: Callable[[World], Awaitable[None]]) -> None:
    async def inside() -> None:
        await test(World())

    asyncio.run(inside())


def test_a_cluster_goes_no_further_than_its_brokers_and_the_command_know() -> None:
    """C11: it says who is behind; where nobody is, nobody is asked."""
    store = TwoReleases()
    claim_store(store.objects, "c")
    with pytest.raises(Rejected, match="no broker is in this cluster"):
        upgrade(store.objects, store.clock.advance)
    old = store.join(1, LEVEL)
    found = upgrade(store.objects, store.clock.advance)
    assert (found["before"], found["level"], found["behind"]) == (LEVEL, LEVEL, [])
    store.join(2, NEXT)
    found = upgrade(store.objects, store.clock.advance)
    assert (found["level"], found["behind"]) == (LEVEL, [1])
    assert found["brokers"] == [{"broker": 1, "level": LEVEL}, {"broker": 2, "level": NEXT}]
    store.log().commit(end(old))
    with pytest.raises(Rejected, match=f"brokers know level {NEXT}, and this command knows up to level {LEVEL}"):
        upgrade(store.objects, store.clock.advance)
    assert store.log().metadata.level == LEVEL
