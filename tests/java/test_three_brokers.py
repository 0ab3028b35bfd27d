"""Clients of several kinds at three brokers, of which one is killed, stopped, cut off from the store and drained."""

from __future__ import annotations

import subprocess
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Message
from tests.java.jvm import Jvm
from tests.support.broker_process import BrokerProcess
from tests.support.reading import Place, read_messages
from tests.support.three_brokers import (
    NUMBERS,
    PARTITIONS,
    WORDS,
    Arrivals,
    Feed,
    Pause,
    Three,
    Watch,
    gaps,
    in_order,
    stamps,
    three_brokers,
    until,
    values_of,
)
from tests.sync.process import SyncProcess
from tests.sync.sides import Held, assert_equal, read_topic

from holdfast.client import Client

pytestmark = [pytest.mark.slow, pytest.mark.s3, pytest.mark.timeout(900)]

PROTOCOLS = ("classic", "consumer")
COUNTS, GO, HERE, THERE = "counts", "go", "here", "there"
LASTING = Path(__file__).parents[2] / ".tools" / "go" / "lasting"
WAIT_S = 120
PATIENCE = {"request.timeout.ms": "3000"}  # So long a client waits for a broker that is stopped.


def copy_of(protocol: str) -> str:
    return f"{NUMBERS}-{protocol}"


@dataclass
class Seen:
    """All that there was at the end."""

    feed: Feed
    pauses: list[Pause]
    topics: dict[str, dict[Place, Message]]  # What is committed.
    copiers: dict[str, dict[str, Any]]
    streams: list[str]  # What Streams failed with.
    go: list[list[str]]
    here: dict[str, list[list[Held]]]
    there: dict[str, list[list[Held]]]  # In the other cluster.
    home: Feed
    arrived: list[list[float]]  # When sync brought something to the other cluster, by partition.


class Clients:
    """All of them under way."""

    def __init__(self, three: Three, other: BrokerProcess, folder: Path, stack: ExitStack) -> None:
        self.three, self.other = three, other
        three.make_topics(NUMBERS, WORDS, COUNTS, GO, *(copy_of(each) for each in PROTOCOLS))
        for each in (other.address, three.bootstrap):
            with Client(each) as client:  # Where brokers stamp, sync could not keep timestamps, and says so.
                client.create_topics(dict.fromkeys((HERE, THERE), PARTITIONS))
        self.java = stack.enter_context(Jvm(three.bootstrap))
        for protocol in PROTOCOLS:
            self.java.do("copy.start", **copier(protocol))
        self.java.do("streams.start", name=COUNTS, config=streams(folder), **{"from": WORDS, "to": COUNTS})
        self.go = subprocess.Popen(
            [LASTING, three.bootstrap, GO, "go-group", str(PARTITIONS)],
            stdin=subprocess.PIPE,
            stdout=(folder / "go").open("w"),
            stderr=(folder / "go-said").open("w"),
        )
        stack.callback(self.go.kill)
        ways = ("--both", "--topics", HERE, "--topics", THERE, "--save-interval", "0.5")
        self.sync = SyncProcess(three.bootstrap, other.address, *ways)
        stack.callback(self.sync.kill)
        texts = {NUMBERS: str, HERE: str, WORDS: lambda number: f"word-{number % 40}"}
        self.feed = Feed(three.bootstrap, texts)
        self.home = Feed(other.address, {THERE: str})
        self._folder = folder
        self._watches = (
            Watch(three.bootstrap, *texts, COUNTS, GO, THERE, *(copy_of(each) for each in PROTOCOLS)),
            Watch(other.address, HERE),
        )
        for each in self._watches:
            stack.callback(each.close)
        self._arrivals = Arrivals(other.address, HERE)
        stack.callback(self._arrivals.stop)

    def go_on(self) -> None:
        """Wait until each has got on, in every partition."""
        assert self.sync.is_running, self.sync.said
        assert self.go.poll() is None, (self._folder / "go-said").read_text()
        for each in self._watches:
            each.until_more()

    def finish(self) -> Seen:
        """Until each has done what there was to do."""
        for feed in (self.feed, self.home):
            feed.stop()
        assert self.go.stdin is not None
        self.go.stdin.close()
        count = len(self.feed.sent[NUMBERS])
        copiers = {
            each: self.java.do("copy.wait", name=each, count=count, seconds=WAIT_S) for each in PROTOCOLS
        }  # fmt: skip
        until(lambda: len(self._read(COUNTS)) >= len(self.feed.sent[WORDS]), lambda: "not everything is counted")
        failed = self.java.do("streams.close", name=COUNTS)
        assert self.go.wait(WAIT_S) == 0, (self._folder / "go-said").read_text()
        with Client(self.three.bootstrap) as client, Client(self.other.address) as other:
            self._until_equal(client, other)
            assert self.sync.stop() == 0, self.sync.said
            here, there = ({topic: read_topic(at, topic) for topic in (HERE, THERE)} for at in (client, other))
        topics = (NUMBERS, WORDS, COUNTS, GO, *(copy_of(each) for each in PROTOCOLS))
        return Seen(
            feed=self.feed,
            pauses=self.three.pauses,
            topics={topic: self._read(topic) for topic in topics},
            copiers=copiers,
            streams=failed,
            go=[line.split() for line in (self._folder / "go").read_text().splitlines()],
            here=here,
            there=there,
            home=self.home,
            arrived=self._arrivals.stop(),
        )

    def _read(self, topic: str) -> dict[Place, Message]:
        return read_messages(self.three.bootstrap, topic, PARTITIONS, committed=True)

    def _until_equal(self, here: Client, there: Client) -> None:
        def size(at: Client, topic: str) -> int:
            return sum(map(len, read_topic(at, topic)))

        for source, target, feed, topic in (here, there, self.feed, HERE), (there, here, self.home, THERE):
            wanted = len(feed.sent[topic])
            assert size(source, topic) == wanted
            until(
                lambda target=target, topic=topic, wanted=wanted: size(target, topic) >= wanted,
                lambda topic=topic: f"not all of {topic} is copied: {self.sync.said}",
            )


