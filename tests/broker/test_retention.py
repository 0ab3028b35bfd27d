"""Records that go: deleted, too old, too many, or overwritten by a later one of their key."""

from __future__ import annotations

from pathlib import Path

from tests.broker.inside import InsideBroker
from tests.broker.wire import (
    NOW_MS,
    Wire,
    batch,
    create_topic,
    delete_records,
    end_offset,
    fetch,
    keyed,
    produce,
    read,
    values,
    wait_for,
)

from holdfast.io.objects.memory import MemoryObjects
from holdfast.log.settings import LogSettings
from holdfast.protocol.api import Key


def test_records_below_an_offset_are_deleted(wire: Wire, topic: str) -> None:
    """K2: the log starts there; reads below it are out of range."""
    create_topic(wire, topic)
    for number in range(5):
        produce(wire, topic, batch(b"%d" % number))
    done = delete_records(wire, topic, 3)
    assert (done.error_code, done.low_watermark) == (0, 3)
    assert end_offset(wire, topic, timestamp=-2) == 3
    assert fetch(wire, topic, 2).error_code == 1
    assert values(fetch(wire, topic, 3).records) == [b"3", b"4"]
    assert delete_records(wire, topic, -1).low_watermark == 5
    assert delete_records(wire, topic, 6).error_code == 1
    assert produce(wire, topic, batch(b"next")).base_offset == 5


def test_records_of_a_compacted_topic_are_not_deleted(wire: Wire, topic: str) -> None:
    """K2: POLICY_VIOLATION."""
    create_topic(wire, topic, cleanup_policy="compact")
    assert delete_records(wire, topic, 0).error_code == 44


# Retention


def stored_size(wire: Wire, name: str) -> int:
    topics = [{"topic": name, "partitions": [0]}]
    [place] = wire.ask(Key.DESCRIBE_LOG_DIRS, 4, topics=topics).results
    size: int = place.topics[0].partitions[0].partition_size
    return size


def test_records_that_are_too_old_go(wire: Wire, topic: str) -> None:
    """K6: retention by time, by the records' own; those that are young enough stay."""
    create_topic(wire, topic, retention_ms="600000")
    produce(wire, topic, batch(b"old", timestamp=NOW_MS - 3_600_000))
    wait_for(lambda: end_offset(wire, topic, timestamp=-2) == 1)
    produce(wire, topic, batch(b"young"))
    assert values(fetch(wire, topic, 1).records) == [b"young"]


def test_records_that_are_too_many_go(tmp_path: Path, topic: str) -> None:
    """K6: retention by size; whole segments, the oldest first, as long as enough is left without them."""
    settings = LogSettings(flush_age_ms_max=1, retention_check_ms=100)
    with InsideBroker(tmp_path, MemoryObjects(), settings) as inside, Wire(inside.port) as wire:
        create_topic(wire, topic, retention_bytes="2000")
        produce(wire, topic, batch(b"x" * 1000))
        wait_for(lambda: stored_size(wire, topic) > len(batch(b"x" * 1000)))  # A segment is more than its batches.
        produce(wire, topic, batch(b"x" * 2000))
        wait_for(lambda: end_offset(wire, topic, timestamp=-2) == 1)
        assert values(fetch(wire, topic, 1).records) == [b"x" * 2000]


# Compaction


def test_a_compacted_topic_keeps_the_last_value_of_each_key(tmp_path: Path, topic: str) -> None:
    """K6: in the background; offsets stay what they were, and what is not compacted is left alone."""
    settings = LogSettings(flush_age_ms_max=1, compaction_check_ms=20)
    with InsideBroker(tmp_path, MemoryObjects(), settings) as inside, Wire(inside.port) as wire:
        create_topic(wire, topic, cleanup_policy="compact")
        create_topic(wire, f"{topic}-plain")
        for name in (topic, f"{topic}-plain"):
            for number in range(6):
                produce(wire, name, keyed((b"a", b"%d" % number), (b"b", b"%d" % number)))

        def left(name: str) -> list[tuple[int, bytes, bytes]]:
            return [(each.offset, each.key, each.value) for each in read(fetch(wire, name).records)]

        wait_for(lambda: left(topic) == [(10, b"a", b"5"), (11, b"b", b"5")])
        assert len(left(f"{topic}-plain")) == 12
        assert end_offset(wire, topic) == 12
        assert produce(wire, topic, keyed((b"a", b"next"))).base_offset == 12
