"""Other brokers of the cluster, asked over their ports: what is asked of one at the same time is one request."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Generic, TypeVar, cast

from holdfast.broker.peers.link import PeerLink, PeerSilent
from holdfast.broker.peers.proof import ProofWrong, Way, check_answer, framed_request
from holdfast.cluster.lives import BrokerLife
from holdfast.errors import HoldfastError
from holdfast.protocol.api import Key
from holdfast.protocol.codes import Code
from holdfast.protocol.errors import Malformed
from holdfast.protocol.generated.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from holdfast.protocol.generated.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from holdfast.protocol.header import decode_response_header
from holdfast.protocol.message import RequestMessage
from holdfast.protocol.messages import decode_response, encode_request
from holdfast.record.marker import Marker, MarkerKind
from holdfast.types import TopicPartition

R = TypeVar("R")
T = TypeVar("T")

MARKERS_VERSION: Final = 1
ADMIT_VERSION: Final = 5
_TOGETHER_MAX = 500  # Questions in one request.


class Peers:
    """What this life asks of others. Belongs to one event loop."""

    def __init__(self, life: int, secret: bytes, link: PeerLink, *, answer_s: float = 5.0) -> None:
        self._life = life
        self._secret = secret
        self._link = link
        self._answer_s = answer_s
        self._numbers: Counter[tuple[int, Key]] = Counter()
        self._ends = _Together(self._send_ends)
        self._admissions = _Together(self._send_admissions)

    async def end(self, life: BrokerLife, partition: TopicPartition, marker: Marker) -> int:
        """Have a marker written; the code that the leader answers. Raises PeerSilent."""
        return await self._ends.ask(life, (partition, marker))

    async def reach(self, life: BrokerLife) -> None:
        """Ask for nothing: whether it answers. Raises PeerSilent."""
        await self._ends.ask(life, None)

    async def admit(self, life: BrokerLife, transaction: AddPartitionsToTxnTransaction) -> int:
        """Ask a coordinator about one partition; the code that it answers. Raises PeerSilent."""
        return await self._admissions.ask(life, transaction)

    def close(self) -> None:
        self._ends.close()
        self._admissions.close()

    async def _send_ends(self, life: BrokerLife, asked: Sequence[tuple[TopicPartition, Marker] | None]) -> list[int]:
        markers = [
            WritableTxnMarker(
                producer_id=marker.producer_id,
                producer_epoch=marker.producer_epoch,
                transaction_result=marker.kind == MarkerKind.COMMIT,
                topics=[WritableTxnMarkerTopic(name=place.topic, partition_indexes=[place.partition])],
                coordinator_epoch=marker.coordinator_epoch,
            )
            for place, marker in filter(None, asked)
        ]
        answer = await self._ask(life, Key.WRITE_TXN_MARKERS, MARKERS_VERSION, WriteTxnMarkersRequest(markers=markers))
        if len(answer.markers) != len(markers):
            raise PeerSilent(life, f"it answers {len(answer.markers)} of {len(markers)} markers")
        codes = iter([each.topics[0].partitions[0].error_code for each in answer.markers])
        return [int(Code.NONE) if each is None else next(codes) for each in asked]

    async def _send_admissions(self, life: BrokerLife, asked: Sequence[AddPartitionsToTxnTransaction]) -> list[int]:
        request = AddPartitionsToTxnRequest(transactions=asked)
        answer = await self._ask(life, Key.ADD_PARTITIONS_TO_TXN, ADMIT_VERSION, request)
        if answer.error_code:
            return [answer.error_code] * len(asked)
        return [
            each.topic_results[0].results_by_partition[0].partition_error_code for each in answer.results_by_transaction
        ]

    async def _ask(self, life: BrokerLife, key: Key, version: int, request: RequestMessage[R]) -> R:
        self._numbers[life.life, key] += 1
        way = Way(self._life, life.life, self._numbers[life.life, key])
        frame = framed_request(self._secret, way, key, version, 0, encode_request(key, version, request))
        found = await self._link.exchange(life, key, frame, self._answer_s)
        try:
            _, start = decode_response_header(key, version, found)
            check_answer(self._secret, way, key, version, found, found[start:])
            return cast("R", decode_response(key, version, found[start:]))
        except (Malformed, ProofWrong) as failure:
            raise PeerSilent(life, failure) from None


def admission(
    transactional_id: str, producer_id: int, epoch: int, place: TopicPartition, *, implicit: bool
) -> AddPartitionsToTxnTransaction:
    """The question whether a batch of a transaction may be appended to a partition."""
    return AddPartitionsToTxnTransaction(
        transactional_id=transactional_id,
        producer_id=producer_id,
        producer_epoch=epoch,
        verify_only=not implicit,
        topics=[AddPartitionsToTxnTopic(name=place.topic, partitions=[place.partition])],
    )


class _Together(Generic[T]):
    """Questions for each life, in the order in which they were asked: those that queue up are the next request."""

    def __init__(self, send: Callable[[BrokerLife, Sequence[T]], Awaitable[list[int]]]) -> None:
        self._send = send
        self._queues: dict[int, list[tuple[T, asyncio.Future[int]]]] = {}
        self._tasks: set[asyncio.Future[None]] = set()

    async def ask(self, life: BrokerLife, question: T) -> int:
        answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        if life.life in self._queues:
            self._queues[life.life].append((question, answer))
        else:
            self._queues[life.life] = [(question, answer)]
            task = asyncio.ensure_future(self._work(life))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return await answer

    async def _work(self, life: BrokerLife) -> None:
        queue = self._queues[life.life]
        try:
            while queue:
                some, queue[:_TOGETHER_MAX] = queue[:_TOGETHER_MAX], []
                some = [each for each in some if not each[1].done()]  # Who does not wait any more wants nothing done.
                if some:
                    await self._send_some(life, some)
        finally:
            del self._queues[life.life]
            _tell(queue, PeerSilent(life, "this broker is closing"))

    async def _send_some(self, life: BrokerLife, some: Sequence[tuple[T, asyncio.Future[int]]]) -> None:
        try:
            codes = await self._send(life, [question for question, _ in some])
            if len(codes) != len(some):
                raise PeerSilent(life, f"it answers {len(codes)} of {len(some)} questions")
        except HoldfastError as failure:
            _tell(some, failure)
        except BaseException:
            _tell(some, PeerSilent(life, "this broker is closing"))
            raise
        else:
            for (_, answer), code in zip(some, codes, strict=True):
                if not answer.done():
                    answer.set_result(code)

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()


def _tell(some: Sequence[tuple[T, asyncio.Future[int]]], failure: HoldfastError) -> None:
    for _, answer in some:
        if not answer.done():
            answer.set_exception(failure)
