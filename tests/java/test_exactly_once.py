"""Exactly once with Kafka's Java clients: Kafka Streams and copy loops, while the broker is killed."""

from __future__ import annotations

import base64
import random
import time
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Producer
from tests.java.jvm import Jvm
from tests.java.serving import Serving
from tests.support.reading import read_twice, read_whole, values_of

WAIT_S = 90
PARTITIONS = 2


@pytest.fixture(scope="module")
def own(needs_java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A broker that the tests may kill; segments are small, so that transactions reach into the store."""
    small = ("log.segment_size_max=65536", "log.flush_age_ms_max=300")
    with Serving(tmp_path_factory.mktemp("killed"), *small) as serving:
        yield serving


@pytest.fixture(scope="module")
def own_java(own: Serving) -> Iterator[Jvm]:
    with Jvm(own.address) as jvm:
        yield jvm


def kill(broker: Serving) -> None:
    broker.kill()
    broker.start()


def until(done: Any, what: str) -> None:
    deadline = time.monotonic() + WAIT_S
    while not done():
        assert time.monotonic() < deadline, what


class Words:
    """Words that are counted by Kafka Streams: what was sent, and what has come out."""

    def __init__(self, broker: Serving, java: Jvm, name: str) -> None:
        self.broker, self.java = broker, java
        self.source, self.counts = f"{name}-words", f"{name}-counts"
        self.application = name
        for topic in (self.source, self.counts):
            java.do("topics.create", topic=topic, partitions=PARTITIONS)
        self._producer = Producer({"bootstrap.servers": broker.address, "enable.idempotence": True, "linger.ms": 1})
        self.sent: dict[str, int] = defaultdict(int)

    def send(self, count: int) -> None:
        """Without a wait: they are on their way while whatever comes next happens."""
        for number in range(count):
            word = f"word-{number * number % 13}"
            self._producer.produce(self.source, word, partition=number % PARTITIONS)
            self.sent[word] += 1

    def sent_all(self) -> None:
        assert self._producer.flush(WAIT_S) == 0

    def start(self, name: str, folder: Any) -> None:
        settings = {
            "application.id": self.application,
            "processing.guarantee": "exactly_once_v2",
            "commit.interval.ms": "30",
            "num.stream.threads": "2",
            "repartition.purge.interval.ms": "600000",  # The topics are read twice, and must not change in between.
            "state.dir": str(folder / name),
            "consumer.auto.offset.reset": "earliest",
            "consumer.session.timeout.ms": "6000",
            "consumer.heartbeat.interval.ms": "200",
        }
        self.java.do("streams.start", name=name, config=settings, **{"from": self.source, "to": self.counts})

    def counted(self) -> int:
        return len(read_whole(self.broker.address, self.counts, PARTITIONS, committed=True))

    def wait_for_more(self) -> None:
        before = self.counted()
        until(lambda: self.counted() > before, "nothing is counted")


def test_streams_count_exactly_once(own: Serving, own_java: Jvm, name: str, tmp_path: Any) -> None:
    """K1, K4, A8: Kafka Streams with exactly_once_v2 counts each word once: every count from 1 on is there once, in
    order, though the broker is killed three times and the application is started anew from its changelog."""
    words = Words(own, own_java, name)
    words.start("first", tmp_path)
    for _ in range(2):
        words.send(300)
        words.wait_for_more()
        kill(own)
    assert own_java.do("streams.close", name="first") == []
    words.send(300)
    words.start("second", tmp_path)
    words.wait_for_more()
    kill(own)
    words.sent_all()
    total = sum(words.sent.values())
    until(lambda: words.counted() >= total, f"{words.counted()} of {total} are counted")
    assert own_java.do("streams.close", name="second") == []

    committed, _ = read_twice(own.address, words.counts, PARTITIONS)
    counts: dict[str, list[int]] = defaultdict(list)
    for _, (key, value) in sorted(committed.items()):
        assert key is not None
        counts[key.decode()].append(int(value))
    assert counts == {word: list(range(1, count + 1)) for word, count in words.sent.items()}
    for internal in ("counts-changelog", "counts-repartition"):
        topic = f"{name}-{internal}"
        assert topic in own_java.do("topics.list")
        read_twice(own.address, topic, PARTITIONS)


def copier(name: str, group: str, protocol: str, count: int, seed: int) -> dict[str, Any]:
    classic = {"session.timeout.ms": "6000", "heartbeat.interval.ms": "100"} if protocol == "classic" else {}
    consumer = {
        "group.id": group,
        "group.protocol": protocol,
        "isolation.level": "read_committed",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": "false",
        "max.poll.records": "20",
        "fetch.max.wait.ms": "50",
        **classic,
    }
    producer = {"transactional.id": f"{group}-{name}", "transaction.timeout.ms": "10000", "linger.ms": "0"}
    return {
        "name": name,
        "to": f"{group}-copy",
        "from": group,
        "consumer": {"config": consumer},
        "producer": {"config": producer},
        "partitions": PARTITIONS,
        "count": count,
        "seed": seed,
        "abort_percent": 30,
    }


@pytest.mark.parametrize("protocols", [("classic", "classic"), ("consumer", "classic"), ("consumer", "consumer")])
def test_copies_are_exact(own: Serving, own_java: Jvm, name: str, protocols: tuple[str, str]) -> None:
    """K3, K4, A8: two Java copiers of one group, with offsets in transactions, random aborts and a broker that is
    killed: every record is copied once and in its order, and what was aborted is seen only by those who ask for it."""
    group = name
    chance = random.Random(11)
    sent = [[b"%d" % chance.randrange(10**9) for _ in range(250)] for _ in range(PARTITIONS)]
    for topic in (group, f"{group}-copy"):
        own_java.do("topics.create", topic=topic, partitions=PARTITIONS)
    records = [
        {"topic": group, "partition": number, "value": value} for number in range(PARTITIONS) for value in sent[number]
    ]
    own_java.do("produce", config={"linger.ms": "20"}, records=records)
    for number, protocol in enumerate(protocols):
        own_java.do("copy.start", **copier(f"copier-{number}", group, protocol, len(records), seed=number))
    copied = f"{group}-copy"
    for part in (1, 2):
        until(
            lambda part=part: (
                len(read_whole(own.address, copied, PARTITIONS, committed=True)) > len(records) * part // 4
            ),
            "hardly anything is copied",
        )
        kill(own)
    took = [own_java.do("copy.wait", name=f"copier-{number}", seconds=WAIT_S) for number in range(2)]

    committed, everything = read_twice(own.address, copied, PARTITIONS)
    for number in range(PARTITIONS):
        assert values_of(committed, number) == sent[number]
    assert sum(each["aborts"] for each in took) > 0
    assert len(everything) > len(committed), "aborted records are there for readers of everything"
    offsets = own_java.do("groups.offsets", group=group)
    assert {place: at[0] for place, at in offsets.items()} == {f"{group}-{each}": 250 for each in range(PARTITIONS)}


def test_commits_and_aborts(java: Jvm, broker: Serving, name: str) -> None:
    """K4: what Java commits is seen whole, what it aborts is not; another epoch begins with each transaction."""
    java.do("topics.create", topic=name, partitions=PARTITIONS)
    java.do("transactor.open", producer=name, config={"transactional.id": name})
    expected: list[list[bytes]] = [[], []]
    epochs = []
    for number in range(6):
        java.do("transactor.begin", producer=name)
        values = [b"%d-%d" % (number, each) for each in range(4)]
        records = [{"topic": name, "partition": each % PARTITIONS, "value": value} for each, value in enumerate(values)]
        assert all("offset" in each for each in java.do("transactor.send", producer=name, records=records))
        epochs.append(java.do("transactions.describe", id=name)["epoch"])
        committed, everything = read_twice(broker.address, name, PARTITIONS)
        assert [values_of(committed, each) for each in range(PARTITIONS)] == expected
        assert len(everything) == 4 * (number + 1)
        if number % 3:
            java.do("transactor.commit", producer=name)
            expected = [before + values[each::PARTITIONS] for each, before in enumerate(expected)]
        else:
            java.do("transactor.abort", producer=name)
    assert epochs == sorted(set(epochs)), "version 2 of transactions"
    committed, _ = read_twice(broker.address, name, PARTITIONS)
    assert [values_of(committed, each) for each in range(PARTITIONS)] == expected
    seen = java.do("consume", partitions=[[name, 0], [name, 1]], count=16, config={"isolation.level": "read_committed"})
    assert [[base64.b64decode(each["value"]) for each in seen if each["partition"] == p] for p in (0, 1)] == expected
    java.do("transactor.close", producer=name)
