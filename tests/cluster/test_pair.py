"""Real brokers that share a store: one leads, is killed, stopped, sent away, and another goes on in its place."""

from __future__ import annotations

import importlib.metadata
import json
import re
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from tests.kill.numbers import (
    GROUPS,
    PARTITIONS,
    QUIET,
    TOPIC,
    History,
    check,
    check_committed,
    follow,
    produce,
    read_all,
    wait_for_groups,
)
from tests.support.broker_process import COMMAND, BrokerProcess
from tests.support.faulty_proxy import Fault, FaultyProxy
from tests.support.s3_server import S3Server, missing

from holdfast.client import Client
from holdfast.client.errors import NodeUnreachable
from holdfast.cluster.level import LEVEL
from holdfast.errors import Unavailable
from holdfast.protocol.api import Key
from holdfast.testing import free_port
from holdfast.testing.process import BrokerDidNotStart

QUICK = ("cluster.lease_renew_ms=200", "cluster.lease_ms=600", "cluster.takeover_ms=1200", "log.owner_check_ms=200")
SEVERAL = {
    "metadata.recovery.strategy": "rebootstrap",  # As every client has it that is told of several brokers.
    "socket.timeout.ms": 5000,  # A client waits so long for a broker that is stopped, and keeps the rest waiting.
}
GAP_S_MAX = 10.0  # C2.


@pytest.fixture(params=["a directory", pytest.param("S3", marks=pytest.mark.s3)])
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    if request.param == "a directory":
        yield str(tmp_path / "store")
        return
    if reason := missing():
        pytest.skip(reason)
    with S3Server() as server:
        server.tell(monkeypatch)
        yield f"s3://{server.fresh_bucket()}"


class Cluster:
    """Brokers on one store."""

    def __init__(self, folder: Path, store: str, settings: tuple[str, ...] = QUICK) -> None:
        self._folder = folder
        self._store = store
        self._settings = ("wal.interval_ms=5", "subscribe.listen=none", *settings, f"serve.store={store}")
        self.brokers: dict[int, BrokerProcess] = {}
        self._ports: dict[int, int] = {}

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        for each in self.brokers.values():
            each.close()

    def made(
        self, number: int, name: str = "", port: int = 0, more: tuple[str, ...] = (), release: Path | None = None
    ) -> BrokerProcess:
        """A broker that is not started yet; of another release, if a folder with its source is named."""
        port = port or self._ports.setdefault(number, free_port())
        settings = (*self._settings, f"node.id={number}", *more)
        place, environment = self._folder / (name or f"b{number}"), {"PYTHONPATH": str(release)} if release else None
        return BrokerProcess(place, port=port, settings=settings, options=["--cluster"], environment=environment)

    def start(self, number: int) -> BrokerProcess:
        """It can be reached when this returns, and leads if nobody else does."""
        found = self.brokers[number] = self.made(number)
        found.start()
        return found

    def lose(self, number: int) -> None:
        """kill -9, and everything on its machine is gone."""
        self.brokers[number].kill()
        shutil.rmtree(self._folder / f"b{number}")

    @property
    def bootstrap(self) -> str:
        return ",".join(each.address for each in self.brokers.values())

    def until(self, number: int, said: str, seconds: float = 30.0) -> None:
        """Wait until a broker has said this."""
        deadline = time.monotonic() + seconds
        while not any(re.search(said, each) for each in self.brokers[number].said):
            assert time.monotonic() < deadline, f"broker {number} never said {said}: {self.brokers[number].said[-5:]}"
            time.sleep(0.02)

    def metrics_of(self, number: int) -> str:
        """Where a broker's metrics are, as it says."""
        self.until(number, "metrics at http://")
        [found] = [each for line in list(self.brokers[number].said) for each in re.findall(r"http://[0-9.:]+", line)]
        return str(found)

    def settings(self) -> dict[str, object]:
        """Of a client that knows all of them."""
        return {**QUIET, **SEVERAL, "bootstrap.servers": self.bootstrap}

    def until_known(self) -> None:
        """Wait until the leader tells of all brokers: clients that come earlier hear of some at their next look."""
        admin = AdminClient({**QUIET, "bootstrap.servers": self.brokers[1].address})
        deadline = time.monotonic() + 60
        while set(admin.list_topics(timeout=30).brokers) != set(self.brokers):
            assert time.monotonic() < deadline, "a broker that has joined is not known"
            time.sleep(0.1)

    def make_topic(self) -> None:
        admin = AdminClient(self.settings())
        admin.create_topics([NewTopic(TOPIC, PARTITIONS)])[TOPIC].result()


