"""WriteTxnMarkers: a transaction ends in partitions: its coordinator on another broker says so, or an operator."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

from holdfast.broker.codes import code_of
from holdfast.broker.context import BrokerContext
from holdfast.broker.guard.rights import ALTER_CLUSTER, CLUSTER_ACTION
from holdfast.broker.net.request import Request
from holdfast.broker.net.slices import PIECE_COUNT, Slices, in_pieces
from holdfast.broker.peers.door import PeerSession
from holdfast.broker.topics import INTERNAL, OFFSETS_TOPIC
from holdfast.coordinator.transaction.durable_transaction import ReachedState
from holdfast.errors import Corrupt, HoldfastError
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from holdfast.record.marker import Marker, MarkerKind
from holdfast.types import TopicPartition

End: TypeAlias = Callable[[BrokerContext, TopicPartition, Marker], Coroutine[Any, Any, Code]]


async def handle(context: BrokerContext, message: WriteTxnMarkersRequest, request: Request) -> WriteTxnMarkersResponse:
    pace = request.pace
    end = _end
    if isinstance(request.session, PeerSession):
        is_allowed, end = True, _end_for_peer
    else:
        is_allowed = request.rights.sees(ALTER_CLUSTER) or request.rights.may(CLUSTER_ACTION)
    results: list[WritableTxnMarkerResult] = []
    for at in range(0, len(message.markers), PIECE_COUNT):  # Together: each waits until it is durable.
        some = message.markers[at : at + PIECE_COUNT]
        results += await asyncio.gather(*(_write(context, each, pace, end, is_allowed=is_allowed) for each in some))
    return WriteTxnMarkersResponse(markers=results)


async def _write(
    context: BrokerContext, wanted: WritableTxnMarker, pace: Slices, end: End, *, is_allowed: bool
) -> WritableTxnMarkerResult:
    kind = MarkerKind.COMMIT if wanted.transaction_result else MarkerKind.ABORT
    now_ms = context.clock.now_ms()
    marker = Marker(kind, wanted.producer_id, wanted.producer_epoch, wanted.coordinator_epoch, now_ms)
    places: dict[TopicPartition, None] = {}  # A partition that is named twice gets one marker.
    async for topic in pace.through(wanted.topics):
        places |= {TopicPartition(topic.name, number): None async for number in pace.through(topic.partition_indexes)}
    codes: dict[TopicPartition, Code] = {}
    if not is_allowed:
        codes, places = dict.fromkeys(places, Code.CLUSTER_AUTHORIZATION_FAILED), {}
    for some in in_pieces(places):
        codes |= dict(zip(some, await asyncio.gather(*(end(context, each, marker) for each in some)), strict=True))
        await pace.rest()
    topics = []
    async for topic in pace.through(wanted.topics):
        partitions = [
            WritableTxnMarkerPartitionResult(
                partition_index=number, error_code=codes[TopicPartition(topic.name, number)]
            )
            async for number in pace.through(topic.partition_indexes)
        ]
        topics.append(WritableTxnMarkerTopicResult(name=topic.name, partitions=partitions))
    return WritableTxnMarkerResult(producer_id=wanted.producer_id, topics=topics)


async def _end_for_peer(context: BrokerContext, place: TopicPartition, marker: Marker) -> Code:
    """As its coordinator wants it: what has ended before stays as it is. Durable when it is answered."""
    try:
        partition = context.topics.get(place.topic).partition(place.partition)
        reached = context.markers.end(place, marker)
        if reached is ReachedState.LATER:
            return Code.CORRUPT_MESSAGE
        if reached is not ReachedState.ENDED:
            return Code.NOT_LEADER_OR_FOLLOWER
        await partition.durable.reached(partition.marks.log_end)
        partition.check_alive()
    except Corrupt:  # Told apart from what may be otherwise in a moment: the other partitions must not wait for it.
        return Code.CORRUPT_MESSAGE
    except HoldfastError as failure:
        return code_of(failure)
    return Code.NONE


async def _end(context: BrokerContext, place: TopicPartition, marker: Marker) -> Code:
    """As somebody else wants it who may: an operator, or whoever shuts out an earlier producer of its own."""
    if place.topic in INTERNAL and not (context.gate.is_on and place.topic == OFFSETS_TOPIC):
        return Code.INVALID_TOPIC_EXCEPTION  # Without an authorizer that would be anybody.
    try:
        partition = context.topics.get(place.topic).partition(place.partition)
        context.markers.append_for_operator(place, partition, marker)
        await partition.durable.reached(partition.marks.log_end)
    except HoldfastError as failure:
        return code_of(failure)
    return Code.NONE
