"""Exactly once with Kafka's Java clients over three brokers: one is killed, one stopped, partitions are moved."""

from __future__ import annotations

import random
import signal
from pathlib import Path

from tests.cluster.test_many import MANY, start
from tests.cluster.test_many_transactions import STATES, move
from tests.cluster.test_pair import QUICK, Cluster
from tests.java.jvm import Jvm
from tests.java.serving import SETTINGS
from tests.java.test_exactly_once import PARTITIONS, WAIT_S, copier, until
from tests.support.reading import read_twice, read_whole, values_of

EACH = 250


def test_copies_over_three_brokers_are_exact(needs_java: None, tmp_path: Path, name: str) -> None:
    """C1, C2, C7, K4, in part: every record is copied once and in order, by groups of both protocols, with aborts."""
    chance = random.Random(5)
    sent = [[b"%d" % chance.randrange(10**9) for _ in range(EACH)] for _ in range(PARTITIONS)]
    store = tmp_path / "store"
    with Cluster(tmp_path, str(store), (*SETTINGS, *QUICK, *MANY)) as cluster:
        start(cluster, 1, 2, 3)
        with Jvm(cluster.bootstrap) as java:
            copied = f"{name}-copy"
            for topic in (name, copied):
                java.do("topics.create", topic=topic, partitions=PARTITIONS)
            records = [
                {"topic": name, "partition": number, "value": value}
                for number in range(PARTITIONS)
                for value in sent[number]
            ]
            java.do("produce", config={"linger.ms": "20"}, records=records)
            for number, protocol in enumerate(("classic", "consumer")):
                java.do("copy.start", **copier(f"copier-{number}", name, protocol, len(records), seed=number))

            def until_copied(part: int) -> None:
                wanted = len(records) * part // 4
                until(
                    lambda: len(read_whole(cluster.bootstrap, copied, PARTITIONS, committed=True)) > wanted,
                    "hardly anything is copied",
                )

            until_copied(1)
            move(cluster, store, copied, 0, 2)
            for each in range(2):
                move(cluster, store, STATES, each, 2)
            cluster.brokers[1].kill()
            until_copied(2)
            cluster.start(1)
            cluster.until(1, "broker 1 leads with")
            third = cluster.brokers[3]
            third.signal(signal.SIGSTOP)
            try:
                until_copied(3)
            finally:
                third.signal(signal.SIGCONT)
            took = [java.do("copy.wait", name=f"copier-{number}", seconds=WAIT_S) for number in range(2)]
        committed, everything = read_twice(cluster.bootstrap, copied, PARTITIONS)
    for number in range(PARTITIONS):
        assert values_of(committed, number) == sent[number]
    assert sum(each["aborts"] for each in took) > 0
    assert len(everything) > len(committed), "aborted records are there for readers of everything"