class Writers:
    """Two producers under way, and the longest time between two acks."""

    def __init__(self, bootstrap: str, more: Mapping[str, object] = MappingProxyType({})) -> None:
        self.history, self._stop = History(), threading.Event()
        self._threads = [
            threading.Thread(target=produce, args=(number, bootstrap, self.history, self._stop, {**SEVERAL, **more}))
            for number in range(2)
        ]
        for each in self._threads:
            each.start()

    def more(self, count: int = 500) -> float:
        """Wait until so many more are acknowledged; the longest time without any."""
        before, since, longest = len(self.history.acked), time.monotonic(), 0.0
        wanted = before + count
        while before < wanted:
            assert time.monotonic() < since + 60, "nothing is acknowledged any more"
            time.sleep(0.01)
            now, there = time.monotonic(), len(self.history.acked)
            longest = max(longest, now - since)
            if there > before:
                before, since = there, now
        return longest

    def end(self) -> None:
        self._stop.set()
        for each in self._threads:
            each.join()

    def check(self, bootstrap: str) -> list[list[str]]:
        """All that was acknowledged is there, once, in order; everything that is there."""
        self.end()
        found = read_all(bootstrap)
        assert not self.history.refused
        assert not self.history.problems
        for (number, at), (partition, offset) in self.history.acked.items():
            assert found[partition][offset] == f"{number}:{at}", "An acknowledged record was lost."
        for records in found:
            assert len(set(records)) == len(records), "A record is there twice."
            for number in range(2):
                order = [int(each.partition(":")[2]) for each in records if each.startswith(f"{number}:")]
                assert order == sorted(order), "Records are in another order."
        return found


def test_another_broker_goes_on_when_the_leader_is_killed(store: str, tmp_path: Path) -> None:
    """C2, C4: kill -9 of the leader of three, with its machine, then of the next, then of the last.

    The settings are those that everybody has.
    """
    with Cluster(tmp_path, store, ()) as cluster:
        cluster.start(1)
        cluster.until(1, "broker 1 leads")
        cluster.start(2)
        cluster.start(3)
        cluster.until_known()
        cluster.make_topic()
        writers = Writers(cluster.bootstrap)
        try:
            gaps = []
            for lost in (1, 2):
                writers.more()
                cluster.lose(lost)
                gaps.append(writers.more())
            cluster.until(3, "broker 3 leads")
        finally:
            writers.end()
        cluster.lose(3)
        cluster.start(4)  # On a machine where nothing is.
        cluster.until(4, "broker 4 leads")
        print(f"without an ack for {' and '.join(f'{each:.1f} s' for each in gaps)}")
        assert max(gaps) <= GAP_S_MAX
        writers.check(cluster.brokers[4].address)


def check_groups_go_on(cluster: Cluster, those_left: Callable[[], str]) -> None:
    """Lose the first broker under members of both protocols, which read everything that was and is written.

    `those_left` waits for whoever goes on in its place, and gives their addresses.
    """
    writers, stop = Writers(cluster.bootstrap), threading.Event()
    history = writers.history
    readers = [
        threading.Thread(target=follow, args=(group, protocol, cluster.bootstrap, history, stop))
        for group, protocols in GROUPS.items()
        for protocol in protocols
    ]
    for each in readers:
        each.start()
    try:
        writers.more(1000)
        wait_for_groups(history, 500, 30.0)
        check_committed(cluster.brokers[1].address, history)
        cluster.lose(1)
        writers.more(1000)
        writers.end()
        left = those_left()
        stored = read_all(left)
        wait_for_groups(history, sum(map(len, stored)))
        check_committed(left, history)
    finally:
        stop.set()
        writers.end()
        for each in readers:
            each.join()
    assert not check(history, stored)
    assert not history.problems
    assert history.committed


