"""Deletes topics and makes them again, and deletes records, when it is told to."""

from __future__ import annotations

import queue
from contextlib import closing
from dataclasses import dataclass, field

from confluent_kafka import Producer
from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import NewTopic
from kafka.errors import KafkaError, TopicAlreadyExistsError, UnknownTopicIdError
from tests.torture.asking import ASK_MS, until_done
from tests.torture.clients.following import read_whole
from tests.torture.clients.looking import marks
from tests.torture.ground import CUT, PARTITIONS, PHOENIX, Ground, Topic
from tests.torture.history import History

from holdfast.client.errors import TopicNotFound
from holdfast.errors import HoldfastError

_WORK_MAX = 8
_HALF = 20  # Records of a topic that is half deleted.
_AWAY_MS = 2000


def create(ground: Ground, topic: Topic) -> bool:
    new = NewTopic(topic.name, topic.partitions, 1, topic_configs=topic.configs)
    return until_done(ground.bootstrap, lambda admin: admin.create_topics([new]), TopicAlreadyExistsError)


def delete(ground: Ground, topic: Topic) -> bool | None:
    """By its id: a request that comes late must not hit the next topic of the name. None: nobody was asked."""
    try:
        with ground.client() as client:
            found = client.topic(topic.name).id
    except TopicNotFound:
        return True  # An earlier attempt came as far as this.
    except HoldfastError:
        return None
    return until_done(ground.bootstrap, lambda admin: admin.delete_topics([found]), UnknownTopicIdError)


@dataclass
class Administrator:
    """Works off what it is told, one thing at a time; what is too much is left out."""

    name: str = "administrator"
    work: queue.Queue[tuple[str, float]] = field(default_factory=lambda: queue.Queue(_WORK_MAX))
    fresh: int = 0

    def tell(self, what: str, amount: float) -> None:
        if not self.work.full():
            self.work.put((what, amount))

    def run(self, ground: Ground) -> None:
        history = ground.history(self.name)
        while not ground.writing.is_set():
            try:
                what, amount = self.work.get(timeout=0.2)
            except queue.Empty:
                continue
            if what == "recreate":
                self._recreate(ground, history)
            elif what == "half_delete":
                self._half_delete(ground)
            else:
                self._delete_records(ground, history, amount)
        history.close()

    def _recreate(self, ground: Ground, history: History) -> None:
        for op, ask in (("delete_topic", delete), ("create_topic", create)):
            history.invoke(op, topic=PHOENIX.name)
            done = ask(ground, PHOENIX)
            if not done:
                history.fail(op, topic=PHOENIX.name, asked=done is not None)
                return  # If it is gone all the same, the next one makes it again.
            history.ok(op, topic=PHOENIX.name)
        self.fresh += 1
        read_whole(ground, f"fresh-{self.fresh}", (PHOENIX.name,), committed=False, patience_s=5)

    def _half_delete(self, ground: Ground) -> None:
        """Delete a topic while the store is away, ask once, and leave it at that. Nobody reads or checks it."""
        half = Topic("half", "reborn")
        if not create(ground, half):
            return
        producer = Producer(ground.settings(message_timeout_ms=ASK_MS))
        for number in range(_HALF):
            producer.produce(half.name, str(number), partition=number % half.partitions)
        producer.flush(ASK_MS / 1000)
        assert ground.store is not None
        ground.store.away()
        try:
            with closing(KafkaAdminClient(bootstrap_servers=ground.bootstrap, request_timeout_ms=ASK_MS)) as admin:
                admin.delete_topics([half.name], timeout_ms=_AWAY_MS)
        except (KafkaError, OSError):
            pass  # As it is meant.
        finally:
            ground.store.quiet()

    def _delete_records(self, ground: Ground, history: History, amount: float) -> None:
        partition = int(amount * 1000) % PARTITIONS
        with ground.client() as client:
            ends = marks(client, CUT.name)
        if ends is None:
            return
        low, high = ends[partition]
        wanted = {TopicPartition(CUT.name, partition): low + int((high - low) * amount)}
        place = {"topic": CUT.name, "partition": partition}
        history.invoke("delete_records", **place)
        try:
            with closing(KafkaAdminClient(bootstrap_servers=ground.bootstrap, request_timeout_ms=ASK_MS)) as admin:
                [told] = admin.delete_records(wanted).values()
        except (KafkaError, OSError) as failure:
            history.fail("delete_records", error=type(failure).__name__, **place)
            return
        if told["error_code"] == 0:
            history.ok("delete_records", low=told["low_watermark"], **place)
        else:
            history.fail("delete_records", error=str(told), **place)
