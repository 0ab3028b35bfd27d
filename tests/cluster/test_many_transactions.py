"""Transactions over real brokers that share a store: killed, stopped, partitions and coordinators moved under them."""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from tests.broker.wire import Wire
from tests.cluster.test_many import MANY, leaders, many, start, until_led_by
from tests.cluster.test_pair import QUICK, SEVERAL, Cluster
from tests.kill import copying, transfers
from tests.kill.numbers import QUIET
from tests.kill.transactors import CLIENTS, Librdkafka
from tests.kill.transfers import Transfers, transfer
from tests.support.broker_process import COMMAND, BrokerProcess
from tests.support.reading import read_twice, wait_until_ended

from holdfast.protocol.api import Key
from holdfast.protocol.codes import Code
from holdfast.testing.certificates import AuthorityFolder
from holdfast.testing.ports import free_port

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
    deadline = time.monotonic() + 60
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


class Impatient(Librdkafka):
    """As clients of several brokers should be set."""

    def __init__(self, address: str, transactional_id: str) -> None:
        super().__init__(address, transactional_id, SEVERAL)


def test_transactions_are_whole_when_brokers_die_and_partitions_move(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C1, C2, C7: partitions and coordinators move, one broker is killed and comes, one stopped."""
    monkeypatch.setitem(CLIENTS, "impatient", Impatient)
    with many(tmp_path, *QUICK) as cluster:
        start(cluster, 1, 2, 3)
        make_topics(cluster)
        until_led_by(cluster, 2, {1, 2, 3}, topic=transfers.TOPIC)
        gaps: dict[str, float] = {}
        with under_way(cluster.bootstrap, ("impatient", "aiokafka")) as history:
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
            cluster.until(3, "joins the cluster again", 60.0)
            gaps["goes on"] = until_more(history)
        print(f"without a commit: {gaps}; {len(history.committed)} committed, {len(history.unclear)} unclear")
        check(history, cluster.bootstrap)


class Guarded(Cluster):
    """Brokers whose first listener wants TLS and a login, and whose second knows nobody; rules count."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, str(folder / "store"), (*QUICK, *MANY))
        self.authority = AuthorityFolder(folder / "ca")
        self.keystore = self.authority.signed("broker", "CN=localhost,O=Tests")
        self.doors: dict[int, int] = {}

    def made(self, number: int, name: str = "", port: int = 0, more: tuple[str, ...] = ()) -> BrokerProcess:
        port, door = port or free_port(), self.doors.setdefault(number, free_port())
        file = self._folder / f"server-{number}.properties"
        file.write_text(
            f"listeners=SASL_SSL://127.0.0.1:{door},PLAINTEXT://127.0.0.1:{port}\n"
            f"ssl.keystore.location={self.keystore}\n"
            "sasl.enabled.mechanisms=PLAIN\n"
            "sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required "
            'user_alice="secret" user_bob="other";\n'
            "authorizer.class.name=standard\nsuper.users=User:alice\n"
        )
        return BrokerProcess(
            self._folder / (name or f"b{number}"),
            port=port,
            settings=(*self._settings, f"node.id={number}", *more),
            options=["--cluster", "--config", str(file)],
            sets_listeners=True,
        )

    def settings(self) -> dict[str, object]:
        return {
            **QUIET,
            "bootstrap.servers": ",".join(f"localhost:{each}" for each in self.doors.values()),
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": str(self.authority.certificate),
            "sasl.mechanisms": "PLAIN",
            "sasl.username": "alice",
            "sasl.password": "secret",
            "ssl.endpoint.identification.algorithm": "none",
        }


def test_brokers_that_want_logins_prove_to_each_other_who_they_are(tmp_path: Path) -> None:
    """C7, in part: with TLS and SASL on the listener; whoever proves nothing and has no right ends no transaction."""
    with Guarded(tmp_path) as cluster:
        for number in (1, 2):
            cluster.start(number)
            cluster.until(number, f"broker {number} leads with")
        admin = AdminClient(cluster.settings())
        deadline = time.monotonic() + 60
        while len(admin.list_topics(timeout=30).brokers) != 2:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        admin.create_topics([NewTopic("t", 2)])["t"].result()
        for name in ("one", "two", "three", "four"):  # Coordinators are on both.
            producer = Producer({**cluster.settings(), "transactional.id": name})
            producer.init_transactions(60)
            for _ in range(2):
                producer.begin_transaction()
                for partition in range(2):
                    producer.produce("t", name, partition=partition)
                producer.commit_transaction(60)
        found = Consumer({**cluster.settings(), "group.id": "g", "isolation.level": "read_committed"})
        found.assign([TopicPartition("t", each, 0) for each in range(2)])
        assert len(found.consume(16, 60)) == 16
        found.close()
        marker = {"producer_id": 0, "topics": [{"name": "t", "partition_indexes": [0, 1]}]}
        with Wire(cluster.brokers[1].port) as wire:
            answer = wire.ask(Key.WRITE_TXN_MARKERS, 1, markers=[marker])
        codes = [each.error_code for topic in answer.markers[0].topics for each in topic.partitions]
        assert codes == [Code.CLUSTER_AUTHORIZATION_FAILED] * 2
