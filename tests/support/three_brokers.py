"""Three brokers on one S3 server, and what happens to one of them after the other while clients go on.

Topics that clients write are stamped by the brokers, so that the longest pause of each client is seen in what it wrote.
"""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest
from confluent_kafka import KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from tests.cluster.test_many import MANY, start, until_back
from tests.cluster.test_pair import SEVERAL, Cluster
from tests.kill.numbers import QUIET
from tests.support.broker_process import COMMAND, BrokerProcess
from tests.support.faulty_proxy import Fault, FaultyProxy
from tests.support.reading import Place
from tests.support.s3_server import S3Server, missing

from holdfast.client import LATEST, Client
from holdfast.testing import free_port
from holdfast.types import TopicPartition

PARTITIONS = 3
NUMBERS, WORDS = "numbers", "words"
SETTINGS = (
    *MANY,
    "cluster.lease_renew_ms=300",
    "cluster.lease_ms=1500",
    "cluster.takeover_ms=2500",
    "log.owner_check_ms=300",
    "wal.interval_ms=100",
    "log.flush_age_ms_max=8000",
    "offsets.topic.num.partitions=3",
    "transaction.state.log.num.partitions=3",
    "group.initial.rebalance.delay.ms=0",
    "group.min.session.timeout.ms=1000",
    "group.consumer.min.heartbeat.interval.ms=300",
    "group.consumer.heartbeat.interval.ms=300",
    "group.consumer.min.session.timeout.ms=6000",
    "group.consumer.session.timeout.ms=6000",
)
CUT = 2  # The broker whose way to the store can be cut.
_WAIT_S = 120.0
_PACE_S = 0.03


class Pause(NamedTuple):
    """A broker was away: from when to when, in milliseconds since 1970."""

    how: str
    began: float
    ended: float


class Three(Cluster):
    """Three brokers. Whatever happens to one leaves the others alone."""

    def __init__(self, folder: Path, server: S3Server, proxy: FaultyProxy, settings: tuple[str, ...] = ()) -> None:
        self.store = f"s3://{server.fresh_bucket()}"
        super().__init__(folder, self.store, (*SETTINGS, *settings))
        self.options = server.options
        self.pauses: list[Pause] = []
        self._proxy = proxy

    def __exit__(self, *_: object) -> None:
        for each in self.brokers.values():
            each.kill()  # Nobody waits for what they would hand over.

    def made(self, number: int, name: str = "", port: int = 0, more: tuple[str, ...] = ()) -> BrokerProcess:
        own = {**self.options, "endpoint": self._proxy.endpoint} if number == CUT else self.options
        settings = (*self._settings, f"node.id={number}", *more)
        return BrokerProcess(
            self._folder / f"b{number}",
            port=self._ports.setdefault(number, free_port()),
            settings=settings,
            options=["--cluster"],
            environment=environment(own),
        )

    def make_topics(self, *names: str) -> None:
        admin = AdminClient(self.settings())
        stamped = {"message.timestamp.type": "LogAppendTime"}
        for each in admin.create_topics([NewTopic(name, PARTITIONS, config=stamped) for name in names]).values():
            each.result()

    def _led(self, asked: int) -> set[int]:
        """Who leads something of the clients' own topics, as one broker tells it; nobody, if it is not that one that
        was asked in the end, but one that answers nobody."""
        admin = AdminClient({**QUIET, "bootstrap.servers": self.brokers[asked].address})
        try:
            topics = admin.list_topics(timeout=60).topics.values()
        except KafkaException:
            return set()
        return {part.leader for topic in topics if topic.topic[:2] != "__" for part in topic.partitions.values()}

    def until_led(self, by: Iterable[int], asked: int) -> None:
        """Wait until these lead, each something, and nobody else does."""
        wanted = set(by)
        until(lambda: self._led(asked) == wanted, lambda: f"led by {self._led(asked)}, not by {wanted}")

    # What happens

    def all_of_it(self, go_on: Callable[[], None]) -> None:
        """One after the other; `go_on` waits until every client has gone on, and is called while a broker is away."""
        go_on()
        for how in (self._killed, self._stopped, self._cut, self._drained):
            self.until_led((1, 2, 3), 1)
            began = time.time()
            with ExitStack() as afterwards:
                how(afterwards)
                go_on()
                self.pauses.append(Pause(how.__name__[1:], began * 1000, time.time() * 1000))
        self.until_led((1, 2, 3), 1)
        go_on()

    def _killed(self, afterwards: ExitStack) -> None:
        self.brokers[1].kill()
        self.until_led((2, 3), 2)
        afterwards.callback(start, self, 1)

    def _stopped(self, afterwards: ExitStack) -> None:
        """For longer than others wait for it."""
        stopped = self.brokers[3]
        stopped.signal(signal.SIGSTOP)
        afterwards.callback(until_back, self, 3, _WAIT_S)
        afterwards.callback(stopped.signal, signal.SIGCONT)
        self.until_led((1, 2), 1)

    def _cut(self, afterwards: ExitStack) -> None:
        self._proxy.plan = lambda method, path: Fault.CUT_BEFORE_REQUEST
        afterwards.callback(until_back, self, CUT, _WAIT_S)
        afterwards.callback(setattr, self._proxy, "plan", lambda method, path: None)
        self.until_led((1, 3), 1)

    def _drained(self, afterwards: ExitStack) -> None:
        """And stopped, and started again."""
        command = [COMMAND, "cluster", "drain", self.store, "1"]
        subprocess.run(command, check=True, env={**os.environ, **environment(self.options)})
        self.until_led((2, 3), 2)
        assert self.brokers[1].stop() == 0
        afterwards.callback(start, self, 1)


