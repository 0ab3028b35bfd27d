"""One way: what a copy keeps, what it makes at the target, what it refuses."""

from __future__ import annotations

import pytest
from tests.sync.conftest import Pair
from tests.sync.sides import assert_equal, assert_marked, numbered, read_topic, write

from holdfast.client import EARLIEST, LATEST
from holdfast.client.errors import TopicNotFound
from holdfast.io.clock import SystemClock
from holdfast.record.batch import split
from holdfast.record.build import build
from holdfast.record.records import Record
from holdfast.sync.dry import foresee
from holdfast.sync.errors import NothingMatches, RecordTooLarge, SameCluster, TimesNotKept
from holdfast.sync.origin.mark import Hop
from holdfast.sync.run import Sync
from holdfast.sync.settings import SyncSettings


def once(pair: Pair, topic: str, **settings: object) -> Sync:
    """Copy what is there, and stop."""
    sync = Sync(*pair.addresses, SyncSettings(patterns=(topic,), once=True, give_up_s=60, **settings))  # type: ignore[arg-type]
    sync.run()
    return sync


def test_everything_of_a_record_is_kept(pair: Pair, topic: str) -> None:
    """S8: keys, values, headers, timestamps and partitions are kept, and each copy carries its origin."""
    made = pair.at_a.create_topics({topic: 3})
    for partition in range(3):
        write(pair.at_a, topic, partition, numbered(f"p{partition}", 1500))
    once(pair, topic)
    here, there = read_topic(pair.at_a, topic), read_topic(pair.at_b, topic)
    assert [len(each) for each in there] == [1500] * 3
    assert_equal(here, there)
    cluster, topic_id = pair.at_a.metadata([]).cluster_id, made[topic].id
    assert cluster is not None
    assert topic_id is not None
    for partition in range(3):
        assert_marked(there[partition], here[partition], Hop(cluster, topic_id, partition, 0))


@pytest.mark.parametrize("codec", [0, 1, 2, 3, 4])
def test_compressed_batches(pair: Pair, topic: str, codec: int) -> None:
    """S8: batches of every codec are copied, and stay compressed in the same way."""
    pair.at_a.create_topics({topic: 1})
    pair.at_a.produce({(topic, 0): build(numbered("packed", 800), codec=codec)})
    once(pair, topic)
    assert_equal(read_topic(pair.at_a, topic), read_topic(pair.at_b, topic))
    copied = pair.at_b.fetch({(topic, 0): 0}, committed=False)[topic, 0].records
    assert {header.codec for header, _ in split(copied) if not header.is_control} == {codec}


def test_topics_are_made_as_they_are(pair: Pair, topic: str) -> None:
    """S8: a topic is created with its configs and partitions, and grows with its source."""
    configs = {"retention.ms": "777777", "cleanup.policy": "compact,delete"}
    pair.at_a.create_topics({topic: 2}, configs)
    once(pair, topic)
    assert pair.at_b.own_configs(topic) == configs
    assert len(pair.at_b.topic(topic).partitions) == 2
    pair.at_a.create_partitions(topic, 5)
    write(pair.at_a, topic, 4, [Record(b"k", b"v", 1)])
    once(pair, topic)
    assert len(pair.at_b.topic(topic).partitions) == 5
    assert_equal(read_topic(pair.at_a, topic), read_topic(pair.at_b, topic))


def test_nothing_doubles_when_it_runs_again(pair: Pair, topic: str) -> None:
    """S8: what is there is not copied again, and what is new goes behind it."""
    pair.at_a.create_topics({topic: 2})
    for round_ in range(3):
        write(pair.at_a, topic, round_ % 2, numbered(f"round-{round_}", 700))
        assert once(pair, topic).look()[0].counts.records == 700
    assert_equal(read_topic(pair.at_a, topic), read_topic(pair.at_b, topic))


def test_aborted_transactions_are_not_copied(pair: Pair, topic: str) -> None:
    """S8: only what is committed is copied, in its order."""
    pair.at_a.create_topics({topic: 1})
    for number, commit in enumerate((True, False, True, False)):
        producer = pair.at_a.init_producer_id(f"{topic}-{number}")
        pair.at_a.add_partitions(f"{topic}-{number}", producer, [(topic, 0)])
        numbers = {"producer_id": producer.id, "producer_epoch": producer.epoch, "base_sequence": 0}
        batch = build([Record(b"k", f"{number}".encode(), 1)], transactional=True, **numbers)
        pair.at_a.produce({(topic, 0): batch}, transactional_id=f"{topic}-{number}")
        pair.at_a.end_txn(f"{topic}-{number}", producer, commit=commit)
    once(pair, topic)
    assert [each.seen.value for each in read_topic(pair.at_b, topic)[0]] == [b"0", b"2"]


