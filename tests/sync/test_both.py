"""Both ways: nothing is echoed, whatever applications do with headers, and on compacted topics the last writer wins."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterator

import pytest
from tests.sync.conftest import Pair
from tests.sync.process import Live, SyncProcess
from tests.sync.sides import Held, Seen, assert_equal, numbered, read_topic, write

from holdfast.client import Client
from holdfast.record.build import build
from holdfast.record.records import Record
from holdfast.sync.errors import NeedsChoice
from holdfast.sync.origin.mark import MARK_KEY
from holdfast.sync.run import Sync
from holdfast.sync.settings import SyncSettings
from holdfast.testing import running_broker


def run(first: str, second: str, topic: str, **settings: object) -> Sync:
    sync = Sync(first, second, SyncSettings(patterns=(topic,), once=True, give_up_s=60, **settings))  # type: ignore[arg-type]
    sync.run()
    return sync


def test_nothing_is_echoed(pair: Pair, topic: str) -> None:
    """S8: after any number of runs both ways, each side has each record once."""
    pair.at_a.create_topics({topic: 2})
    pair.at_b.create_topics({topic: 2})
    for round_ in range(3):
        write(pair.at_a, topic, 0, numbered(f"a{round_}", 300))
        write(pair.at_b, topic, round_ % 2, numbered(f"b{round_}", 200))
        run(*pair.addresses, topic, both=True)
    here, there = read_topic(pair.at_a, topic), read_topic(pair.at_b, topic)
    assert sum(map(len, here)) == sum(map(len, there)) == 1500
    assert_equal(here, there)


def test_topics_of_either_side_are_made_on_the_other(pair: Pair, topic: str) -> None:
    """S8: both ways, a pattern may match topics of either side."""
    pair.at_b.create_topics({topic: 2}, {"retention.ms": "4242"})
    write(pair.at_b, topic, 1, numbered("b", 50))
    run(*pair.addresses, topic, both=True)
    assert pair.at_a.own_configs(topic) == {"retention.ms": "4242"}
    assert_equal(read_topic(pair.at_a, topic), read_topic(pair.at_b, topic))


def test_applications_that_copy_headers_lose_nothing(pair: Pair, topic: str) -> None:
    """S8: a record that an application writes again, with all its headers, is new, and goes to the other side."""
    pair.at_a.create_topics({topic: 2})
    pair.at_b.create_topics({topic: 2})
    write(pair.at_b, topic, 0, numbered("b", 20))
    run(*pair.addresses, topic, both=True)
    [first, *_] = _raw(pair.at_a, topic)
    assert MARK_KEY in dict(first.headers)
    again = Record(first.key, b"processed at a", first.timestamp, first.headers)
    for partition in (0, 1):
        pair.at_a.produce({(topic, partition): build([again])})
    for _ in range(2):
        run(*pair.addresses, topic, both=True)
    for client in (pair.at_a, pair.at_b):
        held = read_topic(client, topic)
        assert [sum(each.seen.value == b"processed at a" for each in some) for some in held] == [1, 1]
        assert sum(map(len, held)) == 22


def _raw(client: Client, topic: str) -> list[Record]:
    from holdfast.record.batch import split
    from holdfast.record.records import read_records

    [fetched] = client.fetch({(topic, 0): 0}).values()
    return [each for header, batch in split(fetched.records) if not header.is_control for each in read_records(batch)]


@pytest.fixture(scope="module")
def third() -> Iterator[Client]:
    with running_broker(log_retention_ms=-1) as broker, Client(broker.bootstrap) as client:
        client.address = broker.bootstrap  # type: ignore[attr-defined]
        yield client


def test_three_clusters_in_a_ring(pair: Pair, third: Client, topic: str) -> None:
    """S8: records are passed on, and end before the cluster that they come from."""
    ring = (*pair.addresses, third.address, pair.a.bootstrap)  # type: ignore[attr-defined]
    pair.at_a.create_topics({topic: 1})
    third.create_topics({topic: 1})
    write(pair.at_a, topic, 0, numbered("a", 100))
    write(third, topic, 0, numbered("c", 50))
    for _ in range(2):
        for first, second in itertools.pairwise(ring):
            run(first, second, topic)
    held = [read_topic(each, topic)[0] for each in (pair.at_a, pair.at_b, third)]
    written = Counter(Seen(*each[:4]) for each in (*numbered("a", 100), *numbered("c", 50)))
    assert [Counter(each.seen for each in some) for some in held] == [written] * 3
    assert max(len(each.hops) for some in held for each in some) == 2


def test_three_clusters_in_a_row(pair: Pair, third: Client, topic: str) -> None:
    """S8: records pass through the cluster in the middle, both ways, and never come back to one they have been in."""
    row = (*pair.addresses, third.address)  # type: ignore[attr-defined]
    for name, client in (("a", pair.at_a), ("b", pair.at_b), ("c", third)):
        client.create_topics({topic: 1})
        write(client, topic, 0, numbered(name, 40))
    for _ in range(2):
        for first, second in itertools.pairwise(row):
            run(first, second, topic, both=True)
    held = [Counter(each.seen for each in read_topic(each, topic)[0]) for each in (pair.at_a, pair.at_b, third)]
    assert held[0] == held[1] == held[2]
    assert held[0].total() == 120


def test_own_only_leaves_out_what_came_from_elsewhere(pair: Pair, third: Client, topic: str) -> None:
    """S8: where every cluster is synced with every other, each passes on only what was produced in it."""
    addresses = (*pair.addresses, third.address)  # type: ignore[attr-defined]
    for name, client in (("a", pair.at_a), ("b", pair.at_b), ("c", third)):
        client.create_topics({topic: 1})
        write(client, topic, 0, numbered(name, 40))
    for _ in range(2):
        for first, second in itertools.combinations(addresses, 2):
            run(first, second, topic, both=True, own_only=True)
    held = [Counter(each.seen for each in read_topic(each, topic)[0]) for each in (pair.at_a, pair.at_b, third)]
    assert held[0] == held[1] == held[2]
    assert held[0].total() == 120


def test_compacted_both_ways_needs_a_choice(pair: Pair, topic: str) -> None:
    """S8: without --last-writer-wins it is refused, by name; one way it is not."""
    pair.at_a.create_topics({topic: 1}, {"cleanup.policy": "compact"})
    write(pair.at_a, topic, 0, [Record(b"k", b"v", 1)])
    with pytest.raises(NeedsChoice, match=rf"{topic}.*--last-writer-wins"):
        run(*pair.addresses, topic, both=True)
    run(*pair.addresses, topic)
    assert_equal(read_topic(pair.at_a, topic), read_topic(pair.at_b, topic))


def last_of(held: list[Held]) -> dict[bytes | None, tuple[bytes | None, int]]:
    """What compaction would leave: the last record of each key."""
    return {each.seen.key: (each.seen.value, each.seen.timestamp) for each in held}


class Crossing:
    """Writes of a few keys on both sides, and which of them are the latest."""

    def __init__(self, pair: Pair, topic: str, seed: int) -> None:
        self._pair, self._topic = pair, topic
        self._chance = random.Random(seed)
        self._clients = {"a": pair.at_a, "b": pair.at_b}
        self._clusters = {name: each.metadata([]).cluster_id or "" for name, each in self._clients.items()}
        self._latest: dict[bytes, tuple[int, str]] = {}
        self._count = 0
        for client in self._clients.values():
            client.create_topics({topic: 1}, {"cleanup.policy": "compact"})

    def write(self, count: int) -> None:
        for _ in range(count):
            side, self._count = self._chance.choice("ab"), self._count + 1
            records = []
            for index in range(self._chance.randrange(1, 6)):
                key = f"k{self._chance.randrange(12)}".encode()
                time = 1000 + self._count * 3 + self._chance.randrange(40)
                records.append(Record(key, f"{side}-{self._count}-{index}".encode(), time))
                self._latest[key] = max(self._latest.get(key, (0, "")), (time, self._clusters[side]))
            self._clients[side].produce({(self._topic, 0): build(records)})

    def check(self) -> None:
        """Each side ends with the latest write of each key."""
        run(*self._pair.addresses, self._topic, both=True, last_writer_wins=True)
        here, there = (last_of(read_topic(each, self._topic)[0]) for each in self._clients.values())
        assert here == there
        found = {key: (time, self._clusters[(value or b"")[:1].decode()]) for key, (value, time) in here.items()}
        assert found == self._latest


@pytest.mark.parametrize("seed", [1, 2])
def test_the_last_writer_wins(pair: Pair, topic: str, seed: int) -> None:
    """S8: writes of one key that cross end with the latest on both sides, also while both are written."""
    crossing = Crossing(pair, topic, seed)
    settings = SyncSettings(patterns=(topic,), both=True, last_writer_wins=True, save_interval_s=0.2)
    live = Live(Sync(*pair.addresses, settings))
    crossing.write(120)
    live.stop()
    crossing.check()


def test_the_last_writer_wins_under_kills(pair: Pair, topic: str) -> None:
    """S8: a sync that is killed leaves nothing that a later one does not set right."""
    crossing = Crossing(pair, topic, 3)
    options = ("--both", "--last-writer-wins", "--topics", topic, "--save-interval", "0.2")
    for _ in range(2):
        crossing.write(20)
        sync = SyncProcess(*pair.addresses, *options)
        sync.wait_for("records", 1)
        crossing.write(20)
        sync.kill()
    crossing.check()