def test_groups_go_on_when_the_leader_is_killed(tmp_path: Path) -> None:
    """C2: members of both protocols read everything, and what they committed does not go back."""
    with Cluster(tmp_path, str(tmp_path / "store")) as cluster:
        cluster.start(1)
        cluster.until(1, "broker 1 leads")
        cluster.start(2)
        cluster.until_known()
        cluster.make_topic()
        check_groups_go_on(cluster, lambda: cluster.brokers[2].address)


def test_a_leader_that_was_stopped_answers_nobody_and_joins_again(tmp_path: Path) -> None:
    """C3, D3: SIGSTOP, another takes over, SIGCONT."""
    with Cluster(tmp_path, str(tmp_path / "store")) as cluster:
        first = cluster.start(1)
        cluster.until(1, "broker 1 leads")
        cluster.start(2)
        cluster.until_known()
        cluster.make_topic()
        writers = Writers(cluster.bootstrap)
        try:
            writers.more()
            first.signal(signal.SIGSTOP)
            cluster.until(2, "broker 2 leads")
            writers.more()
            first.signal(signal.SIGCONT)
            cluster.until(1, "joins the cluster again")
            cluster.until(1, "broker 1 joined the cluster, life 3")
            writers.more()
        finally:
            first.signal(signal.SIGCONT)
            writers.end()
        writers.check(cluster.bootstrap)
        with Client(first.address, patience_s=10.0) as client:
            assert client.metadata([]).controller == 2


@contextmanager
def led_behind_a_proxy(
    folder: Path, monkeypatch: pytest.MonkeyPatch, settings: tuple[str, ...] = QUICK
) -> Iterator[tuple[Cluster, FaultyProxy]]:
    """Two brokers on one S3 server: the first leads, and its way to the store can be cut; and a topic."""
    if reason := missing():
        pytest.skip(reason)
    with S3Server() as server, FaultyProxy(server.port) as proxy:
        server.tell(monkeypatch)
        with Cluster(folder, f"s3://{server.fresh_bucket()}", settings) as cluster:
            monkeypatch.setenv("AWS_ENDPOINT", proxy.endpoint)
            cluster.start(1)
            cluster.until(1, "broker 1 leads")
            monkeypatch.setenv("AWS_ENDPOINT", server.endpoint)
            cluster.start(2)
            cluster.until_known()
            cluster.make_topic()
            yield cluster, proxy


def resets(address: str) -> bool:
    """Whether who has just come hears of an error. A mere end is a refusal to franz-go: it gives up what it writes."""
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=30) as link:
        link.sendall(struct.pack(">ihhih", 10, Key.API_VERSIONS, 0, 7, -1))
        try:
            link.recv(1)
        except ConnectionResetError:
            return True
    return False


