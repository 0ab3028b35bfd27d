"""The driver's commit: everything that was staged, in one transaction.

1. `init_producer_id` with the sink's transactional id: what an earlier driver left open is ended, and it is fenced.
2. What the sink remembers is read. If it names this batch already, there is nothing to do.
3. The staged batches are sent with the producer's numbers on them, one of each partition in a request.
4. What is to be remembered of this batch is added to the transaction, and the transaction is committed.

Who is killed before the last step has written nothing that readers see; after it, step 2 of the next run finds the
it. A second driver fences the first in step 1, so that of two that remember the same one commits.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from holdfast.client import Client, ProducerIdentity
from holdfast.client.errors import TransactionLost
from holdfast.errors import Fenced, HoldfastError
from holdfast.io.clock import Clock
from holdfast.io.objects import NotFound, Objects
from holdfast.record.batch import check_crc, split
from holdfast.record.errors import stored
from holdfast.record.layout import SEQUENCE_MASK
from holdfast.record.restamp import restamp
from holdfast.spark.sink.commit_record import name_of
from holdfast.spark.sink.errors import CommitTooLarge, CommitTooSlow, StagedGone
from holdfast.spark.sink.staging import StagedObject
from holdfast.types import Buffer, TopicPartition

_REQUEST_SIZE = 16 << 20  # Bytes of one request, about.
_AHEAD = 2  # Objects that are read while earlier ones are sent.
_ATTEMPTS = 3
_TIME_SHARE = 0.8  # Of the transaction's time-out: what is left is for the end of it.


class CommitMemory(Protocol):
    """What a sink remembers of what it wrote: offsets of a group of its own, moved by the same transaction."""

    def is_written(self, client: Client) -> bool:
        """Whether this batch is in the topics already; raises where it must not be written at all."""

    def offsets(self, written: Sequence[TopicPartition]) -> Mapping[tuple[str, int], tuple[int, str]]:
        """What to remember once it is written to these partitions; asked after `is_written`."""


class Written(NamedTuple):
    """What a commit did: nothing, if the batch was there already."""

    is_new: bool
    record_count: int
    size: int


@dataclass
class Commit:
    """One commit of one sink."""

    client: Client
    objects: Objects
    clock: Clock
    sink: str
    timeout_ms: int
    size_max: int

    def run(self, staged: Sequence[StagedObject], memory: CommitMemory | None) -> Written:
        """Write what was staged, or find that it is there. Without a memory it is written whenever it is run."""
        size = sum(each.size for each in staged)
        if size > self.size_max:
            raise CommitTooLarge(size, self.size_max)
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return self._attempt(staged, memory, size)
            except TransactionLost:
                if attempt == _ATTEMPTS:
                    raise
        raise AssertionError  # The loop returns or raises.

    def _attempt(self, staged: Sequence[StagedObject], memory: CommitMemory | None, size: int) -> Written:
        began = self.clock.monotonic()
        name = name_of(self.sink)
        producer = self.client.init_producer_id(name, self.timeout_ms)
        if memory and memory.is_written(self.client):
            return Written(is_new=False, record_count=0, size=0)
        partitions = sorted({part.where for each in staged for part in each.parts})
        offsets = memory.offsets(partitions) if memory else {}
        if not partitions and not offsets:
            return Written(is_new=True, record_count=0, size=0)
        try:
            if partitions:
                self.client.add_partitions(name, producer, partitions)
                self._send(staged, producer, began, size)
            if offsets:
                self.client.txn_offset_commit(name, producer, name, offsets)
        except Fenced:
            raise
        except BaseException:
            self._abort(name, producer)
            raise
        self.client.end_txn(name, producer, commit=True)
        count = sum(part.record_count for each in staged for part in each.parts)
        return Written(is_new=True, record_count=count, size=size)

    def _abort(self, name: str, producer: ProducerIdentity) -> None:
        """So that readers need not wait for the time-out. If it fails, the time-out does it."""
        with contextlib.suppress(HoldfastError):
            self.client.end_txn(name, producer, commit=False)

    def _send(self, staged: Sequence[StagedObject], producer: ProducerIdentity, began: float, size: int) -> None:
        sequences: dict[TopicPartition, int] = {}
        sent = 0
        for each, data in self._read_ahead(staged):
            for request in requests(each, data, producer, sequences):
                seconds = self.clock.monotonic() - began
                if seconds > self.timeout_ms / 1000 * _TIME_SHARE:
                    raise CommitTooSlow(seconds, sent, size, self.timeout_ms)
                self.client.produce(request, transactional_id=name_of(self.sink))
            sent += each.size

    def _read_ahead(self, staged: Sequence[StagedObject]) -> Iterator[tuple[StagedObject, bytes]]:
        with ThreadPoolExecutor(_AHEAD) as pool:
            waiting: deque[tuple[StagedObject, Future[bytes]]] = deque()
            left = deque(staged)
            while left or waiting:
                while left and len(waiting) < _AHEAD:
                    each = left.popleft()
                    waiting.append((each, pool.submit(self._get, each)))
                each, data = waiting.popleft()
                yield each, data.result()

    def _get(self, staged: StagedObject) -> bytes:
        try:
            data = self.objects.get(staged.name)
        except NotFound:
            raise StagedGone(staged.name, self.objects.url) from None
        if len(data) != staged.size:
            raise StagedGone(staged.name, self.objects.url)
        return data


def requests(
    staged: StagedObject, data: bytes, producer: ProducerIdentity, sequences: dict[TopicPartition, int]
) -> Iterator[dict[tuple[str, int], list[Buffer]]]:
    """The batches of an object as requests of limited size, with at most one batch of each partition: Kafka's rule."""
    view = memoryview(data)
    queues = {part.where: deque(_batches(staged.name, view[part.start : part.end])) for part in staged.parts}
    while queues:
        request: dict[tuple[str, int], list[Buffer]] = {}
        size = 0
        for where, queue in list(queues.items()):
            if size >= _REQUEST_SIZE:
                break
            batch, count = queue.popleft()
            sequence = sequences.get(where, 0)
            request[where] = list(restamp(batch, producer.id, producer.epoch, sequence, transactional=True))
            sequences[where] = (sequence + count) & SEQUENCE_MASK
            size += len(batch)
            if not queue:
                del queues[where]
        yield request


def _batches(name: str, data: memoryview) -> Iterator[tuple[memoryview, int]]:
    """The batches and their counts. The crc is checked here: a new one would hide that the old one is wrong."""
    with stored(name):
        for header, batch in split(data):
            check_crc(header, batch)
            yield batch, header.record_count
