"""Other brokers of the cluster, asked over their ports: what is asked of one at the same time is one request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final, TypeVar, cast

from holdfast.broker.peers.link import PeerLink, PeerSilent
from holdfast.broker.peers.proof import ProofWrong, Way, check_answer, framed_request
from holdfast.broker.peers.share_messages import (
    READ_VERSION,
    WRITE_VERSION,
    StateRead,
    StateWrite,
    read_answers,
    read_requests,
    write_answers,
    write_requests,
)
from holdfast.broker.peers.together import AskedTogether
from holdfast.cluster.lives import BrokerLife
from holdfast.coordinator.share.records import StoredState
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

MARKERS_VERSION: Final = 1
ADMIT_VERSION: Final = 5


class Peers:
    """What this life asks of others. Belongs to one event loop."""

    def __init__(
        self, life: int, secret: bytes, link: PeerLink, known: Callable[[], int] = lambda: -1, *, answer_s: float = 5.0
    ) -> None:
        """`known` is the version of the metadata that we know: others look when theirs is older."""
        self._known = known
        self._life = life
        self._secret = secret
        self._link = link
        self._answer_s = answer_s
        self._numbers: Counter[tuple[int, Key]] = Counter()
        self._ends = AskedTogether(self._send_ends)
        self._admissions = AskedTogether(self._send_admissions)
        self._reads = AskedTogether(self._send_reads)
        self._writes = AskedTogether(self._send_writes)

    async def end(self, life: BrokerLife, partition: TopicPartition, marker: Marker) -> int:
        """Have a marker written; the code that the leader answers. Raises PeerSilent."""
        return await self._ends.ask(life, (partition, marker))

    async def reach(self, life: BrokerLife) -> None:
        """Ask for nothing: whether it answers. Raises PeerSilent."""
        await self._ends.ask(life, None)

    async def admit(self, life: BrokerLife, transaction: AddPartitionsToTxnTransaction) -> int:
        """Ask a coordinator about one partition; the code that it answers. Raises PeerSilent."""
        return await self._admissions.ask(life, transaction)

    async def read_state(self, life: BrokerLife, asked: StateRead) -> tuple[int, StoredState]:
        """Ask the coordinator of a share group what it keeps of a partition; with its code. Raises PeerSilent."""
        return await self._reads.ask(life, asked)

    async def write_state(self, life: BrokerLife, told: StateWrite) -> int:
        """Have the coordinator of a share group keep a state; the code that it answers. Raises PeerSilent."""
        return await self._writes.ask(life, told)

    def close(self) -> None:
        for each in (self._ends, self._admissions, self._reads, self._writes):
            each.close()

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

    async def _send_reads(self, life: BrokerLife, asked: Sequence[StateRead]) -> list[tuple[int, StoredState]]:
        found: dict[int, tuple[int, StoredState]] = {}
        for places, request in read_requests(asked):
            answer = await self._ask(life, Key.READ_SHARE_GROUP_STATE, READ_VERSION, request)
            found |= zip(places, read_answers(request, answer), strict=False)
        return [found[place] for place in sorted(found)]

    async def _send_writes(self, life: BrokerLife, told: Sequence[StateWrite]) -> list[int]:
        found: dict[int, int] = {}
        for places, request in write_requests(told):
            answer = await self._ask(life, Key.WRITE_SHARE_GROUP_STATE, WRITE_VERSION, request)
            found |= zip(places, write_answers(request, answer), strict=False)
        return [found[place] for place in sorted(found)]

    async def _ask(self, life: BrokerLife, key: Key, version: int, request: RequestMessage[R]) -> R:
        self._numbers[life.life, key] += 1
        way = Way(self._life, life.life, self._numbers[life.life, key])
        frame = framed_request(self._secret, way, key, version, self._known(), encode_request(key, version, request))
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
