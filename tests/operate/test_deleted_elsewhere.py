"""A broker that comes back to a store where another one has deleted a topic, and made others."""

from __future__ import annotations

import shutil
from pathlib import Path
from uuid import UUID

import pytest
from tests.log.log_world import fill, in_loop
from tests.operate.directory import SETTINGS

from holdfast.broker.running import BrokerEnvironment, opened
from holdfast.cluster.metadata import DELETED_MAX, Metadata, Topic, apply, create_topic, delete_topic
from holdfast.cluster.metadata_log import PREFIX, MetadataLog
from holdfast.io.chance import SeededChance
from holdfast.io.clock import ManualClock
from holdfast.io.disk import RealDirectory
from holdfast.io.objects.memory import MemoryBucket, MemoryObjects
from holdfast.io.versions import FULL_EVERY, GRACE_S, VersionRetries
from holdfast.segment.garbage import collect_versions


@in_loop
async def test_a_topic_that_the_next_broker_deleted_does_not_keep_the_first_from_starting(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """D5: batches of it are in the log. They are dropped with a line, and everything else is there."""
    bucket = MemoryBucket()

    def on(place: str) -> BrokerEnvironment:
        return BrokerEnvironment.real(RealDirectory(tmp_path / place), MemoryObjects(bucket))

    async with opened(on("first"), SETTINGS) as broker:
        for name in ("gone", "stays"):
            await broker.context.topics.create(name, 1, {})
            await fill(broker.context.topics.get(name).partition(0), 1)
        await broker.context.logs.flush_all()
        await fill(broker.context.topics.get("gone").partition(0), 1, start=1)
        shutil.copytree(tmp_path / "first", tmp_path / "as it was")  # As a crash would leave it.
    async with opened(on("second"), SETTINGS) as broker:
        await broker.context.topics.delete(broker.context.topics.get("gone"))
    async with opened(on("as it was"), SETTINGS) as broker:
        assert broker.context.topics.find("gone") is None
        assert broker.context.topics.get("stays").partition(0).marks.log_end == 1
        assert not broker.context.logs.unopened
    (line,) = [each for each in caplog.records if "deleted by another broker" in each.message]
    assert line.levelname == "WARNING"
    async with opened(on("as it was"), SETTINGS):
        pass  # And again.


def test_deleted_topics_are_remembered_up_to_a_limit() -> None:
    """D11: in every version of the metadata."""
    metadata = Metadata("c")
    chance = SeededChance(1)
    for number in range(DELETED_MAX + 5):
        topic = Topic("t", UUID(int=chance.bits(128)), 1)
        metadata = apply(apply(metadata, create_topic(topic)), delete_topic(topic.topic_id))
        if number == 3:
            assert Metadata.from_body("c", -1, metadata.to_body()) == metadata
    assert len(metadata.deleted) == DELETED_MAX
    assert metadata.deleted[-1] == topic.topic_id


def _log(bucket: MemoryBucket, clock: ManualClock) -> MetadataLog:
    objects = MemoryObjects(bucket, clock=clock)
    return MetadataLog(objects, "c", "w", VersionRetries(clock, SeededChance(clock.now_ms()), clock.advance))


def test_old_versions_of_the_metadata_are_collected_and_no_sleeper_takes_their_numbers() -> None:
    """D2, S7: those that were passed by a grace ago; the first, and all that the newest needs, stay."""
    bucket, clock, frozen = MemoryBucket(), ManualClock(), ManualClock(5)
    log, sleeper = _log(bucket, clock), _log(bucket, frozen)
    log.commit(["quota", "first", {"x": 1}])
    sleeper.refresh()
    for number in range(2 * FULL_EVERY + 3):
        log.commit(["quota", "q", {"x": number}])
    objects = MemoryObjects(bucket, clock=clock)
    assert not collect_versions(objects, PREFIX, clock.now_ms()).versions
    clock.advance(GRACE_S + 1)
    found = collect_versions(objects, PREFIX, clock.now_ms())
    assert len(found.versions) == 2 * FULL_EVERY
    assert not found.waiting
    sleeper.commit(["quota", "mine", {"x": 1}])
    read = _log(bucket, clock).metadata
    assert set(read.quotas) == {"first", "q", "mine"}
    assert read.quotas["q"] == {"x": 2 * FULL_EVERY + 2}