def copier(protocol: str) -> dict[str, Any]:
    classic = {"session.timeout.ms": "6000", "heartbeat.interval.ms": "500"} if protocol == "classic" else {}
    consumer = {
        "group.id": f"java-{protocol}",
        "group.protocol": protocol,
        "isolation.level": "read_committed",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": "false",
        "fetch.max.wait.ms": "100",
        **PATIENCE,
        **classic,
    }
    producer = {"transactional.id": f"java-{protocol}", "transaction.timeout.ms": "20000", "linger.ms": "0", **PATIENCE}
    return {
        "name": protocol,
        "from": NUMBERS,
        "to": copy_of(protocol),
        "consumer": {"config": consumer},
        "producer": {"config": producer},
        "partitions": PARTITIONS,
        "count": -1,
        "seed": 7,
        "abort_percent": 5,
    }


def streams(folder: Path) -> dict[str, str]:
    return {
        **PATIENCE,
        "application.id": "counting",
        "processing.guarantee": "exactly_once_v2",
        "commit.interval.ms": "200",
        "state.dir": str(folder / "streams"),
        "repartition.purge.interval.ms": "600000",
        "consumer.auto.offset.reset": "earliest",
        "consumer.session.timeout.ms": "6000",
        "consumer.heartbeat.interval.ms": "500",
    }


@pytest.fixture(scope="module")
def seen(needs_java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    """One run of all of them."""
    folder = tmp_path_factory.mktemp("three")
    with ExitStack() as stack:
        three = three_brokers(folder, stack)
        other = stack.enter_context(BrokerProcess(folder / "other", settings=("subscribe.listen=none",)))
        clients = Clients(three, other, folder, stack)
        try:
            three.all_of_it(clients.go_on)
            yield clients.finish()
        except BaseException:
            print(clients.java.said()[-3000:], (folder / "go-said").read_text()[-2000:], clients.sync.said[-20:])
            raise


def test_librdkafka_writes_once(seen: Seen) -> None:
    """C1, C2: an idempotent producer: every record is where it was told, and nothing else is there, in order."""
    print("gaps", gaps(stamps(seen.topics[NUMBERS]), seen.pauses))
    for topic in (NUMBERS, WORDS):
        seen.feed.check(topic, values_of(seen.topics[topic]))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_java_copies_once(seen: Seen, protocol: str) -> None:
    """C1, C2, C7: a transactional producer and a group of either protocol: each record once and in order."""
    copied = seen.topics[copy_of(protocol)]
    print("gaps", gaps(stamps(copied), seen.pauses), {**seen.copiers[protocol]})
    source = values_of(seen.topics[NUMBERS])
    for partition in range(PARTITIONS):
        assert in_order(values_of(copied), partition) == in_order(source, partition)


def test_streams_count_once(seen: Seen) -> None:
    """C1, C2, C7: Kafka Streams with exactly_once_v2: every count of every word from 1 on is there once, in order."""
    print("gaps", gaps(stamps(seen.topics[COUNTS]), seen.pauses))
    assert seen.streams == []
    counts: dict[str, list[int]] = defaultdict(list)
    for _, each in sorted(seen.topics[COUNTS].items()):
        counts[(each.key() or b"").decode()].append(int(each.value() or b""))
    sent = seen.feed.sent[WORDS]
    assert counts == {word: list(range(1, sent.count(word) + 1)) for word in set(sent)}


def test_franz_go_writes_once_and_reads_all(seen: Seen) -> None:
    """C1, C2: an idempotent producer of franz-go, and a group that leaves nothing out."""
    print("gaps", gaps(stamps(seen.topics[GO]), seen.pauses))
    stored = values_of(seen.topics[GO])
    acked = {(int(row[1]), int(row[2])): row[3].encode() for row in seen.go if row[0] == "acked"}
    assert acked == stored
    for partition in range(PARTITIONS):
        numbers = [int(each) for each in in_order(stored, partition)]
        assert numbers == list(range(partition, len(numbers) * PARTITIONS, PARTITIONS))
    behind = [0] * PARTITIONS
    for row in (row for row in seen.go if row[0] == "read"):
        partition, offset = int(row[1]), int(row[2])
        assert stored[partition, offset] == row[3].encode()
        assert offset <= behind[partition], "Something was left out."
        behind[partition] = max(behind[partition], offset + 1)
    assert sum(behind) == len(stored)


@pytest.mark.parametrize("topic", [HERE, THERE])
def test_sync_keeps_both_clusters_equal(seen: Seen, topic: str) -> None:
    """C1, C2, S8: both ways between three brokers and another cluster: nothing lost, doubled, or in another order."""
    print("gaps", gaps(seen.arrived, seen.pauses))
    assert sum(map(len, seen.here[topic])) == len((seen.feed if topic == HERE else seen.home).sent[topic])
    assert_equal(seen.here[topic], seen.there[topic])
