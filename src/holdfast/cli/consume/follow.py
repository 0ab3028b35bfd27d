"""Read partitions from where they begin to where they end, or for ever."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from holdfast.cli.consume.records import AbortedProducer, find_records
from holdfast.cli.consume.shape import RecordShape
from holdfast.cli.consume.start import ConsumeStart, find_end, find_offsets, find_start
from holdfast.cli.group.work import check_empty
from holdfast.cli.terminal.broker import staying
from holdfast.cli.terminal.interrupt import CtrlC
from holdfast.cli.terminal.talk import tell
from holdfast.client import EARLIEST, Client, ClientSettings, FetchedBatches, TopicPartition
from holdfast.client.errors import OffsetGone
from holdfast.errors import Rejected
from holdfast.record.records import Record

_WAIT_MS = 1000
_SIZE_MAX = 16 << 20
_PARTITION_SIZE_MAX = 1 << 20


class TopicFollower:
    """One run of the command."""

    def __init__(
        self,
        topic: str,
        partitions: Sequence[int] | None,
        start: ConsumeStart,
        shape: RecordShape,
        *,
        until: ConsumeStart | None,
        committed: bool,
        max_records: int | None,
        group: str | None = None,
    ) -> None:
        self._topic = topic
        self._wanted = partitions
        self._start = start
        self._shape = shape
        self._until = until
        self._group = group
        self._committed = committed
        self._max_records = max_records
        self._next: dict[int, int] = {}  # Partition → the offset to read on at.
        self._ends: dict[int, int] = {}  # Where to stop, unless the topic is followed.
        self._stands: dict[int, int] = {}  # Behind what was printed,
        self._printed: dict[int, int] = {}  # and of that what is committed.
        self._ctrl_c = CtrlC()
        self.given = 0

    def run(self, where: ClientSettings) -> None:
        """Print until the end, until there are enough, or for ever."""
        with staying(where) as client, self._ctrl_c:
            self._ctrl_c.wait(lambda: self._begin(client))
            while self._unfinished():
                answers = self._ctrl_c.wait(lambda: self._fetch(client))
                self._take(client, answers)
                if self._group is not None:
                    self._ctrl_c.wait(lambda: self._commit(client))

    def _begin(self, client: Client) -> None:
        topic = client.topic(self._topic)
        numbers = sorted(set(topic.numbers if not self._wanted else self._wanted))
        missing = set(numbers) - set(topic.numbers)
        if missing:
            raise Rejected(f"topic {topic.name} has no partition {min(missing)}: it has {len(topic.partitions)}")
        self._next = self._begin_at(client, numbers)
        if self._until is not None:
            self._ends = find_end(client, self._topic, numbers, self._until, committed=self._committed)

    def _begin_at(self, client: Client, numbers: Sequence[int]) -> dict[int, int]:
        """Where the group stands, in partitions that it has read; else where --from says."""
        if self._group is None:
            return find_start(client, self._topic, numbers, self._start, committed=self._committed)
        check_empty(client, self._group)
        stands = client.fetch_offsets(self._group, stable=False)
        known = {where.partition: each.offset for where, each in stands.items() if where.topic == self._topic}
        others = [number for number in numbers if number not in known]
        found = find_start(client, self._topic, others, self._start, committed=self._committed) if others else {}
        self._printed = {number: known[number] for number in numbers if number in known}
        return {number: known.get(number, found.get(number, 0)) for number in numbers}

    def _commit(self, client: Client) -> None:
        """The group stands behind what was printed."""
        assert self._group is not None
        moved = {(self._topic, number): (offset, "") for number, offset in self._stands.items()}
        if moved and self._stands != self._printed:
            client.commit_offsets(self._group, moved)
            self._printed = dict(self._stands)

    def _unfinished(self) -> list[int]:
        """The partitions of which more is wanted."""
        if self.given == self._max_records:
            return []
        ends = self._ends
        return [number for number, offset in self._next.items() if self._until is None or offset < ends[number]]

    def _fetch(self, client: Client) -> dict[TopicPartition, FetchedBatches]:
        """One fetch of all partitions of which more is wanted; waits a while if there is nothing yet."""
        return client.fetch(
            {(self._topic, number): self._next[number] for number in self._unfinished()},
            max_bytes=_SIZE_MAX,
            partition_max_bytes=_PARTITION_SIZE_MAX,
            committed=self._committed,
            max_wait_ms=_WAIT_MS,
        )

    def _take(self, client: Client, answers: dict[TopicPartition, FetchedBatches]) -> None:
        """Print what has come."""
        for (_, number), fetched in answers.items():
            if isinstance(fetched.error, OffsetGone):
                self._skip_what_is_gone(client, number)
                continue
            if fetched.error is not None:
                raise fetched.error
            aborted = [AbortedProducer(*each) for each in fetched.aborted or ()]
            records, self._next[number], unreadable = find_records(fetched.records, self._next[number], aborted)
            for each in unreadable:
                tell(f"holdfast: {self._topic}-{number}: {each}")
            end = self._ends.get(number)
            if self._give(number, [one for one in records if end is None or (one.offset or 0) < end]):
                self._stands[number] = self._next[number] if end is None else min(self._next[number], end)
        sys.stdout.flush()

    def _give(self, partition: int, records: list[Record]) -> bool:
        """Print them; whether all were, and not only as many as are wanted."""
        for each in records:
            if self.given == self._max_records:
                return False
            self.given += self._shape.give(self._topic, partition, each)
            self._stands[partition] = (each.offset or 0) + 1
        return True

    def _skip_what_is_gone(self, client: Client, number: int) -> None:
        """Retention was quicker than we: go on where the partition begins now, and say so."""
        start = self._ctrl_c.wait(lambda: find_offsets(client, self._topic, [number], EARLIEST))[number]
        offset = self._next[number]
        if start <= offset:
            raise Rejected(f"{self._topic}-{number} ends before offset {offset}: the topic was made anew")
        tell(f"holdfast: {self._topic}-{number}: offsets {offset} to {start - 1} are gone, going on at {start}")
        self._next[number] = start
