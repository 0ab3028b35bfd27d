"""Members of consumer groups, of both protocols: they read, write down what they read, and only then commit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition
from tests.torture.clients.seeing import Seeing
from tests.torture.clients.telling import Telling
from tests.torture.ground import READS_MAX, Ground
from tests.torture.history import History

LOST = (KafkaError.NOT_COORDINATOR, KafkaError.COORDINATOR_NOT_AVAILABLE)
FOR_PROTOCOL: dict[str, dict[str, Any]] = {
    "classic": {"session.timeout.ms": 6000, "heartbeat.interval.ms": 500},
    # Who does not let go of a partition within the interval is given up by the coordinator: librdkafka 2.16 may wait
    # for itself for ever (`wait-incr-unassign-to-complete`), with no request under way but its heartbeats.
    "consumer": {"group.protocol": "consumer", "max.poll.interval.ms": 45_000},
}


@dataclass(frozen=True)
class Member:
    """One member of a group that follows topics."""

    name: str
    group: str
    protocol: str
    topics: tuple[str, ...]
    settled: int = 40  # It leaves and comes back after so many commits: others have to take over.

    def run(self, ground: Ground) -> None:
        history = ground.history(self.name)
        seeing = Seeing(ground, history, committed=True, group=self.group)
        while not ground.reading.is_set():
            _Stay(self, ground, history, seeing).run()
        history.close()


class _Stay:
    """From joining the group to leaving it."""

    def __init__(self, member: Member, ground: Ground, history: History, seeing: Seeing) -> None:
        self._member = member
        self._ground = ground
        self._history = history
        self._seeing = seeing
        self._commits = 0
        self._is_lost = False  # It stands still, and says so: what an application does then is to begin again.
        self._ends: dict[
            tuple[str, int], int
        ] = {}  # Behind what was read: the client's own idea runs ahead in `close`.
        settings = ground.settings(
            group_id=member.group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level="read_committed",
            fetch_wait_max_ms=100,
        )
        self._telling = ground.telling[member.name] = Telling(member.name)
        self._consumer = Consumer({**settings, **FOR_PROTOCOL[member.protocol], **self._telling.settings})

    def run(self) -> None:
        self._consumer.subscribe(list(self._member.topics), on_assign=self._assigned, on_revoke=self._revoked)
        try:
            while not self._ground.reading.is_set() and self._commits < self._member.settled and not self._is_lost:
                if self._read():
                    self._commit()
                self._is_lost = self._is_lost or self._telling.is_deadlocked
        finally:
            self._telling.let_go(self._consumer, self._history)

    def _read(self) -> int:
        """Records one by one: a change of the assignment comes between two of them."""
        count = 0
        message: Message | None = self._consumer.poll(0.2)
        while message is not None and count < READS_MAX:
            count += self._take(message)
            message = self._consumer.poll(0)
        if message is not None:
            self._take(message)
        self._seeing.write()
        return count

    def _take(self, message: Message) -> bool:
        """Whether it is a record. Told that committed offsets were not to be had, the library asks no more."""
        if (failure := message.error()) is not None:
            if failure.code() in LOST:
                self._history.info("told", error=failure.name(), words=failure.str())
                self._is_lost = True
            return False
        self._seeing.add(message.topic(), message.partition(), message.offset(), message.value())
        self._ends[message.topic(), message.partition()] = message.offset() + 1
        return True

    def _commit(self) -> None:
        if not self._ends:
            return
        facts = {"group": self._member.group, "polled": False}
        wanted = [TopicPartition(*place, end) for place, end in self._ends.items()]
        self._history.invoke("group", offsets=[], **facts)
        try:
            told = self._consumer.commit(offsets=wanted, asynchronous=False) or []
        except KafkaException as failure:
            self._history.fail("group", error=failure.args[0].name(), **facts)
            return
        offsets = [
            [each.topic, each.partition, each.offset] for each in told if each.error is None and each.offset >= 0
        ]
        self._history.ok("group", offsets=offsets, **facts)
        self._commits += 1

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._seeing.write()
        for each in partitions:
            self._ends.pop((each.topic, each.partition), None)
            self._seeing.begin(each.topic, each.partition)

    def _revoked(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._seeing.write()
        self._commit()
        for each in partitions:
            self._ends.pop((each.topic, each.partition), None)
