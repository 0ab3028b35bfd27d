"""Consumer groups that fail over: real consumers, on one side and then on the other."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from tests.sync.conftest import Pair
from tests.sync.consuming import PARTITIONS, consume
from tests.sync.sides import numbered, read_topic, write

from holdfast.client import Client
from holdfast.record.build import build
from holdfast.record.records import Record
from holdfast.sync.origin.place import first_copy
from holdfast.sync.run import Sync
from holdfast.sync.settings import SyncSettings
from holdfast.types import ClusterPartition


def run(pair: Pair, topic: str, **settings: object) -> None:
    Sync(*pair.addresses, SyncSettings(patterns=(topic,), once=True, give_up_s=60, **settings)).run()  # type: ignore[arg-type]


def values_of(records: Iterable[Record]) -> set[bytes]:
    return {each.value or b"" for each in records}


def named(name: str, count: int) -> list[Record]:
    return [Record(f"k{number % 7}".encode(), f"{name}-{number}".encode(), number) for number in range(count)]


def test_a_group_that_fails_over_neither_repeats_nor_skips(pair: Pair, topic: str) -> None:
    """S8: a real consumer reads some at A, and the rest at B, each record once; offsets differ on both sides."""
    pair.at_a.create_topics({topic: PARTITIONS})
    pair.at_b.create_topics({topic: PARTITIONS})
    wanted: set[bytes] = set()
    for partition in range(PARTITIONS):
        records = named(f"p{partition}", 900)
        wanted |= values_of(records)
        for start in range(0, 900, 450):
            write(pair.at_a, topic, partition, records[start : start + 450])
            run(pair, topic, groups=False)  # Each start puts a marker into B: offsets are not the same there.
    group = f"group-of-{topic}"
    before = consume(pair.a.bootstrap, topic, group, 1234)
    run(pair, topic)
    after = consume(pair.b.bootstrap, topic, group, None)
    assert len(before) == 1234
    assert len(before) + len(after) == len(wanted), "a record was read twice, or never"
    assert set(before) | set(after) == wanted
    run(pair, topic)
    assert consume(pair.b.bootstrap, topic, group, None) == [], "its offsets went back"


def test_a_group_that_has_read_all_reads_only_what_comes(pair: Pair, topic: str) -> None:
    """S8: a group at the end of A stands at the end of B, and reads there what is written later."""
    pair.at_a.create_topics({topic: PARTITIONS})
    for partition in range(PARTITIONS):
        write(pair.at_a, topic, partition, named(f"p{partition}", 100))
    group = f"group-of-{topic}"
    assert len(consume(pair.a.bootstrap, topic, group, None)) == 300
    run(pair, topic)
    later = named("later", 50)
    write(pair.at_a, topic, 1, later)
    run(pair, topic)
    assert consume(pair.b.bootstrap, topic, group, None) == [each.value for each in later]


def test_both_ways_a_group_skips_nothing(pair: Pair, topic: str) -> None:
    """S8: with records of both sides interleaved differently, a group that fails over misses none of them, and reads
    again only what lies behind the first that it had not read; back again it reads only what is new."""
    for client in (pair.at_a, pair.at_b):
        client.create_topics({topic: PARTITIONS})
    wanted: set[bytes] = set()
    for round_ in range(3):
        for name, client in (("a", pair.at_a), ("b", pair.at_b)):
            for partition in range(PARTITIONS):
                records = named(f"{name}-{partition}-{round_}", 60)
                wanted |= values_of(records)
                write(client, topic, partition, records)
        run(pair, topic, both=True, groups=False)
    group = f"group-of-{topic}"
    before = consume(pair.a.bootstrap, topic, group, 500)
    run(pair, topic, both=True)
    after = consume(pair.b.bootstrap, topic, group, None)
    assert set(before) | set(after) == wanted, "a record was skipped"
    assert sorted(after) == sorted(_from_the_first_unread(pair.at_b, topic, set(before)))
    run(pair, topic, both=True)
    assert consume(pair.a.bootstrap, topic, group, None) == [], "what was read at B is read again at A"
    later = [named(f"later-{name}", 40) for name in "ab"]
    for records, client in zip(later, (pair.at_a, pair.at_b), strict=True):
        write(client, topic, 1, records)
    run(pair, topic, both=True)
    assert sorted(consume(pair.a.bootstrap, topic, group, None)) == sorted(values_of(itertools.chain(*later)))


def _from_the_first_unread(client: Client, topic: str, read: set[bytes]) -> list[bytes]:
    """What one offset for each partition can say at best: all from the first record on that was not read."""
    found: list[bytes] = []
    for held in read_topic(client, topic):
        values = [each.seen.value or b"" for each in held]
        found += values[next((number for number, each in enumerate(values) if each not in read), len(values)) :]
    return found


def test_a_copy_is_found_by_its_offset(pair: Pair, topic: str) -> None:
    """S8: the first copy from an offset on, among the target's own records and markers."""
    made = pair.at_a.create_topics({topic: 1})
    pair.at_b.create_topics({topic: 1})
    for round_ in range(4):
        write(pair.at_a, topic, 0, numbered(f"a{round_}", 500))
        run(pair, topic, groups=False)
        pair.at_b.produce({(topic, 0): build(named(f"own-{round_}", 37))})
    held = read_topic(pair.at_b, topic)[0]
    cluster_id, topic_id = pair.at_a.metadata([]).cluster_id, made[topic].id
    assert cluster_id is not None
    assert topic_id is not None
    where = next(iter(pair.at_b.list_offsets({(topic, 0): -1})))
    end = held[-1].offset + 1
    for wanted in (0, 1, 499, 500, 1999, 2000, 2500):
        expected = next((each.offset for each in held if each.hops and each.hops[0].offset >= wanted), None)
        assert first_copy(pair.at_b, where, ClusterPartition(cluster_id, topic_id, 0), wanted, 0, end) == expected
