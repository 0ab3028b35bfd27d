"""A transactional producer of aiokafka, in an event loop of its own."""

from __future__ import annotations

import asyncio
import contextlib
import random
from dataclasses import dataclass

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError
from tests.torture.facts import value_of
from tests.torture.ground import PARTITIONS, TXN, Ground
from tests.torture.history import History

_PATIENCE_S = 60.0
ABORTED = 0.25


@dataclass(frozen=True)
class AsyncTransactor:
    """Writes transactions until it is told to stop. After any failure the next client takes the id over."""

    name: str

    def run(self, ground: Ground) -> None:
        asyncio.run(self._run(ground))

    async def _run(self, ground: Ground) -> None:
        history = ground.history(self.name)
        chance = ground.chance(self.name)
        life = 0
        while not ground.writing.is_set():
            try:
                await _life(self.name, f"{self.name}.{life}", ground, history, chance)
            except (KafkaError, TimeoutError, OSError) as failure:
                history.info("client", gone=repr(failure)[:200], life=life)
                await asyncio.sleep(0.1)  # The broker is away: not at once again.
            life += 1
        history.close()


async def _life(name: str, producer: str, ground: Ground, history: History, chance: random.Random) -> None:
    client = AIOKafkaProducer(
        bootstrap_servers=ground.bootstrap,
        transactional_id=name,
        transaction_timeout_ms=20_000,
        request_timeout_ms=10_000,
        retry_backoff_ms=50,
    )
    try:
        await asyncio.wait_for(client.start(), _PATIENCE_S)
        history.info("producer", producer=producer, once=True)
        number, txn = 0, 0
        while not ground.writing.is_set():
            count = chance.randint(1, 8)
            await asyncio.wait_for(_transaction(client, history, chance, (producer, txn, number, count)), _PATIENCE_S)
            number, txn = number + count, txn + 1
            await asyncio.sleep(chance.uniform(0, 0.1))
    finally:
        with contextlib.suppress(KafkaError, TimeoutError, OSError):  # What it left open is ended by the next.
            await asyncio.wait_for(client.stop(), 5)


async def _transaction(
    client: AIOKafkaProducer, history: History, chance: random.Random, what: tuple[str, int, int, int]
) -> None:
    producer, txn, first, count = what
    facts = {"producer": producer, "txn": txn}
    await client.begin_transaction()
    history.invoke("send", topic=TXN.name, first=first, count=count, **facts)
    waits = []
    for number in range(first, first + count):
        value = value_of(producer, number, txn).encode()
        waits.append(await client.send(TXN.name, value, partition=number % PARTITIONS))
    told = await asyncio.gather(*waits)
    acks = [[first + at, each.partition, each.offset] for at, each in enumerate(told)]
    history.ok("send", producer=producer, topic=TXN.name, acks=acks)
    if chance.random() < ABORTED:
        history.invoke("abort", **facts)
        await client.abort_transaction()
        history.ok("abort", **facts)
    else:
        history.invoke("commit", **facts)
        await client.commit_transaction()
        history.ok("commit", **facts)
