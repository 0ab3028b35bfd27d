"""The broker: what requests are given to. It knows the parts; each API's own file knows what to do with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.broker.api.fetch import Fetch
from holdfast.broker.api.produce import Produce
from holdfast.broker.fetch_sessions import FetchSessions, SessionLimits
from holdfast.broker.markers import Markers
from holdfast.broker.request import Body, Done, Request
from holdfast.broker.settings import BrokerSettings
from holdfast.broker.table import HANDLERS, advertised
from holdfast.broker.topics import Topics
from holdfast.coordinator.groups import GroupCoordinator
from holdfast.coordinator.producer_ids import ProducerIds
from holdfast.coordinator.transactions import TransactionCoordinator
from holdfast.io.chance import Chance
from holdfast.io.clock import Clock
from holdfast.log.logs import Logs
from holdfast.protocol.api import Key, find
from holdfast.protocol.codes import Code
from holdfast.protocol.errors import UnknownApi, UnsupportedVersion
from holdfast.protocol.header import frame_response
from holdfast.protocol.messages import decode_request, encode_response, response_class
from holdfast.types import Buffer


@dataclass(frozen=True, slots=True)
class Parts:
    """What the APIs work with."""

    settings: BrokerSettings
    cluster_id: str
    host: str  # As clients are told to reach us.
    port: int
    logs: Logs
    topics: Topics
    groups: GroupCoordinator
    producer_ids: ProducerIds
    transactions: TransactionCoordinator
    markers: Markers
    clock: Clock
    chance: Chance


class Broker:
    """Dispatches requests. The table of handlers is in `table`."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        settings = parts.settings
        limits = SessionLimits(
            sessions_max=settings.max_incremental_fetch_session_cache_slots,
            partitions_max=settings.max_incremental_fetch_session_partitions,
            silence_ms_min=settings.min_incremental_fetch_session_eviction_ms,
        )
        self.sessions = FetchSessions(limits, parts.clock, parts.chance)
        self._produce = Produce(parts.topics, parts.logs, parts.transactions)
        self._fetch = Fetch(parts.topics, self.sessions, parts.clock, parts.settings.fetch_max_bytes)

    def start_produce(self, request: Request, done: Done) -> bool:
        """Begin a produce request now and call back with the answer; False when it has to wait."""
        find(request.header.api_key, request.version)
        return self._produce.start(request, done)

    async def handle(self, request: Request) -> Sequence[Buffer]:
        """The framed answer to a request. What cannot be answered at all is raised, and the connection closed."""
        header = request.header
        if header.api_key == Key.PRODUCE:
            find(header.api_key, header.api_version)
            return await self._produce.handle(request)
        try:
            version, body = header.api_version, await self._answer(request)
        except UnsupportedVersion:
            if header.api_key != Key.API_VERSIONS:
                raise
            # The client cannot know our versions yet: it is told in the one version that everybody understands.
            version, body = 0, _own_versions_only()
        return frame_response(header.api_key, version, header.correlation_id, body)

    async def _answer(self, request: Request) -> Body:
        api = find(request.header.api_key, request.version)
        if api.key == Key.FETCH:
            return await self._fetch.handle(request)
        handler = HANDLERS.get(api.key)
        if handler is None:
            raise UnknownApi(api.key)
        message = decode_request(api.key, request.version, request.body)
        answer = await handler(self._parts, message, request)
        return answer if isinstance(answer, list) else encode_response(api.key, request.version, answer)


def _own_versions_only() -> Body:
    answer = response_class(Key.API_VERSIONS)
    own = [row for row in advertised() if row.key == Key.API_VERSIONS]
    keys = [answer.ApiVersion(api_key=each.key, min_version=0, max_version=each.max_version) for each in own]
    return encode_response(Key.API_VERSIONS, 0, answer(error_code=Code.UNSUPPORTED_VERSION, api_keys=keys))
