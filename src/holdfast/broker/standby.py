"""What clients are answered by a broker of a cluster that does not lead: who does, and nothing else.

It is told from the metadata, as this broker has seen it last. Whatever only the leader can answer is refused with a
code that makes clients look for it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

from holdfast.broker.api import api_versions
from holdfast.broker.elsewhere import Others
from holdfast.broker.net.request import Body, Done, Request
from holdfast.broker.net.server import Work
from holdfast.broker.racks import Racks
from holdfast.broker.settings import BrokerSettings
from holdfast.broker.waiting.waiting import (
    NotYet,
    Waiting,
    coordinators,
    described,
    epoch_ends,
    produced,
    refused,
)
from holdfast.cluster.metadata import Metadata, Topic
from holdfast.errors import Unavailable
from holdfast.io.address import Address
from holdfast.protocol.api import Key
from holdfast.protocol.classes import response_class
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from holdfast.protocol.generated.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from holdfast.protocol.generated.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from holdfast.protocol.generated.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponseTopic,
)
from holdfast.protocol.generated.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from holdfast.protocol.hot import fetch, produce
from holdfast.protocol.hot.fetch_response import Fetched, FetchedTopic
from holdfast.protocol.hot.fetch_response import encode_response as encode_fetched
from holdfast.protocol.hot.produce_response import encode_response as encode_produced
from holdfast.protocol.message import Message
from holdfast.protocol.messages import decode_request, encode_response
from holdfast.security.rules import Rules
from holdfast.types import Buffer

ELSEWHERE = Code.NOT_LEADER_OR_FOLLOWER
_NOBODY = -1
_TAKEOVER_S = 2.0
_OWN = (Key.LIST_GROUPS, Key.LIST_TRANSACTIONS, Key.DESCRIBE_LOG_DIRS)  # Asked of all brokers, each for its own: none.


class NoLease(Unavailable):
    """Others may have taken over meanwhile. The connection is closed, and its client asks another broker."""

    def __init__(self) -> None:
        super().__init__("this broker could not say for a while that it lives: it answers nobody until it can")


class LeasedWork:
    """Requests to a leader, as long as it may answer: it is asked before and behind, since some wait for long."""

    def __init__(self, work: Work, has_lease: Callable[[], bool]) -> None:
        self._work = work
        self._has_lease = has_lease

    def start_produce(self, request: Request, done: Done) -> bool:
        return self._has_lease() and self._work.start_produce(request, done)

    async def handle(self, request: Request) -> Sequence[Buffer]:
        self._check()
        answer = await self._work.handle(request)
        self._check()
        return answer

    def _check(self) -> None:
        if not self._has_lease():
            raise NoLease


class Standby(Waiting):
    """Answers from the metadata. Who asks while we take over waits a little, and is answered by the leader."""

    why = "another broker of the cluster leads"

    def __init__(
        self,
        metadata: Callable[[], Metadata],
        broker: BrokerSettings,
        others: Others,
        takes_over: Callable[[], bool],
        rules: Rules | None = None,
    ) -> None:
        super().__init__(metadata(), broker.node_id, rules=rules)
        self._racks = Racks(lambda: metadata().lives, broker.node_id, broker.broker_rack, are_many=False)
        self._newest = metadata
        self._others = others
        self._leader: Work | None = None
        self._leads = asyncio.Event()
        self._takes_over = takes_over

    def lead(self, leader: Work) -> None:
        """We have taken over."""
        self._leader = leader
        self._leads.set()

    async def handle(self, request: Request) -> Sequence[Buffer]:
        if self._takes_over() and request.header.api_key != Key.API_VERSIONS:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._leads.wait(), _TAKEOVER_S)
        return await (super().handle(request) if self._leader is None else self._leader.handle(request))

    def _brokers(self, request: Request) -> list[tuple[int, Address, str | None]]:
        """Numbers, where they are found, and their racks."""
        found = (self._node_id, request.told), *self._others(request.session.listener)
        return [(number, at, self._racks.of(number)) for number, at in found]

    async def _answer(self, key: Key, request: Request) -> Body:
        version, metadata = request.version, self._newest()
        if key == Key.PRODUCE:
            return [encode_produced(version, produced(produce.decode_request(version, request.body), ELSEWHERE))]
        if key == Key.FETCH:
            return encode_fetched(version, _fetched(fetch.decode_request(version, request.body)))
        if (
            key == Key.INIT_PRODUCER_ID
        ):  # Whoever is told "elsewhere" asks the same broker again; who is cut off, another.
            raise NotYet(key.name, self.why)
        message = decode_request(key, version, request.body)
        answer: Message
        if key == Key.API_VERSIONS:
            answer = api_versions.answer(version, metadata.version)
        elif isinstance(message, MetadataRequest):
            answer = _metadata(metadata, message, request, self._brokers(request))
        elif isinstance(message, DescribeClusterRequest):
            answer = _cluster(metadata, request, self._brokers(request))
        elif isinstance(message, FindCoordinatorRequest):
            answer = _coordinators(metadata, message, request)
        elif isinstance(message, ListOffsetsRequest):
            answer = _offsets(message)
        elif isinstance(message, OffsetForLeaderEpochRequest):
            answer = epoch_ends(message, ELSEWHERE)
        elif key in _OWN:
            answer = response_class(key)()
        else:
            answer = refused(key, version, Code.NOT_COORDINATOR, self.why)
        return encode_response(key, version, answer)


def _leader(metadata: Metadata, request: Request) -> dict[str, Any]:
    """Who leads, and where those who ask through this listener find it."""
    leading = metadata.lives.leading
    if leading is None or request.session.listener not in leading.listeners:
        return {"node_id": _NOBODY, "host": "", "port": -1}
    host, port = leading.listeners[request.session.listener]
    return {"node_id": leading.broker, "host": host, "port": port}


def _metadata(
    metadata: Metadata, message: MetadataRequest, request: Request, brokers: list[tuple[int, Address, str | None]]
) -> MetadataResponse:
    leader = _leader(metadata, request)["node_id"]
    if message.topics is None or (request.version == 0 and not message.topics):
        topics = [described(each, leader) for each in metadata.topics.values()]
    else:
        by_id = {each.topic_id: each for each in metadata.topics.values()}
        topics = [_wanted(metadata, by_id, each, leader) for each in message.topics]
    return MetadataResponse(
        brokers=[
            MetadataResponseBroker(node_id=number, host=at.host, port=at.port, rack=rack)
            for number, at, rack in brokers
        ],
        cluster_id=metadata.cluster_id,
        controller_id=leader,
        topics=topics,
    )


def _wanted(
    metadata: Metadata, by_id: Mapping[UUID, Topic], wanted: MetadataRequestTopic, leader: int
) -> MetadataResponseTopic:
    if wanted.name:
        found, unknown = metadata.topics.get(wanted.name), Code.UNKNOWN_TOPIC_OR_PARTITION
    else:
        found, unknown = by_id.get(wanted.topic_id) if wanted.topic_id else None, Code.UNKNOWN_TOPIC_ID
    if found is None:  # It may be just made, or the leader would make it: who asks again asks the leader, too.
        return MetadataResponseTopic(
            error_code=unknown, name=wanted.name or "", topic_id=wanted.topic_id, partitions=[]
        )
    return described(found, leader)


def _cluster(
    metadata: Metadata, request: Request, brokers: list[tuple[int, Address, str | None]]
) -> DescribeClusterResponse:
    return DescribeClusterResponse(
        error_code=Code.NONE,
        endpoint_type=1,
        cluster_id=metadata.cluster_id,
        controller_id=_leader(metadata, request)["node_id"],
        brokers=[
            DescribeClusterBroker(broker_id=number, host=at.host, port=at.port, rack=rack)
            for number, at, rack in brokers
        ],
    )


def _coordinators(metadata: Metadata, message: FindCoordinatorRequest, request: Request) -> FindCoordinatorResponse:
    leader = _leader(metadata, request)
    code = Code.COORDINATOR_NOT_AVAILABLE if leader["node_id"] == _NOBODY else Code.NONE
    return coordinators(message, request.version, code, **leader)


def _fetched(message: fetch.FetchRequest) -> list[FetchedTopic]:
    return [
        FetchedTopic(
            topic.topic_id if topic.topic_id is not None else topic.name or "",
            [Fetched(each.partition, ELSEWHERE) for each in topic.partitions],
        )
        for topic in message.topics
    ]


def _offsets(message: ListOffsetsRequest) -> ListOffsetsResponse:
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(
                name=topic.name,
                partitions=[
                    ListOffsetsPartitionResponse(partition_index=each.partition_index, error_code=ELSEWHERE)
                    for each in topic.partitions
                ],
            )
            for topic in message.topics
        ]
    )
