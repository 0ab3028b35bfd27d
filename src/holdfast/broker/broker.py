"""The broker: what requests are given to. It knows the parts; each API's own file knows what to do with them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from holdfast.broker.api import api_versions
from holdfast.broker.api.fetch import Fetch
from holdfast.broker.api.produce import Produce
from holdfast.broker.codes import code_of
from holdfast.broker.configs.quotas import Quota, rate_of_address
from holdfast.broker.context import BrokerContext
from holdfast.broker.fetch.by_rack import ReadsByRack
from holdfast.broker.fetch.sessions import FetchSessions, SessionLimits
from holdfast.broker.guard.rights import RIGHTS, NotAllowed, Right
from holdfast.broker.net.budget import Budget
from holdfast.broker.net.loop_watch import HeldLoop
from holdfast.broker.net.request import Body, Done, Request
from holdfast.broker.net.slices import Slices
from holdfast.broker.peers.door import PeerSession
from holdfast.broker.table import HANDLERS, MessageHandler, Raw, Whole
from holdfast.measure import ErrorCounts, RackCounts
from holdfast.protocol.api import APIS, Key, find
from holdfast.protocol.classes import response_class
from holdfast.protocol.errors import UnknownApi, UnsupportedVersion
from holdfast.protocol.header import frame_response
from holdfast.protocol.message import Message, fields_of, lists_of
from holdfast.protocol.messages import decode_request, encode_response
from holdfast.security.rules import CLUSTER_NAME
from holdfast.types import Buffer

_LARGE_SIZE = 16 << 10  # Bytes of a request,
_LARGE_COUNT = 300  # and items of an answer, from where on a thread is worth its while.


class Broker:
    """Dispatches requests. The table of handlers is in `table`."""

    def __init__(self, context: BrokerContext) -> None:
        self._context = context
        self.held = HeldLoop(context.clock)
        settings = context.settings
        limits = SessionLimits(
            sessions_max=settings.max_incremental_fetch_session_cache_slots,
            partitions_max=settings.max_incremental_fetch_session_partitions,
            silence_ms_min=settings.min_incremental_fetch_session_eviction_ms,
        )
        self.sessions = FetchSessions(limits, context.clock, context.chance)
        self._gate = context.gate
        self._throttle = context.throttle
        self._produce = Produce(
            context.topics,
            context.logs,
            context.transactions,
            context.clock,
            context.heavy,
            context.gate,
            context.permits,
            context.others,
        )
        self.rack_counts = RackCounts()
        self.by_rack: ReadsByRack | None = None  # Who reads old records for whom, where there are several brokers.
        if context.topics.is_shared:
            node = settings.node_id
            parts = context.racks, context.topics, context.logs, context.clock
            self.by_rack = ReadsByRack(*parts, node, self.rack_counts)
        answers = Budget(settings.queued_max_response_bytes)
        self._fetch = Fetch(
            context.topics,
            self.sessions,
            context.clock,
            context.heavy,
            settings.fetch_max_bytes,
            answers,
            context.gate,
            context.throttle,
            context.others,
            self.by_rack,
        )
        self._fetch.errors = self._produce.errors

    @property
    def errors(self) -> ErrorCounts:
        """The error codes that clients were told, by API."""
        return self._produce.errors

    def count_answers_in(self, answers: Budget) -> None:
        """What fetches read counts in the budget of the port that sends it."""
        self._fetch.answers = answers

    def address_rate(self, address: str) -> float | None:
        """New connections a second that the quotas allow an address; None: as many as come."""
        return rate_of_address(self._context.topics.metadata.quotas, address)

    def start_produce(self, request: Request, done: Done) -> bool:
        """Begin a produce request now and call back with the answer; False when it has to wait."""
        find(request.header.api_key, request.version)
        throttle = self._throttle
        if not throttle.is_on:
            return self._produce.start(request, done)
        throttle.produces(request)
        began = self.held.now()
        started = self._produce.start(request, lambda answer: done(throttle.produced(request, answer)))
        throttle.charge(request, Quota.WORK, self.held.now() - began)
        return started

    async def handle(self, request: Request) -> Sequence[Buffer]:
        """The framed answer to a request. What cannot be answered at all is raised, and the connection closed."""
        header = request.header
        if header.api_key == Key.PRODUCE:  # Raw with its frame: one without acks has none.
            find(header.api_key, header.api_version)
            answer = await self._produce.handle(request)
            return self._throttle.produced(request, answer) if self._throttle.is_on else answer
        try:
            version, body = header.api_version, await self._answer(request)
        except UnsupportedVersion:
            if header.api_key != Key.API_VERSIONS:
                raise
            # The client cannot know our versions yet: it is told in the one version that everybody understands.
            version, body = 0, api_versions.own_versions_only()
        if self._throttle.is_on and not isinstance(request.session, PeerSession):
            body = self._throttle.answered(request, body)
        return frame_response(header.api_key, version, header.correlation_id, body)

    async def _answer(self, request: Request) -> Body:
        api = find(request.header.api_key, request.version)
        handler, row = HANDLERS.get(api.key), RIGHTS.get(api.key)
        if handler is None or row is None:
            raise UnknownApi(api.key)
        spent = partial(self._throttle.charge, request, Quota.WORK) if self._throttle.is_on else None
        if isinstance(handler, Raw):  # A fetch: produce requests do not come here.
            return await self.held.watch(api.key, self._fetch.handle(request), spent)
        rights = self._gate.rights(row, request.session, api.name)
        if row.first is not None and not rights.may(row.first):
            refused = _refused(api.key, request.version, row.first)
            self._count(api.key, Counter(codes_in(refused)))
            return encode_response(api.key, request.version, refused)
        request = request._replace(rights=rights, pace=Slices(self._context.clock))
        if isinstance(handler, Whole):
            handler = self._shielded(api.key, handler.handler, spent)
        return await self.held.watch(api.key, self._handle(api.key, handler, request), spent)

    def _shielded(self, key: Key, handler: MessageHandler, spent: Callable[[float], None] | None) -> MessageHandler:
        """In a task of its own, whose steps are watched as well."""

        async def handle(context: BrokerContext, message: Message, request: Request) -> Message | Body:
            return await asyncio.shield(self.held.watch(key, handler(context, message, request), spent))

        return handle

    def _count(self, key: Key, codes: Mapping[int, int]) -> None:
        for code, count in codes.items():
            self.errors[APIS[key].name, code] += count

    async def _handle(self, key: Key, handler: MessageHandler, request: Request) -> Body:
        """Large messages are decoded and encoded in a thread, so that the loop is not held for them."""
        run, version, body = self._context.heavy.run, request.version, request.body
        is_large = len(body) > _LARGE_SIZE
        message = await run(decode_request, key, version, body) if is_large else decode_request(key, version, body)
        pace = request.pace
        answer = await handler(self._context, message, request)
        if is_large:
            await pace.let_go(message)
        if not isinstance(answer, Message):
            return answer
        if _item_count(answer) <= _LARGE_COUNT:
            self._count(key, Counter(codes_in(answer)))
            return encode_response(key, version, answer)
        encoded, codes = await run(lambda: (encode_response(key, version, answer), Counter(codes_in(answer))))
        self._count(key, codes)
        await pace.let_go(answer)
        return encoded


def codes_in(message: Message) -> Iterator[int]:
    """The error codes of an answer, also of its parts."""
    if code := getattr(message, "error_code", 0):
        yield code
    for items in lists_of(message):
        if items and isinstance(items[0], Message):
            for each in items:
                yield from codes_in(each)


def _item_count(message: Message) -> int:
    """About how many items a message has: those of its lists, each with as many inside as the first or last one has."""
    return sum(len(items) * (1 + max(_inside(items[0]), _inside(items[-1]))) for items in lists_of(message) if items)


def _inside(item: object) -> int:
    return _item_count(item) if isinstance(item, Message) else 0


def _refused(key: Key, version: int, right: Right) -> Message:
    """The answer to whoever has not the right to the cluster. In versions that cannot say why, nothing is told."""
    made: Any = response_class(key)
    failure = NotAllowed(right, CLUSTER_NAME)
    said = {"error_code": code_of(failure), "error_message": str(failure)}
    known = {each.name for each in fields_of(made) if each.is_in(version)}
    answer: Message = made(**{name: value for name, value in said.items() if name in known})
    return answer