def test_a_pattern_that_matches_nothing(pair: Pair, topic: str) -> None:
    """S8: it is an error, and says what there is."""
    pair.at_a.create_topics({topic: 1})
    with pytest.raises(NothingMatches, match=rf"no topic at .* matches 'nowhere\*'.*\b{topic}\b"):
        once(pair, "nowhere*")


def test_internal_topics_stay(pair: Pair, topic: str) -> None:
    """S8: internal topics are never copied, whatever the pattern says."""
    pair.at_a.create_topics({topic: 1})
    pair.at_a.commit_offsets("somebody", {(topic, 0): (0, "")})
    assert "__consumer_offsets" in pair.at_a.metadata().topics
    for pattern in ("__*", "__consumer_offsets", "*_offsets"):
        with pytest.raises(NothingMatches):
            once(pair, pattern)


def test_one_cluster_is_not_two(pair: Pair, topic: str) -> None:
    """S8: a cluster is not synced with itself."""
    pair.at_a.create_topics({topic: 1})
    with pytest.raises(SameCluster):
        Sync(pair.a.bootstrap, pair.a.bootstrap, SyncSettings())


def test_a_dry_run_changes_nothing(pair: Pair, topic: str) -> None:
    """S8: it says what would be made and copied; nothing is there afterwards."""
    pair.at_a.create_topics({topic: 2}, {"retention.ms": "99999"})
    write(pair.at_a, topic, 1, numbered("dry", 321))
    settings = SyncSettings(patterns=(topic,))
    sync = Sync(*pair.addresses, settings)
    [found] = foresee(*sync.sides, settings)
    assert found == (topic, "create", 2, {"retention.ms": "99999"}, 321)
    with pytest.raises(TopicNotFound):
        pair.at_b.topic(topic)
    once(pair, topic)
    write(pair.at_a, topic, 0, numbered("more", 10))
    [found] = foresee(*sync.sides, settings)
    assert (found.action, found.offsets) == ("keep", 10)


def test_times_that_cannot_be_kept(pair: Pair, topic: str) -> None:
    """S8: a target that puts its own time on records is refused; a topic that is made keeps the times of records."""
    pair.at_a.create_topics({topic: 1}, {"message.timestamp.type": "LogAppendTime"})
    write(pair.at_a, topic, 0, [Record(b"k", b"v", 5)])
    once(pair, topic)
    [[here]], [[there]] = read_topic(pair.at_a, topic), read_topic(pair.at_b, topic)
    assert abs(here.seen.timestamp - SystemClock().now_ms()) < 600_000
    assert here.seen == there.seen
    pair.at_a.create_topics({f"{topic}-other": 1})
    pair.at_b.create_topics({f"{topic}-other": 1}, {"message.timestamp.type": "LogAppendTime"})
    with pytest.raises(TimesNotKept, match="CreateTime"):
        once(pair, f"{topic}-other")


def test_a_record_that_does_not_fit(pair: Pair, topic: str) -> None:
    """S8: a record larger than the target's batches stops the sync; it is named, and nothing is left out."""
    pair.at_a.create_topics({topic: 1})
    pair.at_b.create_topics({topic: 1}, {"max.message.bytes": "2000"})
    write(pair.at_a, topic, 0, [Record(b"k", b"small", 1)])
    write(pair.at_a, topic, 0, [Record(b"k", bytes(3000), 1)])
    write(pair.at_a, topic, 0, [Record(b"k", b"behind it", 1)])
    for _ in range(2):
        with pytest.raises(RecordTooLarge, match=r"at offset 1 .* max.message.bytes"):
            once(pair, topic)
    assert [each.seen.value for each in read_topic(pair.at_b, topic)[0]] in ([], [b"small"])


def test_a_target_that_was_made_again(pair: Pair, topic: str) -> None:
    """S8: a topic that was deleted at the target and made again is filled from the start."""
    pair.at_a.create_topics({topic: 1})
    write(pair.at_a, topic, 0, numbered("first", 100))
    once(pair, topic)
    pair.at_b.delete_topic(topic)
    once(pair, topic)
    assert_equal(read_topic(pair.at_a, topic), read_topic(pair.at_b, topic))
    ends = [
        client.list_offsets({(topic, 0): when})[topic, 0].offset for client in pair[2:] for when in (EARLIEST, LATEST)
    ]
    assert ends[0] == ends[2] == 0
