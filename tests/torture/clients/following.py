"""Readers without a group: from the beginning to the end of a run in one go, and whole topics at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition
from tests.torture.clients.seeing import Seeing
from tests.torture.clients.telling import Telling
from tests.torture.ground import READS_MAX, Ground
from tests.torture.patience import Patience


def reader(ground: Ground, telling: Telling, *, committed: bool) -> Consumer:
    level = "read_committed" if committed else "read_uncommitted"
    more: dict[str, Any] = {"isolation_level": level, "enable_partition_eof": True, "fetch_wait_max_ms": 100}
    settings = ground.settings(group_id="nobody", enable_auto_commit=False, auto_offset_reset="earliest", **more)
    return Consumer({**settings, **telling.settings})


@dataclass(frozen=True)
class Follower:
    """Reads some topics from their beginning until it is told to stop."""

    name: str
    topics: tuple[str, ...]
    committed: bool

    def run(self, ground: Ground) -> None:
        history = ground.history(self.name)
        seeing = Seeing(ground, history, committed=self.committed)
        nexts = {(each, n): OFFSET_BEGINNING for each in self.topics for n in range(ground.partitions(each))}
        while not ground.reading.is_set():  # Mostly once.
            telling = ground.telling[self.name] = Telling(self.name)
            consumer = reader(ground, telling, committed=self.committed)
            consumer.assign([TopicPartition(*place, offset) for place, offset in nexts.items()])
            while not ground.reading.is_set() and not telling.is_deadlocked:
                for message in consumer.consume(READS_MAX, 0.2):
                    if message.error() is None:
                        seeing.add(message.topic(), message.partition(), message.offset(), message.value())
                        nexts[message.topic(), message.partition()] = message.offset() + 1
                seeing.write()
            telling.let_go(consumer, history)
        history.close()


def read_whole(
    ground: Ground, who: str, topics: tuple[str, ...], *, committed: bool, patience_s: float, final: int = 0
) -> set[tuple[str, int]]:
    """Read topics from their beginning to their end, as it is now; the partitions whose end was not reached.

    Patience is for silence: whoever is slow, and goes on, is read to the end.
    """
    history = ground.history(who)
    seeing = Seeing(ground, history, committed=committed)
    telling = ground.telling[who] = Telling(who)
    consumer = reader(ground, telling, committed=committed)
    left = {(topic, partition) for topic in topics for partition in range(ground.partitions(topic))}
    patience = Patience(patience_s)
    consumer.assign([TopicPartition(*place, OFFSET_BEGINNING) for place in sorted(left)])
    while left and not patience.is_over:
        for message in consumer.consume(READS_MAX, 0.1):
            if message.error() is None:
                seeing.add(message.topic(), message.partition(), message.offset(), message.value())
                patience.moved()
            elif message.error().name() == "_PARTITION_EOF":  # A reader of what is committed knows no other end.
                left.discard((message.topic(), message.partition()))
                patience.moved()
    seeing.write(**({"final": final} if final else {}))
    consumer.close()
    history.close()
    return left