@pytest.mark.s3
@pytest.mark.parametrize("fault", [Fault.CUT_BEFORE_REQUEST, Fault.HOLD_ANSWER])
def test_a_leader_that_is_cut_off_from_the_store_answers_nobody(
    fault: Fault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C2, C3: its requests fail, or hang; another takes over, and it comes back as one that waits."""
    with led_behind_a_proxy(tmp_path, monkeypatch) as (cluster, proxy):
        writers = Writers(cluster.bootstrap)
        try:
            writers.more()
            proxy.plan = lambda method, path: fault
            cluster.until(2, "broker 2 leads")
            writers.more()
            with pytest.raises(Unavailable), Client(cluster.brokers[1].address, patience_s=0.5) as client:
                client.list_groups()
            assert resets(cluster.brokers[1].address)
            proxy.plan = lambda method, path: None
            cluster.until(1, "joins the cluster again")
            cluster.until(1, "broker 1 joined the cluster, life 3", 60.0)
            writers.more()
        finally:
            writers.end()
        writers.check(cluster.bootstrap)


def asked(url: str, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url + path, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as answer:
        return answer.code, answer.read().decode()


def check_stands_by(url: str, sentence: str) -> None:
    """Who starts it again sees that it lives, and who sends clients that it does not serve."""
    assert asked(url, "/healthz") == (200, "alive\n")
    code, said = asked(url, "/readyz")
    assert (code, sentence in said) == (503, True), said
    code, said = asked(url, "/metrics")
    assert code == 200
    assert "holdfast_standing_by 1.0" in said
    assert "process_cpu_seconds_total" in said
    done = subprocess.run([COMMAND, "status", url.removeprefix("http://")], capture_output=True, text=True)
    assert (done.returncode, "ready to take over" in done.stdout) == (0, True), done


def until_ready(url: str, seconds: float = 60.0) -> None:
    """Wait until the port says that the broker serves; it is answered all the time."""
    deadline = time.monotonic() + seconds
    while asked(url, "/readyz") != (200, "ready\n"):
        assert asked(url, "/healthz") == (200, "alive\n")
        assert time.monotonic() < deadline, "it never said that it is ready"
        time.sleep(0.02)
    assert "holdfast_standing_by 0.0" in asked(url, "/metrics")[1]


def test_a_leader_that_leaves_is_followed_at_once(tmp_path: Path) -> None:
    """C2: SIGTERM ends its life in the metadata: nobody waits for it to fall silent. Who waits answers probes."""
    settings = ("cluster.takeover_ms=60000", "cluster.lease_renew_ms=200", "serve.metrics_listen=127.0.0.1:0")
    with Cluster(tmp_path, str(tmp_path / "store"), settings) as cluster:
        first = cluster.start(1)
        cluster.until(1, "broker 1 leads")
        cluster.start(2)
        probed = cluster.metrics_of(2)
        check_stands_by(probed, f"waits to take over. Broker 1 leads, Kafka clients at {first.address}.")
        cluster.until_known()
        cluster.make_topic()
        writers = Writers(cluster.bootstrap)
        try:
            writers.more()
            assert cluster.brokers[1].stop() == 0
            gap = writers.more()
            cluster.until(2, "nobody leads: broker 2 does")
            until_ready(probed)
        finally:
            writers.end()
        print(f"without an ack for {gap:.1f} s")
        writers.check(cluster.bootstrap)


def test_clients_hear_of_all_brokers_from_each_of_them(tmp_path: Path) -> None:
    """C2: who leads, who coordinates, and where the others are; commands go by it, too."""
    with Cluster(tmp_path, str(tmp_path / "store")) as cluster:
        cluster.start(1)
        cluster.until(1, "broker 1 leads")
        second = cluster.start(2)
        deadline = time.monotonic() + 30
        for number in (1, 2):
            admin = AdminClient({**QUIET, "bootstrap.servers": cluster.brokers[number].address})
            while set((found := admin.list_topics(timeout=10)).brokers) != {1, 2}:
                assert time.monotonic() < deadline
            assert found.controller_id == 1
        with Client(second.address, follow_leaders=False, patience_s=20.0) as client:
            client.create_topics({"t": 2})
            assert [each.leader for each in client.topic("t").partitions] == [1, 1]
            assert client.topic("made-by-naming-it", create=True).partitions[0].leader == 1
            assert client.init_producer_id().id >= 0
        for _ in range(4):  # librdkafka asks for a producer's id wherever it is connected, and nowhere else.
            producer = Producer({**QUIET, "bootstrap.servers": second.address, "enable.idempotence": True})
            producer.produce("t", b"x")
            assert producer.flush(20) == 0, "nobody gives this producer an id"
        consumer = Consumer({**QUIET, "bootstrap.servers": second.address, "group.id": "g", "log_level": 0})
        consumer.subscribe(["t"])
        while not consumer.assignment():
            assert time.monotonic() < deadline, "a group cannot be joined through a broker that does not lead"
            consumer.poll(0.1)
        consumer.close()


def test_who_does_not_answer_is_named_and_nobody_else(tmp_path: Path) -> None:
    """C2: a broker that lives is not called gone because the leader is."""
    with Cluster(tmp_path, str(tmp_path / "store"), ("cluster.takeover_ms=60000",)) as cluster:
        first = cluster.start(1)
        cluster.until(1, "broker 1 leads")
        second = cluster.start(2)
        first.kill()
        with Client(second.address, follow_leaders=False, patience_s=0) as client:
            for asked in (client.init_producer_id, lambda: client.topic("t", create=True)):
                with pytest.raises(NodeUnreachable, match=f"^the broker at {first.address}, which the cluster names"):
                    asked()


def test_the_store_alone_tells_who_lives_and_who_leads(tmp_path: Path) -> None:
    """C12: also with no broker left. The test of C12."""
    store = str(tmp_path / "store")
    with Cluster(tmp_path, store) as cluster:
        cluster.start(1)
        cluster.until(1, "broker 1 leads")
        cluster.start(2)
        code, found = status(store)
        assert code == 0
        assert [(each["broker"], each["state"]) for each in found["brokers"]] == [(1, "leads"), (2, "ready")]
        assert found["leader"] == 1
        assert found["level"] == LEVEL
        assert [each["level"] for each in found["brokers"]] == [LEVEL, LEVEL]
        assert [each["release"] for each in found["brokers"]] == [importlib.metadata.version("holdfast")] * 2
        for each in cluster.brokers.values():
            each.signal(signal.SIGSTOP)
        code, found = status(store)
        assert code == 1
        assert [(each["broker"], each["state"]) for each in found["brokers"]] == [(1, "silent"), (2, "silent")]


def status(store: str) -> tuple[int, dict[str, Any]]:
    done = subprocess.run([COMMAND, "cluster", "status", store, "--json"], capture_output=True, check=False)
    return done.returncode, json.loads(done.stdout)


def test_a_number_that_lives_is_refused(tmp_path: Path) -> None:
    """C12: with the place of the broker that has it."""
    with Cluster(tmp_path, str(tmp_path / "store")) as cluster:
        cluster.start(1)
        cluster.until(1, "broker 1 leads")
        with pytest.raises(BrokerDidNotStart, match=r"broker 1 is in the cluster already, .*b1 on"):
            cluster.made(1, "another", free_port()).start()


@pytest.mark.parametrize("more", [("wal.place=store",), (), ("serve.take_over=true",)])
def test_a_broker_that_is_alone_is_refused_on_a_store_that_others_share(tmp_path: Path, more: tuple[str, ...]) -> None:
    """C12: it would be fenced by them at once. It hears what to do, whatever its log is, and has claimed nothing."""
    store = str(tmp_path / "store")
    with Cluster(tmp_path, store) as cluster:
        cluster.start(1)
        cluster.until(1, "broker 1 leads")
        cluster.brokers[1].kill()
        claims = sorted((tmp_path / "store" / "owner").iterdir())
        alone = BrokerProcess(tmp_path / "alone", settings=(f"serve.store={store}", *more))
        with pytest.raises(BrokerDidNotStart, match=r"is shared by brokers of a cluster .*--cluster .*cluster status"):
            alone.start()
        assert sorted((tmp_path / "store" / "owner").iterdir()) == claims


def test_a_log_on_disk_becomes_a_clusters_with_take_over(tmp_path: Path) -> None:
    """C12: not by mistake, and with everything that is in it."""
    store = str(tmp_path / "store")
    with BrokerProcess(tmp_path / "b1", settings=(f"serve.store={store}", "subscribe.listen=none")) as alone:
        with Client(alone.address) as client:
            client.create_topics({"t": 1})
        assert alone.stop() == 0
    with Cluster(tmp_path, store) as cluster:
        refused = cluster.start(1)  # Its port opens before it looks at the log.
        assert refused.wait(20) != 0
        assert "--take-over" in refused.said[-1]
        first = cluster.made(1, more=("serve.take_over=true",))
        cluster.brokers[1] = first
        first.start()
        cluster.until(1, "broker 1 leads")
        with Client(first.address) as client:
            assert "t" in client.metadata().topics


@pytest.mark.parametrize(("missing_one", "said"), [("wal.place=disk", "wal.place=store"), ("serve.store=", "--store")])
def test_a_member_needs_a_shared_store_for_everything(tmp_path: Path, missing_one: str, said: str) -> None:
    """C12: what is on a machine's disk is lost to the others."""
    settings = ("cluster.member=true", "wal.place=store", f"serve.store={tmp_path / 'store'}", missing_one)
    with pytest.raises(BrokerDidNotStart, match=said):
        BrokerProcess(tmp_path / "b", settings=settings).start()
