"""Simulated readers: what they are shown must be what was sent, and must stay."""

from __future__ import annotations

from typing import Any

from tests.sim import frames
from tests.sim.broker_life import BrokerLife
from tests.sim.model import Committed, TopicModel
from tests.sim.producers import check_refusal

from holdfast.protocol.api import Key
from holdfast.protocol.codes import Code


def fetch_fields(version: int, topic: TopicModel, partition: int, offset: int, size_max: int) -> dict[str, Any]:
    named = {"topic_id": topic.topic_id} if version >= 13 else {"topic": topic.name}
    wanted = {"partition": partition, "fetch_offset": offset, "partition_max_bytes": size_max}
    return {
        "replica_id": -1,
        "max_wait_ms": 0,
        "min_bytes": 1,
        "max_bytes": 1 << 20,
        "isolation_level": 0,
        "session_id": 0,
        "session_epoch": -1,
        "topics": [{**named, "partitions": [wanted]}],
        "forgotten_topics_data": [],
        "rack_id": "",
    }


async def fetch(life: BrokerLife, topic: TopicModel, partition: int, offset: int, size_max: int = 1 << 20) -> Any:
    """One fetch; the partition's part of the answer."""
    version = life.random.choice((11, 12, 13, 16))
    answer = await life.ask(Key.FETCH, version, fetch_fields(version, topic, partition, offset, size_max))
    [[part]] = [each.partitions for each in answer.responses]
    return part


async def check_partition(life: BrokerLife, topic: TopicModel, number: int) -> None:
    """Read a whole partition: all that was acknowledged before must be there."""
    partition = topic.partition(number)
    known = dict(partition.known)
    found: list[tuple[int, bytes]] = []
    start = at = 0
    while True:
        part = await fetch(life, topic, number, at, life.random.choice((1, 500, 1 << 20)))
        if topic.leaving or topic.gone or life.is_usurped:
            return
        if part.error_code:
            check_refusal(life, part.error_code, topic, f"a read of {topic.name}-{number} at {at}")
            return
        found += [each for each in frames.records(part.records) if each[0] >= at]
        at = found[-1][0] + 1 if found else at
        if at >= part.high_watermark:
            break
        assert part.records, f"A read made no progress: {topic.name}-{number} at {at} of {part.high_watermark}."
    partition.check(start, at, found, known)
    life.counts["partitions read"] += 1


async def check_committed(
    life: BrokerLife, group: str, topic: TopicModel, partition: int, committed: Committed
) -> None:
    """What a group finds when it starts again."""
    acked = committed.acked
    topics = [{"name": topic.name, "partition_indexes": [partition]}]
    answer = await life.ask(Key.OFFSET_FETCH, 5, {"group_id": group, "topics": topics})
    if answer.error_code:
        check_refusal(life, answer.error_code, topic, f"offsets of {group}")
        return
    [[found]] = [each.partitions for each in answer.topics]
    assert found.error_code == Code.NONE
    if not topic.leaving and not topic.gone and not life.is_usurped:
        committed.check(found.committed_offset, acked)


async def check_everything(life: BrokerLife, *, clean: bool, started: bool) -> None:
    """Topics, epochs, records, committed offsets."""
    answer = await life.ask(Key.METADATA, 12, {"topics": None, "allow_auto_topic_creation": False})
    epoch = min(part.leader_epoch for topic in answer.topics for part in topic.partitions)
    life.model.check_epoch(epoch, clean=clean)
    life.is_shown = True
    there = {each.topic_id: (each.name, len(each.partitions)) for each in answer.topics if not each.is_internal}
    life.model.check_topics(there, started=started)
    for topic in life.model.live():
        for number in range(topic.count):
            await check_partition(life, topic, number)
    for (group, topic_id, partition), committed in list(life.model.committed.items()):
        await check_committed(life, group, life.model.topics[topic_id], partition, committed)


def look_while_syncing(life: BrokerLife) -> None:
    """Read what is new while a sync is under way, as the loop goes on beside the writer's thread."""
    for topic in life.model.live():
        opened = life.broker.context.topics.find_id(topic.topic_id)
        for number in range(topic.count if opened is not None else 0):
            assert opened is not None
            known = topic.partition(number).known
            if opened.partition(number).marks.high_watermark > len(known):
                _look(life, topic, number, len(known))


def _look(life: BrokerLife, topic: TopicModel, number: int, offset: int) -> None:
    wanted = frames.request(Key.FETCH, 13, fetch_fields(13, topic, number, offset, 1 << 20))
    reading = life.broker.broker.handle(wanted)
    try:
        reading.send(None)  # type: ignore[attr-defined]  # By hand: the loop is busy with the sync.
    except StopIteration as done:
        [[part]] = [each.partitions for each in frames.answer(wanted, done.value).responses]
        topic.partition(number).see(frames.records(part.records))
        life.counts["reads during an fsync"] += 1
    else:
        reading.close()  # It waits for something, and so sees nothing.
