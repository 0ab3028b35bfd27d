"""WriteTxnMarkers: an operator ends a transaction that nobody else will end, partition by partition."""

from __future__ import annotations

import asyncio

from holdfast.broker.codes import code_of
from holdfast.broker.context import BrokerContext
from holdfast.broker.guard.rights import ALTER_CLUSTER, CLUSTER_ACTION
from holdfast.broker.net.request import Request
from holdfast.broker.net.slices import Slices, in_pieces
from holdfast.errors import HoldfastError
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


async def handle(context: BrokerContext, message: WriteTxnMarkersRequest, request: Request) -> WriteTxnMarkersResponse:
    pace = request.pace
    is_allowed = request.rights.sees(ALTER_CLUSTER) or request.rights.may(CLUSTER_ACTION)
    return WriteTxnMarkersResponse(
        markers=[
            await _write(context, each, pace, is_allowed=is_allowed) async for each in pace.through(message.markers)
        ]
    )


async def _write(
    context: BrokerContext, wanted: WritableTxnMarker, pace: Slices, *, is_allowed: bool
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
        codes |= dict(zip(some, await asyncio.gather(*(_end(context, each, marker) for each in some)), strict=True))
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


async def _end(context: BrokerContext, place: TopicPartition, marker: Marker) -> Code:
    try:
        partition = context.topics.get(place.topic).partition(place.partition)
        context.markers.append(place, partition, marker)
        await partition.durable.reached(partition.marks.log_end)
    except HoldfastError as failure:
        return code_of(failure)
    return Code.NONE
