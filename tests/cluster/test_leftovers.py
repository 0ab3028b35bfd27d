"""Objects of deleted topics: nothing is left of them, whoever was to delete them and is gone."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest
from tests.cluster.leaders_world import BROKERS_MAX, NAME, PARTITIONS, TOPIC, LeadersWorld, LifeOfBroker
from tests.log.log_world import fill, in_loop, turns

from holdfast.cluster.lives import end
from holdfast.errors import Unavailable
from holdfast.io.objects.faulty import Call, FailBefore, Fault
from holdfast.io.store_errors import StoreSetBack
from holdfast.io.versions import GRACE_S
from holdfast.log.context import Environment
from holdfast.log.ownership.leftovers import Leftovers
from holdfast.segment.names import topic_prefixes
from holdfast.types import PartitionId

SEEDS = 20
STEPS = 150
HOME = PartitionId(TOPIC, 0)


class Deleting(LifeOfBroker):
    """Somebody asks it to delete the topic, too."""

    async def open_logs(self) -> None:
        await super().open_logs()
        environment = Environment(self.wire, self.calls, self.world.clock, self.chance)
        self.leftovers = Leftovers(environment, self.life, self.metadata.check_not_set_back)

    async def delete(self) -> None:
        await self.topics.delete(self.topics.get(NAME))

    async def sweep(self) -> None:
        await self.leftovers.look(self.metadata.metadata)


class DeletingWorld(LeadersWorld):
    """The topic is deleted at some time, and brokers go on, go, and come as before."""

    life_class = Deleting
    work = {**LeadersWorld.work, "delete": 1.0, "sweep": 4.0}  # noqa: RUF012

    @property
    def left(self) -> list[str]:
        """The topic's objects."""
        return [each.name for prefix in topic_prefixes(TOPIC) for each in self.objects.list(prefix)]

    async def check(self) -> None:
        """All are ended but one, and what was under way has arrived: that one deletes what is left."""
        last = Deleting(self, BROKERS_MAX)
        await last.begin()
        if NAME in last.metadata.refresh().topics:
            await last.follow()
            await last.delete()
        for each in last.metadata.refresh().lives.eldest_first:
            if each.life != last.life:
                last.metadata.commit(end(each))
        for _ in range(10):
            self.clock.advance(120.0)
            await last.care()
        assert not last.metadata.metadata.lives.over
        await last.sweep()
        for life in self.lives:
            life.wire.arrive()
        await self.settled()
        self.clock.advance(2 * GRACE_S)
        await last.sweep()
        assert not self.left
        for life in [*self.lives, last]:
            life.kill()
        await self.settled()


@pytest.mark.parametrize("first", range(0, 60, SEEDS))
@in_loop
async def test_nothing_is_left_of_a_deleted_topic(first: int) -> None:
    """D4, K6: lives hand over, are ended and killed in the middle of it; answers get lost, requests arrive late."""
    for seed in range(first, first + SEEDS):
        await DeletingWorld(seed).run(STEPS)


async def two_lives() -> tuple[DeletingWorld, Deleting, Deleting]:
    """The first leads everything, and has flushed some of it; both have looked for what others have left."""
    world = DeletingWorld(0)
    await world.begin(faults=False)
    first, second = world.lives[0], Deleting(world, 9)
    assert isinstance(first, Deleting)
    await first.care()
    await first.follow()
    await second.begin()
    await fill(first.open[HOME], 5)
    await first.open[HOME].flush()
    assert len(first.open) == PARTITIONS
    assert world.left
    for each in (first, second):
        each.metadata.refresh()
        await each.sweep()
    return world, first, second


def lose(lost: Deleting, heir: Deleting) -> None:
    """It is killed, and another has heard nothing of it."""
    lost.kill()
    heir.metadata.commit(end(heir.metadata.refresh().lives.by_broker[lost.broker]))


