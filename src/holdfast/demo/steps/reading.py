"""A real Kafka client reads a topic from its beginning to its end, as any program would."""

from __future__ import annotations

from typing import Any

import numpy as np

from holdfast.demo.account import Account
from holdfast.demo.events import TOPIC
from holdfast.demo.stage import PARTITIONS, Stage
from holdfast.demo.steps.producing import confluent_kafka
from holdfast.errors import Unavailable
from holdfast.testing import RunningBroker

_AT_ONCE = 10_000
_SILENT_S_MAX = 60.0


def read_all(stage: Stage, broker: RunningBroker, account: Account) -> float:
    """Everything that is there now goes into the account; how many seconds it took from the first record on."""
    package = confluent_kafka()
    settings = {
        "bootstrap.servers": broker.bootstrap,
        "group.id": "holdfast-demo",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "check.crcs": True,
        "log_level": 0,
    }
    consumer = stage.interrupt.behind(lambda: package.Consumer(settings))
    try:
        places = [package.TopicPartition(TOPIC, number, package.OFFSET_BEGINNING) for number in range(PARTITIONS)]
        stage.interrupt.behind(lambda: consumer.assign(places))
        return _until_the_end(stage, consumer, account, package.KafkaError._PARTITION_EOF)
    finally:
        stage.interrupt.behind(consumer.close)


def _until_the_end(stage: Stage, consumer: Any, account: Account, end: int) -> float:
    began = heard = stage.clock.monotonic()
    ended: set[int] = set()
    while len(ended) < PARTITIONS:
        messages = stage.interrupt.behind(lambda: consumer.consume(_AT_ONCE, 0.5))
        now = stage.clock.monotonic()
        heard = now if messages else heard
        if now - heard > _SILENT_S_MAX:
            raise Unavailable(f"the broker sent nothing for {_SILENT_S_MAX:.0f} s, and the end was not reached")
        records = [each for each in messages if each.error() is None]
        for failure in [each for each in messages if each.error() is not None]:
            if failure.error().code() != end:
                raise Unavailable(f"the consumer was told: {failure.error()}")
            ended.add(failure.partition())
        if records:
            _add(account, records)
            stage.watch.at(account.count, stage.ledger.acked)
    return stage.clock.monotonic() - began


def _add(account: Account, records: list[Any]) -> None:
    import pyarrow as pa

    values = pa.array([each.value() for each in records], pa.binary())
    partitions = np.array([each.partition() for each in records], np.int64)
    account.add(values, partitions, np.array([each.offset() for each in records], np.int64))
