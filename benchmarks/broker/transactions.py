"""A child of the benchmark: transactions of one record each, over raw connections.

    transactions.py WAY HOST:PORT TOPIC SIZE COUNT PRODUCERS

Each producer has a transactional id of its own, and begins the next transaction when the last one is answered. WAY is
`implicit`, where producing adds the partition and each end gives another epoch, or `explicit`, where a request adds it.
It speaks the protocol itself: a client library would take longer than the broker.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from typing import Any

from holdfast.protocol.api import Key
from holdfast.protocol.classes import request_class
from holdfast.protocol.header import decode_response_header, frame_request
from holdfast.protocol.message import part_class
from holdfast.protocol.messages import decode_response, encode_request
from holdfast.record.build import build
from holdfast.record.records import Record

_RETRY = (14, 15, 16, 51)  # The coordinator is not ready, or still busy with the last transaction.
_RETRY_S = 0.001


class Producer:
    """One transactional producer on one connection."""

    def __init__(self, number: int, topic: str, size: int, *, implicit: bool) -> None:
        self._id = f"bench-{number}-{time.time_ns()}"
        self._topic = topic
        self._size = size
        self._implicit = implicit
        self._sequence = 0
        self._producer_id = self._epoch = -1
        self.retries = 0

    async def connect(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._reader, self._writer = await asyncio.open_connection(host, int(port))
        coordinator = {"key_type": 1, "coordinator_keys": [self._id]}
        await self._until(Key.FIND_COORDINATOR, 4, coordinator, lambda answer: answer.coordinators[0].error_code)
        wanted = {"transactional_id": self._id, "transaction_timeout_ms": 60_000}
        answer = await self._until(Key.INIT_PRODUCER_ID, 4, wanted, lambda answer: answer.error_code)
        self._producer_id, self._epoch = answer.producer_id, answer.producer_epoch

    async def transact(self) -> None:
        """Begin, produce, commit."""
        if not self._implicit:
            topics = [_part(Key.ADD_PARTITIONS_TO_TXN, "AddPartitionsToTxnTopic")(name=self._topic, partitions=[0])]
            fields = {f"v3_and_below_{name}": value for name, value in self._who().items()}
            await self._until(Key.ADD_PARTITIONS_TO_TXN, 3, {**fields, "v3_and_below_topics": topics}, _added)
        await self._until(Key.PRODUCE, 12 if self._implicit else 10, self._produce(), _produced)
        self._sequence += 1
        wanted = {**self._who(), "committed": True}
        answer = await self._until(Key.END_TXN, 5 if self._implicit else 4, wanted, lambda answer: answer.error_code)
        if self._implicit:
            self._producer_id, self._epoch, self._sequence = answer.producer_id, answer.producer_epoch, 0

    def _who(self) -> dict[str, Any]:
        return {"transactional_id": self._id, "producer_id": self._producer_id, "producer_epoch": self._epoch}

    def _produce(self) -> dict[str, Any]:
        batch = build(
            [Record(None, bytes(self._size), time.time_ns() // 1_000_000)],
            transactional=True,
            producer_id=self._producer_id,
            producer_epoch=self._epoch,
            base_sequence=self._sequence,
        )
        topic = _part(Key.PRODUCE, "TopicProduceData")
        data = [_part(Key.PRODUCE, "PartitionProduceData")(index=0, records=bytes(batch))]
        topics = [topic(name=self._topic, partition_data=data)]
        return {"transactional_id": self._id, "acks": -1, "timeout_ms": 30_000, "topic_data": topics}

    async def _until(self, key: Key, version: int, fields: dict[str, Any], code_of: Any) -> Any:
        """Ask until the broker is ready for it."""
        frame = b"".join(
            frame_request(key, version, 1, "bench", encode_request(key, version, request_class(key)(**fields)))
        )
        while True:
            self._writer.write(frame)
            size = int.from_bytes(await self._reader.readexactly(4), "big")
            found = memoryview(await self._reader.readexactly(size))
            answer = decode_response(key, version, found[decode_response_header(key, version, found)[1] :])
            code = code_of(answer)
            if code == 0:
                return answer
            assert code in _RETRY, f"{key.name}: error code {code}"
            self.retries += 1
            await asyncio.sleep(_RETRY_S)


def _part(key: Key, name: str) -> Any:
    return part_class(request_class(key), name)


def _added(answer: Any) -> int:
    return int(answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code)


def _produced(answer: Any) -> int:
    return int(answer.responses[0].partition_responses[0].error_code)


async def run(way: str, address: str, topic: str, size: int, count: int, producers: int) -> None:
    all_ = [Producer(number, topic, size, implicit=way == "implicit") for number in range(producers)]
    for producer in all_:
        await producer.connect(address)
        await producer.transact()  # The first one makes internal topics, and warms up.
    took: list[float] = []

    async def one(producer: Producer) -> None:
        for _ in range(count // producers):
            started = time.perf_counter()
            await producer.transact()
            took.append(time.perf_counter() - started)

    started = time.perf_counter()
    await asyncio.gather(*map(one, all_))
    seconds = time.perf_counter() - started
    percent = [1000 * each for each in statistics.quantiles(took, n=100)]
    retries = sum(producer.retries for producer in all_)
    print(f"transactions_per_second={len(took) / seconds} p50_ms={percent[49]} p99_ms={percent[98]} retries={retries}")


if __name__ == "__main__":
    way_, where, topic_, *numbers = sys.argv[1:]
    asyncio.run(run(way_, where, topic_, *map(int, numbers)))