async def lost_while_it_deletes() -> tuple[DeletingWorld, Deleting]:
    """In a store that denies deletes as yet; and who is left."""
    world, lost, heir = await two_lives()
    world.faults = denied
    await lost.delete()
    await turns()
    lose(lost, heir)
    return world, heir


@in_loop
async def test_a_topic_that_nobody_leads_is_deleted_by_who_is_asked() -> None:
    """D4, K6: its leader is lost, and not settled."""
    world, lost, heir = await two_lives()
    lose(lost, heir)
    await heir.follow()
    await heir.delete()
    await turns()
    assert not world.left


@in_loop
async def test_who_leads_a_topic_that_another_deletes_deletes_what_it_has_put_meanwhile() -> None:
    """D4, K6: it did not know yet."""
    world, leader, asked = await two_lives()
    await asked.follow()
    await asked.delete()
    await turns()
    assert not world.left
    await fill(leader.open[HOME], 5)
    await leader.open[HOME].flush()
    assert world.left
    await leader.follow()
    await turns()
    assert not world.left


@in_loop
async def test_what_a_lost_broker_was_deleting_is_deleted_by_another() -> None:
    """D4, K6: again when it is settled, since that puts objects, and when nothing can be under way any more."""
    world, heir = await lost_while_it_deletes()
    world.faults = lambda _: None
    assert world.left
    await heir.sweep()
    assert not world.left
    late = f"{topic_prefixes(TOPIC)[0]}late"
    world.objects.put(late, [b""])
    await heir.sweep()
    assert world.left, "Nothing has happened, and nobody asks the store for nothing."
    await heir.care()
    await heir.sweep()
    assert not world.left
    world.objects.put(late, [b""])
    world.clock.advance(2 * GRACE_S - 1)
    await heir.sweep()
    assert world.left
    world.clock.advance(1)
    await heir.sweep()
    assert not world.left
    world.objects.put(late, [b""])
    world.clock.advance(100 * GRACE_S)
    await heir.sweep()
    assert world.left, "It cannot be anybody's who is gone."


@in_loop
async def test_leftovers_that_cannot_be_deleted_are_looked_for_again() -> None:
    """D4: a failure is no end."""
    world, heir = await lost_while_it_deletes()
    await heir.care()
    with pytest.raises(Unavailable):
        await heir.sweep()
    world.faults = lambda _: None
    await heir.sweep()
    assert not world.left


@in_loop
async def test_a_topic_that_cannot_be_deleted_keeps_no_other() -> None:
    """D5: its objects may be locked; and nothing goes on behind a look that has failed."""
    world, life, _ = await two_lives()
    gone = [UUID(int=100 + number) for number in range(11)]
    for each in gone:
        world.objects.put(f"{topic_prefixes(each)[0]}0", [b""])
    locked = topic_prefixes(gone[0])[0]
    world.faults = lambda call: FailBefore() if call.kind == "delete" and call.name.startswith(locked) else None
    metadata = replace(life.metadata.metadata, deleted=tuple(gone))
    anew = Leftovers(Environment(life.wire, life.calls, world.clock, life.chance), life.life, lambda: None)
    for _ in range(2):
        with pytest.raises(Unavailable):
            await anew.look(metadata)
        left = [each for each in gone if list(world.objects.list(topic_prefixes(each)[0]))]
        assert left == gone[:1]
    world.faults = lambda _: None
    assert await anew.look(metadata) == 1


@in_loop
async def test_nothing_is_deleted_in_a_store_that_was_put_back() -> None:
    """C4, O4: what was deleted since is there again, and wanted."""
    world, first, heir = await two_lives()
    before = {each.name: bytes(world.objects.get(each.name)) for each in world.objects.list("")}
    await first.delete()
    await turns()
    lose(first, heir)
    for each in list(world.objects.list("")):
        world.objects.delete(each.name)
    for name, data in before.items():
        world.objects.put(name, [data])
    with pytest.raises(StoreSetBack):
        await heir.sweep()
    assert world.left


def denied(call: Call) -> Fault | None:
    return FailBefore() if call.kind == "delete" else None
