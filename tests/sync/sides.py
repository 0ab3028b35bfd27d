"""Two clusters under test: what is written to them, and all that they hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from holdfast.client import EARLIEST, LATEST, Client
from holdfast.protocol.api import Key
from holdfast.protocol.generated.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from holdfast.record.batch import split
from holdfast.record.build import build
from holdfast.record.records import Record, read_records
from holdfast.sync.origin.mark import MARK_KEY, Hop, read_mark
from holdfast.types import TopicPartition

BATCH_COUNT = 500


class Seen(NamedTuple):
    """One record as a reader sees it, without its mark."""

    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: tuple[tuple[str, bytes | None], ...]


class Held(NamedTuple):
    """One record as a cluster holds it."""

    offset: int
    seen: Seen
    hops: tuple[Hop, ...]


def write(client: Client, topic: str, partition: int, records: Sequence[Record]) -> None:
    """Write records, each acknowledged, with a producer's numbers, so that a repeat is known as one."""
    producer = client.init_producer_id()
    for start in range(0, len(records), BATCH_COUNT):
        some = records[start : start + BATCH_COUNT]
        batch = build(some, producer_id=producer.id, producer_epoch=producer.epoch, base_sequence=start)
        client.produce({(topic, partition): batch})


def numbered(name: str, count: int, *, keys: int = 50, start: int = 0) -> list[Record]:
    """Records that can be told apart, of several keys, some with headers."""
    made = []
    for number in range(start, start + count):
        headers = (("number", str(number).encode()), ("nothing", None)) if number % 3 == 0 else ()
        key = None if number % 17 == 0 else f"key-{number % keys}".encode()
        value = None if key and number % 19 == 0 else f"{name}-{number}".encode()
        made.append(Record(key, value, 1_700_000_000_000 + number, headers))
    return made


def read_partition(client: Client, topic: str, partition: int) -> list[Held]:
    """All that a partition holds, for readers of whatever kind."""
    where = TopicPartition(topic, partition)
    at, end = (client.list_offsets({where: when})[where].offset for when in (EARLIEST, LATEST))
    found: list[Held] = []
    while at < end:
        fetched = client.fetch({where: at}, committed=False)[where]
        assert fetched.error is None
        before = at
        for header, batch in split(fetched.records):
            at = header.end_offset
            if not header.is_control:
                found += [_held(each) for each in read_records(batch)]
        if at == before:
            break  # Compaction has left holes up to the end.
    return found


def _held(record: Record) -> Held:
    marks = [value for key, value in record.headers if key == MARK_KEY]
    assert len(marks) <= 1, "a record has two origin marks"
    others = tuple(each for each in record.headers if each[0] != MARK_KEY)
    assert record.offset is not None
    hops = tuple(read_mark(marks[0] or b"")) if marks else ()
    return Held(record.offset, Seen(record.key, record.value, record.timestamp, others), hops)


def read_topic(client: Client, topic: str) -> list[list[Held]]:
    """All partitions of a topic."""
    return [read_partition(client, topic, each.number) for each in client.topic(topic).partitions]


def assert_equal(first: Iterable[list[Held]], second: Iterable[list[Held]]) -> None:
    """S8's sense of equal: the same records in each partition, and of each origin in the same order."""
    for number, (here, there) in enumerate(zip(first, second, strict=True)):
        ours, theirs = (Counter(each.seen for each in held) for held in (here, there))
        assert not ours - theirs, f"partition {number} lacks {len(list((ours - theirs).elements()))} records"
        assert not theirs - ours, f"partition {number} has {len(list((theirs - ours).elements()))} records too many"
        for held, other in ((here, there), (there, here)):
            own = [each.seen for each in held if not each.hops]
            copied = [each.seen for each in other if each.hops]
            assert own == copied, f"partition {number}: the order of an origin was not kept"


def assert_marked(copied: list[Held], origin: list[Held], hop: Hop) -> None:
    """Each copy says where it comes from, to the offset."""
    own = [each for each in origin if not each.hops]
    for copy, original in zip((each for each in copied if each.hops), own, strict=True):
        assert copy.hops == (hop._replace(offset=original.offset),)


def delete_records(client: Client, topic: str, partition: int, before: int) -> None:
    """What retention does, now."""
    wanted = DeleteRecordsTopic(
        name=topic,
        partitions=[DeleteRecordsPartition(partition_index=partition, offset=before)],
    )
    [answer] = (
        client._nodes.any().ask(Key.DELETE_RECORDS, DeleteRecordsRequest(topics=[wanted], timeout_ms=30_000)).topics
    )
    assert [each.error_code for each in answer.partitions] == [0]
