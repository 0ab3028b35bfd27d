"""Small produce requests that come in the same turn of the event loop for the same partition: one entry of the log.

What looking up, checking and waiting cost is paid once for all of them. Whoever is alone pays no more than before: a
group is appended in the turn that would have flushed a single request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from holdfast.broker.api.produce_errors import RulesChanged
from holdfast.broker.net.request import Done, Request
from holdfast.errors import HoldfastError
from holdfast.log.logs import Logs
from holdfast.log.partition.partition import PartitionLog
from holdfast.protocol.hot.produce_response import Produced, frame_one
from holdfast.record.batch import BatchHeader
from holdfast.record.layout import NO_PRODUCER

_SIZE_MAX = 4000  # Bytes of one group: with it a frame of the write-ahead log is no larger than one that entries share.
_SOME_ACKS = (-1, 1)
_TIME_MAX = 1 << 62

_new_produced = partial(tuple.__new__, Produced)

Find: TypeAlias = Callable[
    [Request], PartitionLog
]  # The partition that a request names, if its sender may write to it.
Refuse: TypeAlias = Callable[[Request, Done, BaseException], None]
Alone: TypeAlias = Callable[[Request, Done], bool]  # False, with nothing done, if that takes longer.


class _Group:
    """Requests for one partition, and the rules of its topic that each is held against."""

    __slots__ = (
        "batches",
        "is_compacted",
        "members",
        "newest",
        "oldest",
        "partition",
        "producers",
        "room",
        "settings",
        "size_max",
    )

    def __init__(self, partition: PartitionLog) -> None:
        settings, now_ms = partition.settings, partition.ground.time.stamp_ms()
        before, after = settings.timestamp_before_ms_max, settings.timestamp_after_ms_max
        self.partition = partition
        self.settings = settings
        self.members: list[tuple[Request, Done]] = []
        self.batches: list[tuple[BatchHeader, memoryview]] = []
        self.producers: set[int] = set()
        self.room = _SIZE_MAX
        self.size_max = settings.batch_size_max
        self.is_compacted = "compact" in settings.cleanup
        self.oldest = now_ms - before if before >= 0 else -1
        self.newest = now_ms + after if after >= 0 else _TIME_MAX

    def has_rules_for_all(self) -> bool:
        """Whether batches are taken as they are, and acknowledged when they are durable."""
        settings = self.settings
        return (
            self.partition.ground.journal.takes_many
            and settings.durability == "fsync"
            and settings.timestamp_type != "log_append"
            and settings.codec is None
            and settings.validates_records
        )


class Together:
    """The groups of this turn. Nothing else may be appended before they are: `run` comes first."""

    def __init__(self, logs: Logs, find: Find, refuse: Refuse, alone: Alone) -> None:
        self._logs = logs
        self._find = find
        self._refuse = refuse
        self._alone = alone
        self._groups: dict[tuple[str | bytes | None, int], _Group] = {}

    def join(self, request: Request, done: Done, *, is_gated: bool) -> bool:
        """Take a request into a group; False if it has to go its own way."""
        one = request.one
        assert one is not None
        _, message, header, records = one
        size, producer = header.size, header.producer_id
        if (
            size > _SIZE_MAX
            or records is None
            or message.transactional_id is not None
            or header.is_transactional
            or message.acks not in _SOME_ACKS
        ):
            return False
        topic = message.topics[0]
        wanted = topic.partitions[0]
        key = (topic.topic_id or topic.name, wanted.partition)
        group = self._groups.get(key)
        if group is not None and (size > group.room or producer in group.producers):
            self.run()
            group = None
        if group is None:
            group = self._begin(key, request)
            if group is None:
                return False
        elif is_gated:
            try:
                self._find(request)
            except HoldfastError:
                return False
        low, high = records.timestamp_min, records.timestamp_max
        if (
            high != header.max_timestamp
            or high > group.newest
            or -1 < low < group.oldest
            or size > group.size_max
            or (records.keyless >= 0 and group.is_compacted)
        ):
            return False
        if producer != NO_PRODUCER:
            group.producers.add(producer)
        assert wanted.records is not None
        group.room -= size
        group.members.append((request, done))
        group.batches.append((header, wanted.records))
        return True

    def _begin(self, key: tuple[str | bytes | None, int], request: Request) -> _Group | None:
        try:
            partition = self._find(request)
            self._logs.check_disk()
        except HoldfastError:
            return None
        group = _Group(partition)
        if not group.has_rules_for_all():
            return None
        self._groups[key] = group
        self._logs.before_flush(self.run)
        return group

    def run(self) -> None:
        """Append what has come together."""
        if not self._groups:
            return
        groups, self._groups = self._groups, {}
        for group in groups.values():
            try:
                if group.settings is not group.partition.settings:  # Altered meanwhile: each by the rules of now.
                    for member in group.members:
                        self._go_alone(*member)
                elif group.members:
                    self._append(group)
            except Exception as mistake:  # Ours: it must not leave the others of this turn without an answer.
                _complain(mistake)
                for member in group.members:
                    self._refuse(*member, mistake)

    def _go_alone(self, request: Request, done: Done) -> None:
        if not self._alone(request, done):  # Others of its connection may be appended by now: it cannot wait.
            self._refuse(request, done, RulesChanged())

    def _append(self, group: _Group) -> None:
        partition, members, batches = group.partition, group.members, group.batches
        if group.producers:
            members, batches = self._without_repeats(group)
            if not members:
                return
        try:
            base, end = partition.append_many(batches)
        except HoldfastError as failure:
            for request, done in members:
                self._refuse(request, done, failure)
            return
        if not partition.durable.when(end, partial(self._durable, partition, members, batches, base)):
            self._durable(partition, members, batches, base, None)

    def _without_repeats(
        self, group: _Group
    ) -> tuple[list[tuple[Request, Done]], list[tuple[BatchHeader, memoryview]]]:
        """Repeats, and what does not follow, go their own way: no other of their producers is in the group."""
        find = group.partition.producers.find_repeat
        members, batches = [], []
        for member, batch in zip(group.members, group.batches, strict=True):
            try:
                is_new = batch[0].producer_id == NO_PRODUCER or find(batch[0]) is None
            except HoldfastError:
                is_new = False
            if is_new:
                members.append(member)
                batches.append(batch)
            else:
                self._go_alone(*member)
        return members, batches

    def _durable(
        self,
        partition: PartitionLog,
        members: list[tuple[Request, Done]],
        batches: list[tuple[BatchHeader, memoryview]],
        base: int,
        failure: Exception | None,
    ) -> None:
        if failure is not None:
            for request, done in members:
                self._refuse(request, done, failure)
            return
        start = partition.marks.log_start
        for (request, done), (header, _) in zip(members, batches, strict=True):
            one = request.one
            assert one is not None
            topic = one[1].topics[0]
            produced = _new_produced((topic.partitions[0].partition, 0, base, -1, start, None, ()))
            head = request.header
            base += header.last_offset_delta + 1
            try:
                done([frame_one(head.api_version, head.correlation_id, topic.topic_id or topic.name or "", produced)])
            except Exception as mistake:  # Of one connection, and no other's affair.
                _complain(mistake)


def _complain(mistake: Exception) -> None:
    told = {"message": "requests that came together were not answered as they should", "exception": mistake}
    asyncio.get_running_loop().call_exception_handler(told)
