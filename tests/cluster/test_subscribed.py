"""Real brokers that share a store, each partition with a leader of its own, and subscriptions over all of them."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import grpc
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from tests.cluster.test_many import PATIENT, leaders, many, until_led_by
from tests.cluster.test_many_transactions import Guarded
from tests.cluster.test_pair import SEVERAL, Cluster
from tests.kill.numbers import QUIET
from tests.support.broker_process import COMMAND
from tests.support.faulty_proxy import Fault, FaultyProxy
from tests.support.s3_server import S3Server, missing

from holdfast.client import SecurityOptions
from holdfast.errors import Rejected
from holdfast.subscribe import NOW, Cursor, Event, Subscription, subscribe
from holdfast.subscribe.client.connection import METHOD
from holdfast.subscribe.errors import NotLoggedIn, NotPermitted
from holdfast.subscribe.wire.schema import subscribe_pb2 as wire
from holdfast.testing import free_port

TOPICS, PARTITIONS = ("orders", "payments"), 3
LEASES = (
    "cluster.lease_renew_ms=400",
    "cluster.lease_ms=3000",
    "cluster.takeover_ms=4000",
    "log.owner_check_ms=400",
)
WAIT_S = 120.0


def start_serving(cluster: Cluster, *numbers: int) -> dict[int, str]:
    """Brokers with a port for subscribers each; where those are."""
    found = {number: f"127.0.0.1:{free_port()}" for number in numbers}
    for number, address in found.items():
        cluster.brokers[number] = cluster.made(number, more=(f"subscribe.listen={address}",))
        cluster.brokers[number].start()
        cluster.until(number, f"broker {number} leads with")
    cluster.until_known()
    return found


def make_topics(cluster: Cluster) -> None:
    admin = AdminClient(cluster.settings())
    for each in admin.create_topics([NewTopic(name, PARTITIONS) for name in TOPICS]).values():
        each.result()


def until(is_so: Callable[[], bool], wrong: Callable[[], str]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not is_so():
        assert time.monotonic() < deadline, wrong()
        time.sleep(0.05)


class Writer(threading.Thread):
    """An idempotent producer, and what was acknowledged: by topic, partition and offset."""

    def __init__(self, bootstrap: str) -> None:
        super().__init__(daemon=True)
        self._end = threading.Event()
        self._acked: dict[tuple[str, int, int], bytes] = {}
        self._lock = threading.Lock()
        self.refused: list[str] = []
        self._producer = Producer(
            {
                **QUIET,
                **SEVERAL,
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "linger.ms": 2,
                "message.timeout.ms": 240_000,
            }
        )
        self.start()

    def run(self) -> None:
        number = 0
        while not self._end.wait(0.01):
            for topic in TOPICS:
                value = b"%d" % number
                self._producer.produce(topic, value, partition=number % PARTITIONS, on_delivery=self._told)
            number += 1
            self._producer.poll(0)

    def _told(self, error: object, message: object) -> None:
        if error is not None:
            self.refused.append(str(error))
            return
        place = message.topic(), message.partition(), message.offset()  # type: ignore[attr-defined]
        with self._lock:
            self._acked[place] = message.value()  # type: ignore[attr-defined]

    def acked(self) -> dict[tuple[str, int, int], bytes]:
        with self._lock:
            return dict(self._acked)

    def stop(self) -> dict[tuple[str, int, int], bytes]:
        """Everything is acknowledged when this returns."""
        self._end.set()
        self.join()
        assert self._producer.flush(WAIT_S) == 0
        assert not self.refused
        return self.acked()


class Follower(threading.Thread):
    """A subscription that is open all the time, in a thread with a loop of its own."""

    def __init__(self, address: str) -> None:
        super().__init__(daemon=True)
        self._address = address
        self._end = threading.Event()
        self.events: list[Event] = []
        self.cursors: list[tuple[int, Cursor]] = []  # After so many events.
        self.failure: BaseException | None = None
        self.subscription: Subscription | None = None
        self.start()

    def run(self) -> None:
        try:
            asyncio.run(self._follow())
        except BaseException as failure:
            self.failure = failure

    async def _follow(self) -> None:
        async with subscribe(self._address, TOPICS, since=0) as self.subscription:
            ending = asyncio.ensure_future(self._end_it(self.subscription))
            async for event in self.subscription:
                self.events.append(event)
                if len(self.events) % 100 == 1:
                    self.cursors.append((len(self.events), self.subscription.cursor))
            await ending

    async def _end_it(self, subscription: Subscription) -> None:
        await asyncio.to_thread(self._end.wait)
        await subscription.close()

    def until_all(self, writer: Writer, more: int = 0) -> None:
        """Wait until it has got all that was acknowledged by now, and so much more."""
        wanted = len(writer.acked()) + more
        until(
            lambda: len(self.events) >= wanted or self.failure is not None,
            lambda: f"{len(self.events)} events, not {wanted}: {self.subscription and self.subscription.stats}",
        )
        if self.failure is not None:
            raise self.failure

    def stop(self) -> list[Event]:
        self._end.set()
        self.join(WAIT_S)
        assert self.failure is None
        return self.events


def place_of(event: Event) -> tuple[str, int, int]:
    return event.topic, event.partition, event.offset


def check(events: Sequence[Event], acked: dict[tuple[str, int, int], bytes]) -> None:
    """Everything once, each partition in its order, and all in one order, but for what says that it is late."""
    assert len(events) == len(acked)
    assert {place_of(each): each.value for each in events} == acked
    offsets: dict[tuple[str, int], int] = {}
    times: dict[tuple[str, int], int] = {}
    point = (-1, "", -1)
    for each in events:
        home = each.topic, each.partition
        assert each.offset == offsets.get(home, 0), "Lost, doubled or out of order."
        offsets[home] = each.offset + 1
        times[home] = max(times.get(home, -1), each.timestamp)
        key = (times[home], *home)
        assert each.late == (key < point), "What is late is marked, and nothing else."
        point = max(point, key)


async def all_of(address: str, **options: object) -> list[Event]:
    async with asyncio.timeout(WAIT_S), subscribe(address, TOPICS, until=NOW, **options) as found:  # type: ignore[arg-type]
        return [event async for event in found]


@pytest.mark.s3
def test_a_subscription_goes_on_wherever_partitions_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """C1, C2, C5, S1, S5: one broker is stopped for a while, cut off from the store, and killed; the one that was asked
    is drained and ends. Every event is there."""
    if reason := missing():
        pytest.skip(reason)
    with S3Server() as server, FaultyProxy(server.port) as proxy:
        server.tell(monkeypatch)
        store = f"s3://{server.fresh_bucket()}"
        with many(tmp_path, *LEASES, store=store) as cluster:
            served = start_serving(cluster, 1, 2)
            monkeypatch.setenv("AWS_ENDPOINT", proxy.endpoint)
            start_serving(cluster, 3)
            monkeypatch.setenv("AWS_ENDPOINT", server.endpoint)
            make_topics(cluster)
            all_lead(cluster, 1, {1, 2, 3})
            writer, follower = Writer(cluster.bootstrap), Follower(served[1])
            follower.until_all(writer, 200)
            cluster.brokers[3].signal(signal.SIGSTOP)
            try:
                all_lead(cluster, 2, {1, 2})
                follower.until_all(writer, 200)
            finally:
                cluster.brokers[3].signal(signal.SIGCONT)
            all_lead(cluster, 1, {1, 2, 3})
            proxy.plan = lambda method, path: Fault.CUT_BEFORE_REQUEST
            all_lead(cluster, 2, {1, 2})
            follower.until_all(writer, 200)
            proxy.plan = lambda method, path: None
            all_lead(cluster, 1, {1, 2, 3})
            cluster.brokers[3].kill()
            all_lead(cluster, 2, {1, 2})
            follower.until_all(writer, 200)
            drain_and_end(cluster, store, writer, follower, served[2])


def all_lead(cluster: Cluster, number: int, who: set[int]) -> None:
    """Wait until these lead all topics, as one broker tells it."""
    for topic in TOPICS:
        until_led_by(cluster, number, who, topic=topic)


def drain_and_end(cluster: Cluster, store: str, writer: Writer, follower: Follower, address: str) -> None:
    """The first hands over and stops; then all is held against what was acknowledged, also as it is read anew."""
    subprocess.run([COMMAND, "cluster", "drain", store, "1"], check=True)
    all_lead(cluster, 2, {2})
    follower.until_all(writer, 100)
    assert follower.subscription is not None
    assert follower.subscription.stats.moved > 0
    cluster.brokers[1].stop()
    follower.until_all(writer, 100)
    acked = writer.stop()
    follower.until_all(writer)
    check(follower.stop(), acked)
    again = asyncio.run(all_of(address, since=0))
    assert not any(each.late for each in again)
    check(again, acked)
    count, cursor = follower.cursors[len(follower.cursors) // 2]
    rest = asyncio.run(all_of(address, cursor=str(cursor)))
    seen = [place_of(each) for each in follower.events[:count]]
    assert sorted(seen + [place_of(each) for each in rest]) == sorted(acked)


def test_what_several_lead_is_told_to_clients_of_one(tmp_path: Path) -> None:
    """S1, C12: a client that knows nothing of routes gets a status that names who leads, and where; so is no port."""
    with many(tmp_path, *PATIENT) as cluster:
        served = start_serving(cluster, 1, 2)
        make_topics(cluster)
        for number in (1, 2):
            for topic in TOPICS:
                until_led_by(cluster, number, {1, 2}, topic=topic)
        events = asyncio.run(all_of(f"{served[1]},{served[2]}", since=0))
        assert events == []  # Both were asked: there is nothing yet.
        source = wire.Source(topic=TOPICS[0])
        with grpc.insecure_channel(served[1]) as channel:
            call = channel.unary_stream(
                METHOD,
                request_serializer=wire.Request.SerializeToString,
                response_deserializer=wire.Message.FromString,
            )
            with pytest.raises(grpc.RpcError) as refusal:
                list(call(wire.Request(sources=[source], since_ms=0, until_now=True), timeout=WAIT_S))
        assert refusal.value.code() is grpc.StatusCode.FAILED_PRECONDITION
        assert f"is led by broker 2 at {served[2]}" in refusal.value.details()
        cluster.brokers[2].stop()
        until_led_by(cluster, 1, {1}, topic=TOPICS[0])
        cluster.brokers[2] = cluster.made(2)
        cluster.brokers[2].start()
        cluster.until(2, "broker 2 leads with")
        subprocess.run([COMMAND, "cluster", "move", str(tmp_path / "store"), f"{TOPICS[0]}:0", "2"], check=True)
        until(lambda: leaders(cluster, 1, TOPICS[0])[0] == 2, lambda: "a partition was not moved")
        with pytest.raises(Rejected, match=rf"{TOPICS[0]}-0 is led by broker 2, which serves no subscriptions"):
            asyncio.run(all_of(served[1], since=0))


def test_all_brokers_are_asked_as_the_first_one_is(tmp_path: Path) -> None:
    """X2, X7, X8, S1: with TLS and a login at each of them; who may not read is refused, and who is not known."""
    with Guarded(tmp_path) as cluster:
        served = {number: f"127.0.0.1:{free_port()}" for number in (1, 2)}
        for number, address in served.items():
            cluster.brokers[number] = cluster.made(number, more=(*PATIENT, f"subscribe.listen=SASL_SSL://{address}"))
            cluster.brokers[number].start()
            cluster.until(number, f"broker {number} leads with")
        admin = AdminClient(cluster.settings())
        until(lambda: len(admin.list_topics(timeout=30).brokers) == 2, lambda: "a broker is not known")
        for each in admin.create_topics([NewTopic(name, 2) for name in TOPICS]).values():
            each.result()
        producer = Producer(cluster.settings())
        for partition in range(2):
            for topic in TOPICS:
                producer.produce(topic, f"{topic}-{partition}", partition=partition)
        assert producer.flush(WAIT_S) == 0

        def way(user: str, password: str) -> SecurityOptions:
            module = "org.apache.kafka.common.security.plain.PlainLoginModule"
            words = {
                "security.protocol": "SASL_SSL",
                "ssl.truststore.location": str(cluster.authority.certificate),
                "sasl.mechanism": "PLAIN",
                "sasl.jaas.config": f'{module} required username="{user}" password="{password}";',
            }
            return SecurityOptions.parse(words)

        events = asyncio.run(all_of(served[1], since=0, security=way("alice", "secret")))
        wanted = {f"{topic}-{partition}".encode() for topic in TOPICS for partition in range(2)}
        assert {each.value for each in events} == wanted
        assert len(events) == len(wanted)
        leading = admin.list_topics(timeout=30).topics[TOPICS[0]].partitions.values()
        assert {each.leader for each in leading} == {1, 2}
        with pytest.raises(NotPermitted, match="READ the TOPIC orders"):
            asyncio.run(all_of(served[1], since=0, security=way("bob", "other")))
        with pytest.raises(NotLoggedIn):
            asyncio.run(all_of(served[1], since=0, security=way("alice", "wrong")))