def three_brokers(folder: Path, stack: ExitStack, settings: tuple[str, ...] = ()) -> Three:
    """Three brokers that lead, for as long as the stack lasts."""
    if reason := missing():
        pytest.skip(reason)
    server = stack.enter_context(S3Server())
    proxy = stack.enter_context(FaultyProxy(server.port))
    three = stack.enter_context(Three(folder, server, proxy, settings))
    start(three, 1, 2, 3)
    return three


def environment(options: Mapping[str, str]) -> dict[str, str]:
    """What a process needs to find the store."""
    return {f"AWS_{name.upper()}": value for name, value in options.items()}


def until(is_so: Callable[[], bool], wrong: Callable[[], str], seconds: float = _WAIT_S) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, wrong()
        time.sleep(0.1)


class Watch:
    """Looks how far clients are in the topics that they write."""

    def __init__(self, bootstrap: str, *topics: str) -> None:
        self._client = Client(bootstrap, timeout_s=3.0, patience_s=_WAIT_S)
        self._places = {TopicPartition(topic, number): LATEST for topic in topics for number in range(PARTITIONS)}

    def ends(self) -> dict[TopicPartition, int]:
        return {where: each.offset for where, each in self._client.list_offsets(self._places).items()}

    def until_more(self) -> None:
        """Wait until every partition has got more than it has now."""
        before = self.ends()

        def stuck() -> list[TopicPartition]:
            now = self.ends()
            return [where for where in before if now[where] <= before[where]]

        until(lambda: not stuck(), lambda: f"nothing more comes to {stuck()}")

    def close(self) -> None:
        self._client.close()


class Feed(threading.Thread):
    """An idempotent producer of librdkafka that writes to some topics in turn, and what it was told."""

    def __init__(self, bootstrap: str, texts: Mapping[str, Callable[[int], str]]) -> None:
        super().__init__(daemon=True)
        self._texts = texts
        self._end = threading.Event()
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
        self.sent: dict[str, list[str]] = {topic: [] for topic in texts}
        self.acked: dict[str, dict[Place, str]] = {topic: {} for topic in texts}
        self.refused: list[str] = []
        self.start()

    def run(self) -> None:
        number = 0
        while not self._end.wait(_PACE_S):
            for topic, text in self._texts.items():
                self._producer.produce(topic, text(number), partition=number % PARTITIONS, on_delivery=self._told)
                self.sent[topic].append(text(number))
            number += 1
            self._producer.poll(0)

    def _told(self, error: object, message: Message) -> None:
        if error is not None:
            self.refused.append(str(error))
        else:
            value = message.value()
            assert value is not None
            self.acked[message.topic()][message.partition(), message.offset()] = value.decode()

    def stop(self) -> None:
        """Everything is acknowledged, or refused, when this returns."""
        self._end.set()
        self.join()
        assert self._producer.flush(_WAIT_S) == 0

    def check(self, topic: str, found: Mapping[Place, bytes]) -> None:
        """What was acknowledged is there, and nothing else: once, and in the order in which it was sent."""
        assert not self.refused
        assert {place: value.decode() for place, value in found.items()} == self.acked[topic]
        for partition in range(PARTITIONS):
            assert in_order(found, partition) == [each.encode() for each in self.sent[topic][partition::PARTITIONS]]


def in_order(found: Mapping[Place, bytes], partition: int) -> list[bytes]:
    """The values of one partition."""
    return [value for (number, _), value in sorted(found.items()) if number == partition]


def values_of(messages: Mapping[Place, Message]) -> dict[Place, bytes]:
    return {place: each.value() or b"" for place, each in messages.items()}


def stamps(messages: Mapping[Place, Message]) -> list[list[float]]:
    """When the records of each partition were written, by the brokers' clock."""
    found: list[list[float]] = [[] for _ in range(PARTITIONS)]
    for (partition, _), each in sorted(messages.items()):
        found[partition].append(each.timestamp()[1])
    return found


class Arrivals(threading.Thread):
    """When something came to the partitions of a topic whose records keep the stamps of another cluster."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        super().__init__(daemon=True)
        self._watch = Watch(bootstrap, topic)
        self._end = threading.Event()
        self._found: list[list[float]] = [[] for _ in range(PARTITIONS)]
        self.start()

    def run(self) -> None:
        before = self._watch.ends()
        while not self._end.wait(0.1):
            now = self._watch.ends()
            for where in (where for where in now if now[where] > before[where]):
                self._found[where.partition].append(time.time() * 1000)
            before = now

    def stop(self) -> list[list[float]]:
        self._end.set()
        self.join()
        self._watch.close()
        return self._found


def gaps(moments: Iterable[list[float]], pauses: Iterable[Pause]) -> dict[str, float]:
    """The longest time in which a partition got nothing, in seconds, by what happened meanwhile."""
    pairs = [pair for each in moments for pair in itertools.pairwise(each)]
    return {
        pause.how: round(
            max((after - before for before, after in pairs if before < pause.ended and after > pause.began), default=0)
            / 1000,
            1,
        )
        for pause in pauses
    }
