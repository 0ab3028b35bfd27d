"""ShareFetch: a member of a share group says what has become of records, and gets others, or waits for them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from uuid import UUID

from holdfast.broker.codes import code_of
from holdfast.broker.context import BrokerContext
from holdfast.broker.guard.rights import READ_GROUP
from holdfast.broker.net.request import Request
from holdfast.broker.share.acks import (
    NO_ID,
    acknowledge,
    check_right,
    find_log,
    judged,
    named,
    open_logs,
    split_by_leader,
    split_by_right,
)
from holdfast.broker.share.moved import addresses, leader_of
from holdfast.broker.share.reading import READ_SIZE_MAX, Ahead, GivenRecords, read
from holdfast.broker.share.sessions import FINAL_EPOCH, INITIAL_EPOCH, ShareSession, ShareSessionEpochWrong
from holdfast.cluster.errors import TopicUnknown
from holdfast.coordinator.group.errors import GroupNotFound
from holdfast.coordinator.share.durable_share import DurableShareGroup, DurableSharePartition
from holdfast.coordinator.share.errors import ShareStateAway, ShareStateOld
from holdfast.coordinator.share.led import LedShareGroup
from holdfast.errors import HoldfastError, Rejected
from holdfast.log.partition.partition import PartitionLog
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.share_fetch import (
    AcquiredRecords,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    ShareFetchableTopicResponse,
    ShareFetchRequest,
    ShareFetchResponse,
)
from holdfast.types import PartitionId

_MODES_FROM = 2  # From this version on there are renewals, and a member may want no more records than it says.
_BY_BATCH = 0


async def handle(context: BrokerContext, message: ShareFetchRequest, request: Request) -> ShareFetchResponse:
    group_id, member_id, epoch = message.group_id or "", message.member_id or "", message.share_session_epoch
    renews = request.version >= _MODES_FROM and bool(message.is_renew_ack)
    try:
        request.rights.need(READ_GROUP, group_id)
        group = context.led_shares.find(group_id)
        if not member_id:
            raise Rejected("a member id is needed")
        judgements = await judged(message.topics, request.pace, renews=renews)
        if epoch == INITIAL_EPOCH and judgements:
            raise ShareSessionEpochWrong("nothing can be acknowledged before a session has begun")
        forgotten = [
            PartitionId(topic.topic_id or NO_ID, number)
            for topic in message.forgotten_topics_data
            for number in topic.partitions
        ]
        wanted = [home async for home, _ in request.pace.through(named(message.topics))]
        session = context.share_sessions.take(group_id, member_id, epoch, wanted, forgotten)
    except HoldfastError as failure:
        return ShareFetchResponse(
            error_code=code_of(failure), error_message=str(failure), responses=[], node_endpoints=[]
        )
    judgements, hidden = split_by_right(context.topics, judgements, request.rights)
    judgements, moved = split_by_leader(context.topics, judgements)
    results = {**await acknowledge(group, member_id, judgements, request.pace), **hidden, **moved}
    found: dict[PartitionId, GivenRecords | HoldfastError] = {}
    if epoch == FINAL_EPOCH:
        context.led_shares.release(group_id, member_id)
    elif not renews:
        if epoch == INITIAL_EPOCH:
            await context.led_shares.expect(group_id, open_logs(context.topics, session.partitions, request.rights))
        whole = request.version < _MODES_FROM or message.share_acquire_mode == _BY_BATCH
        fetching = _Fetching(context, group, session, member_id, message, request, whole=whole)
        found = await fetching.read_or_wait(wait=not results)
    unknown = next((each for each in found.values() if isinstance(each, GroupNotFound)), None)
    if unknown is not None and not results:  # The group's coordinator says so, which may be another broker.
        return ShareFetchResponse(
            error_code=code_of(unknown), error_message=str(unknown), responses=[], node_endpoints=[]
        )
    rows: dict[UUID, list[PartitionData]] = {}
    async for home in request.pace.through(dict.fromkeys([*results, *found])):
        rows.setdefault(home.topic_id, []).append(_partition(context, home, results.get(home), found.get(home)))
    return ShareFetchResponse(
        error_code=Code.NONE,
        acquisition_lock_timeout_ms=group.limits.lock_ms,
        responses=[
            ShareFetchableTopicResponse(topic_id=topic_id, partitions=partitions)
            for topic_id, partitions in rows.items()
        ],
        node_endpoints=[
            NodeEndpoint(node_id=node_id, host=host, port=port)
            for node_id, host, port in addresses(context, request, [*results.values(), *found.values()])
        ],
    )


class _Fetching:
    """One request's work: give the member what there is, or wait for something to come or to be free again."""

    def __init__(
        self,
        context: BrokerContext,
        group: DurableShareGroup | LedShareGroup,
        session: ShareSession,
        member_id: str,
        message: ShareFetchRequest,
        request: Request,
        *,
        whole: bool,
    ) -> None:
        self._context = context
        self._group = group
        self._session = session
        self._member_id = member_id
        self._pace = request.pace
        self._rights = request.rights
        self._whole = whole
        self._count = max(message.max_records, 1)
        self._size = min(message.max_bytes, context.settings.fetch_max_bytes)
        at_most = min(self._size, READ_SIZE_MAX * len(session.partitions))  # No answer has more: nobody waits for it.
        self._size_min = min(message.min_bytes, at_most)
        self._ahead: dict[PartitionId, Ahead] = {}
        self._deadline = context.clock.monotonic() + message.max_wait_ms / 1000
        self._woken = asyncio.Event()
        self._listening: list[set[Callable[[], None]]] = []

    async def read_or_wait(self, *, wait: bool) -> dict[PartitionId, GivenRecords | HoldfastError]:
        clock = self._context.clock
        wake = self._woken.set  # One object, so that it is in each set of listeners once.
        while True:
            self._woken.clear()
            try:
                is_worth_it = not wait or self._deadline <= clock.monotonic() or await self._is_enough(wake)
                found = await self._read(wake) if is_worth_it else {}
                left = self._deadline - clock.monotonic()
                if found or not wait or left <= 0:
                    return found
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._woken.wait(), left)
            finally:
                for listeners in self._listening:
                    listeners.discard(wake)
                self._listening.clear()

    async def _is_enough(self, wake: Callable[[], None]) -> bool:
        """Whether there are as many bytes as the member waits for. What went wrong is reason enough to answer."""
        left = self._size_min
        if left <= 1:
            return True
        async for home in self._pace.through(list(self._session.partitions)):
            try:
                log, partition = await self._listen(home, wake)
                ahead = self._ahead.setdefault(home, Ahead())
                left -= await ahead.look(log, partition, left, committed=self._group.configs.is_committed)
            except HoldfastError:
                return True
            if left <= 0:
                return True
        return False

    async def _read(self, wake: Callable[[], None]) -> dict[PartitionId, GivenRecords | HoldfastError]:
        found: dict[PartitionId, GivenRecords | HoldfastError] = {}
        count, size = self._count, self._size
        async for home in self._pace.through(list(self._session.partitions)):
            if count <= 0 or size <= 0:
                break
            try:
                given = await self._read_one(home, wake, count, size, first=not found)
            except TopicUnknown as failure:
                self._context.share_sessions.drop(self._session, home)
                if self._context.topics.find_id(home.topic_id) is None:
                    self._context.led_shares.forget(self._group.id, home)
                found[home] = failure
            except HoldfastError as failure:
                found[home] = failure
            else:
                if given is not None:
                    found[home] = given
                    count -= sum(each.end - each.first for each in given.acquired)
                    size -= given.size
                    self._session.served(home)
        return found

    async def _read_one(
        self, home: PartitionId, wake: Callable[[], None], count: int, size: int, *, first: bool
    ) -> GivenRecords | None:
        log, partition = await self._listen(home, wake)
        return await read(
            log,
            partition,
            self._member_id,
            count,
            size,
            committed=self._group.configs.is_committed,
            whole=self._whole,
            first=first,
        )

    async def _listen(self, home: PartitionId, wake: Callable[[], None]) -> tuple[PartitionLog, DurableSharePartition]:
        """A partition; from here on whatever may be read of it wakes us."""
        check_right(self._context.topics, home, self._rights)
        log = find_log(self._context.topics, home)
        partition = await self._context.led_shares.partition(self._group.id, home, log)
        for listeners in (log.listeners, partition.listeners):  # Before it is read: nothing is missed.
            listeners.add(wake)
            self._listening.append(listeners)
        return log, partition


