"""Real clients that produce values and read them back, with whatever settings of security."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import Consumer, Producer
from kafka import KafkaConsumer, KafkaProducer
from tests.broker.wire import Wire

from holdfast.protocol.api import Key

Conf = Mapping[str, Any]
_PATIENCE_S = 60


def serves(wire: Wire) -> bool:
    return bool(wire.ask(Key.METADATA, 9, topics=[]).brokers)


def by_confluent(topic: str, values: Sequence[bytes], conf: Conf, of_producer: Conf) -> list[bytes]:
    producer = Producer({**conf, **of_producer})
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(_PATIENCE_S) == 0
    consumer = Consumer({**conf, "group.id": topic, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    found: list[bytes] = []
    until = time.monotonic() + _PATIENCE_S
    while len(found) < len(values) and time.monotonic() < until:
        message = consumer.poll(1)
        if message is not None and message.error() is None:
            found.append(message.value() or b"")
    consumer.close()
    return found


def by_kafka_python(topic: str, values: Sequence[bytes], conf: Conf, of_producer: Conf) -> list[bytes]:
    producer = KafkaProducer(**conf, **of_producer)
    for value in values:
        producer.send(topic, value).get(_PATIENCE_S)
    producer.close()
    consumer = KafkaConsumer(topic, **conf, auto_offset_reset="earliest", consumer_timeout_ms=20_000)
    found = [message.value for _, message in zip(values, consumer, strict=False)]
    consumer.close()
    return found


async def by_aiokafka(topic: str, values: Sequence[bytes], conf: Conf, of_producer: Conf) -> list[bytes]:
    async with AIOKafkaProducer(**conf, **of_producer) as producer:
        for value in values:
            await producer.send_and_wait(topic, value)
    async with AIOKafkaConsumer(topic, **conf, auto_offset_reset="earliest") as consumer:
        return [(await asyncio.wait_for(consumer.getone(), _PATIENCE_S)).value or b"" for _ in values]
