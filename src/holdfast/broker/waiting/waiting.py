"""What clients are answered while the store has not answered once since the start.

Which topics there are is told from the local copy of the metadata, and records that are certain are served from the
write-ahead log (`broker.waiting.reads`). Everything else is refused in a way that clients try again: without the store
nobody can prove that no other broker has taken over, so nothing is accepted; and which offsets there are besides is not
known, so that no consumer may be told that its own is out of range.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from holdfast.broker.api import api_versions
from holdfast.broker.net.request import Body, Done, Request
from holdfast.broker.net.server import Work
from holdfast.broker.topics import INTERNAL
from holdfast.broker.waiting.reads import NOT_NOW, WaitingReads
from holdfast.cluster.metadata import Metadata, Topic
from holdfast.errors import Unavailable
from holdfast.protocol.api import Key, find
from holdfast.protocol.classes import response_class
from holdfast.protocol.codes import Code
from holdfast.protocol.errors import UnsupportedVersion
from holdfast.protocol.generated.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from holdfast.protocol.generated.list_offsets import ListOffsetsRequest
from holdfast.protocol.generated.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from holdfast.protocol.generated.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)
from holdfast.protocol.header import frame_response
from holdfast.protocol.hot import fetch, produce
from holdfast.protocol.hot.fetch_response import encode_response as encode_fetched
from holdfast.protocol.hot.produce_response import Produced, ProducedTopic
from holdfast.protocol.hot.produce_response import encode_response as encode_produced
from holdfast.protocol.message import Message, fields_of
from holdfast.protocol.messages import decode_request, encode_response
from holdfast.security.rules import Rules
from holdfast.types import Buffer

_NOBODY = Code.COORDINATOR_NOT_AVAILABLE
_NO_ID = UUID(int=0)
_NULL_NAME_FROM = 12


class NotYet(Unavailable):
    """There is no answer of this kind that says: try again. The connection is closed, which says it, too."""

    def __init__(self, api: str, why: str) -> None:
        super().__init__(f"{api} is not answered: {why}")
        self.api = api


class Waiting:
    """Answers from a copy of the metadata, and from the write-ahead log."""

    why = "the store has not answered since the start"

    def __init__(
        self,
        copy: Metadata,
        node_id: int,
        reads: WaitingReads | None = None,
        rules: Rules | None = None,
        rack: str = "",
    ) -> None:
        """`rules` has super users at most: all others are in the store. None: there is no authorizer."""
        self._rules = rules
        self._copy = copy
        self._reads = reads or WaitingReads(copy)
        self._by_id = {each.topic_id: each for each in copy.topics.values()}
        self._node_id = node_id
        self._rack = rack

    def start_produce(self, request: Request, done: Done) -> bool:
        del request, done
        return False  # It comes back through `handle`.

    async def handle(self, request: Request) -> Sequence[Buffer]:
        header = request.header
        api = find(header.api_key, header.api_version) if header.api_key != Key.API_VERSIONS else None
        if api is not None and self._rules is not None and request.session.principal not in self._rules.super_users:
            raise NotYet(f"{api.name} of {request.session.principal}", self.why)
        if (
            api is not None
            and api.key == Key.PRODUCE
            and produce.decode_request(request.version, request.body).acks == 0
        ):
            raise NotYet("Produce without an answer", self.why)
        try:
            version, body = request.version, await self._answer(Key(header.api_key), request)
        except UnsupportedVersion:
            if header.api_key != Key.API_VERSIONS:
                raise
            version, body = 0, api_versions.own_versions_only()
        return frame_response(header.api_key, version, header.correlation_id, body)

    async def _answer(self, key: Key, request: Request) -> Body:
        version = request.version
        if key == Key.PRODUCE:
            return [encode_produced(version, produced(produce.decode_request(version, request.body)))]
        if key == Key.FETCH:
            wanted = fetch.decode_request(version, request.body)
            if wanted.session_id:  # A new one names all partitions again.
                return encode_fetched(version, [], error_code=Code.FETCH_SESSION_ID_NOT_FOUND)
            return encode_fetched(version, await self._reads.fetched(wanted))
        message = decode_request(key, version, request.body)
        answer: Message
        if key == Key.API_VERSIONS:
            answer = api_versions.answer(version, self._copy.version)
        elif isinstance(message, MetadataRequest):
            answer = self._metadata(message, request)
        elif isinstance(message, ListOffsetsRequest):
            answer = self._reads.offsets(message, version)
        elif isinstance(message, OffsetForLeaderEpochRequest):
            answer = epoch_ends(message)
        elif isinstance(message, FindCoordinatorRequest):
            answer = coordinators(message, version, _NOBODY)
        else:
            answer = refused(key, version, _NOBODY, self.why)
        return encode_response(key, version, answer)

    def _metadata(self, message: MetadataRequest, request: Request) -> MetadataResponse:
        version = request.version
        if message.topics is None or (version == 0 and not message.topics):
            topics = [described(each, self._node_id) for each in self._copy.topics.values()]
        else:
            topics = [self._wanted(each, version) for each in message.topics]
        node, (host, port) = self._node_id, request.told
        return MetadataResponse(
            brokers=[MetadataResponseBroker(node_id=node, host=host, port=port, rack=self._rack or None)],
            cluster_id=self._copy.cluster_id,
            controller_id=node,
            topics=topics,
        )

    def _wanted(self, wanted: MetadataRequestTopic, version: int) -> MetadataResponseTopic:
        found = self._copy.topics.get(wanted.name) if wanted.name else self._by_id.get(wanted.topic_id or _NO_ID)
        if found is not None:
            return described(found, self._node_id)
        # It may be there, and the copy old: that is for the store to say.
        name = wanted.name if version >= _NULL_NAME_FROM else wanted.name or ""
        return MetadataResponseTopic(
            error_code=Code.LEADER_NOT_AVAILABLE, name=name, topic_id=wanted.topic_id, partitions=[]
        )


class Switch:
    """Passes requests on to `work`, which may be changed under the connections that are open."""

    def __init__(self, work: Work) -> None:
        self.work = work

    def start_produce(self, request: Request, done: Done) -> bool:
        return self.work.start_produce(request, done)

    async def handle(self, request: Request) -> Sequence[Buffer]:
        return await self.work.handle(request)


def produced(message: produce.ProduceRequest, code: Code = NOT_NOW) -> list[ProducedTopic]:
    """A refusal of all of it."""
    return [
        ProducedTopic(
            topic.topic_id if topic.topic_id is not None else topic.name or "",
            [Produced(each.partition, code) for each in topic.partitions],
        )
        for topic in message.topics
    ]


def described(topic: Topic, leader: int) -> MetadataResponseTopic:
    """A topic, all of whose partitions this broker leads; -1: nobody does."""
    is_led = leader >= 0
    nodes = [leader] if is_led else []
    partitions = [
        MetadataResponsePartition(
            error_code=Code.NONE if is_led else Code.LEADER_NOT_AVAILABLE,
            partition_index=number,
            leader_id=leader,
            leader_epoch=-1,  # Not known here.
            replica_nodes=nodes,
            isr_nodes=nodes,
            offline_replicas=[],
        )
        for number in range(topic.partitions)
    ]
    return MetadataResponseTopic(
        error_code=Code.NONE,
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.name in INTERNAL,
        partitions=partitions,
    )


def epoch_ends(message: OffsetForLeaderEpochRequest, code: Code = NOT_NOW) -> OffsetForLeaderEpochResponse:
    """A refusal of all of it: a connection that is closed would take the fetches behind it along."""
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=[EpochEndOffset(partition=each.partition, error_code=code) for each in topic.partitions],
            )
            for topic in message.topics
        ]
    )


def coordinators(
    message: FindCoordinatorRequest, version: int, code: Code, node_id: int = -1, host: str = "", port: int = -1
) -> FindCoordinatorResponse:
    """One answer for all that are asked for: the same broker, or why there is none."""
    found: dict[str, Any] = {"error_code": code, "error_message": None, "node_id": node_id, "host": host, "port": port}
    if version < 4:
        return FindCoordinatorResponse(**found)
    return FindCoordinatorResponse(coordinators=[Coordinator(key=key, **found) for key in message.coordinator_keys])


def refused(key: Key, version: int, code: Code, why: str) -> Message:
    """An answer that is an error as a whole, where this API has one."""
    made: Any = response_class(key)
    if not any(each.name == "error_code" and each.is_in(version) for each in fields_of(made)):
        raise NotYet(key.name, why)
    answer: Message = made(error_code=code)
    return answer