def _partition(
    context: BrokerContext, home: PartitionId, refused: HoldfastError | None, found: GivenRecords | HoldfastError | None
) -> PartitionData:
    failure = found if isinstance(found, HoldfastError) else None
    given = found if isinstance(found, GivenRecords) else None
    leader, leader_epoch = leader_of(context, failure, refused)
    return PartitionData(
        partition_index=home.partition,
        error_code=Code.NONE if failure is None else _code_of(context, home, failure),
        error_message=None if failure is None else str(failure),
        acknowledge_error_code=Code.NONE if refused is None else code_of(refused),
        acknowledge_error_message=None if refused is None else str(refused),
        current_leader=LeaderIdAndEpoch(leader_id=leader, leader_epoch=leader_epoch),
        records=b"" if given is None else b"".join(given.batches),
        acquired_records=_acquired(() if given is None else given.acquired),
    )


def _acquired(acquired: Sequence[tuple[int, int, int]]) -> list[AcquiredRecords]:
    return [
        AcquiredRecords(first_offset=first, last_offset=end - 1, delivery_count=count) for first, end, count in acquired
    ]


def _code_of(context: BrokerContext, home: PartitionId, failure: HoldfastError) -> Code:
    if isinstance(failure, TopicUnknown) and context.topics.find_id(home.topic_id) is None:
        return Code.UNKNOWN_TOPIC_ID
    if isinstance(failure, (ShareStateAway, ShareStateOld)):
        return Code.KAFKA_STORAGE_ERROR  # Consumers know it with a fetch, and try again; others end them.
    return code_of(failure)
