"""Transactions over real brokers that share a store: killed, stopped, partitions and coordinators moved under them."""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka.admin import AdminClient, NewTopic
from tests.cluster.test_many import leaders, many, start, until_led_by
from tests.cluster.test_pair import QUICK, Cluster
from tests.kill import copying, transfers
from tests.kill.transfers import Transfers, transfer
from tests.support.broker_process import COMMAND
from tests.support.reading import read_twice, wait_until_ended

STATES = "__transaction_state"


@contextmanager
def under_way(bootstrap: str, clients: tuple[str, ...]) -> Iterator[Transfers]:
    """Transfers by several clients, and a copy of them with offsets in its transactions."""
    history, stop = Transfers(), threading.Event()
    threads = [
        threading.Thread(target=transfer, args=(client, bootstrap, history, stop, at))
        for at, client in enumerate(clients)
    ]
    threads.append(threading.Thread(target=copying.copy, args=("classic", bootstrap, history.failures, stop, 9)))
    for each in threads:
        each.start()
    try:
        yield history
    finally:
        stop.set()
        for each in threads:
            each.join()


def until_more(history: Transfers, count: int = 15) -> float:
    """Wait until so many more are committed; the longest time without any."""
    before, since, longest = len(history.committed), time.monotonic(), 0.0
    wanted = before + count
    while before < wanted:
        assert time.monotonic() < since + 60, f"nothing is committed any more: {history.failures[-3:]}"
        time.sleep(0.01)
        now, there = time.monotonic(), len(history.committed)
        longest = max(longest, now - since)
        if there > before:
            before, since = there, now
    return longest


def move(cluster: Cluster, store: Path, topic: str, partition: int, asked: int) -> None:
    """To the next broker, and wait until it leads."""
    others = sorted(cluster.brokers)
    before = leaders(cluster, asked, topic)[partition]
    wanted = others[(others.index(before) + 1) % len(others)] if before in others else others[0]
    subprocess.run([COMMAND, "cluster", "move", str(store), f"{topic}:{partition}", str(wanted)], check=True)
    deadline = time.monotonic() + 20
    while leaders(cluster, asked, topic)[partition] != wanted:
        assert time.monotonic() < deadline, f"{topic}-{partition} was not moved"
        time.sleep(0.1)


def make_topics(cluster: Cluster) -> None:
    admin = AdminClient(cluster.settings())
    made = admin.create_topics([NewTopic(each, transfers.PARTITIONS) for each in (transfers.TOPIC, copying.TOPIC)])
    for each in made.values():
        each.result()


def check(history: Transfers, address: str) -> None:
    """All of each transfer, or nothing, for readers of what is committed; nothing is open; the copy is the same."""
    for topic in (transfers.TOPIC, copying.TOPIC):
        wait_until_ended(address, topic, transfers.PARTITIONS)
    committed, everything = read_twice(address, transfers.TOPIC, transfers.PARTITIONS)
    assert transfers.check(history, committed, everything) == []
    copies, _ = read_twice(address, copying.TOPIC, transfers.PARTITIONS)
    for partition in range(transfers.PARTITIONS):
        source = [value for (at, _), (_, value) in sorted(committed.items()) if at == partition]
        copied = [value for (at, _), (_, value) in sorted(copies.items()) if at == partition]
        assert copied == source[: len(copied)], "A copy is not what was there, once and in order."
    assert copies


def test_transactions_are_whole_when_brokers_die_and_partitions_move(tmp_path: Path) -> None:
    """C1, C2, C7: three brokers; a partition and coordinators move, one broker is killed, one stopped, one comes."""
    with many(tmp_path, *QUICK) as cluster:
        start(cluster, 1, 2, 3)
        make_topics(cluster)
        until_led_by(cluster, 2, {1, 2, 3}, topic=transfers.TOPIC)
        gaps: dict[str, float] = {}
        with under_way(cluster.bootstrap, ("librdkafka", "aiokafka")) as history:
            until_more(history)
            move(cluster, tmp_path / "store", transfers.TOPIC, 0, 2)
            for each in range(4):
                move(cluster, tmp_path / "store", STATES, each, 2)
            gaps["moved"] = until_more(history)
            cluster.brokers[1].kill()
            gaps["killed"] = until_more(history)
            cluster.start(1)
            cluster.until(1, "broker 1 leads with")
            gaps["back"] = until_more(history)
            third = cluster.brokers[3]
            third.signal(signal.SIGSTOP)
            try:
                gaps["stopped"] = until_more(history)
            finally:
                third.signal(signal.SIGCONT)
            cluster.until(3, "joins the cluster again")
            gaps["goes on"] = until_more(history)
        print(f"without a commit: {gaps}; {len(history.committed)} committed, {len(history.unclear)} unclear")
        check(history, cluster.bootstrap)
