"""Read partitions from where they begin to where they end, or for ever."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from holdfast.cli.consume.lines import record_facts, record_line
from holdfast.cli.consume.records import AbortedProducer, find_records
from holdfast.cli.consume.start import ConsumeStart, find_offsets, find_start
from holdfast.cli.terminal.broker import staying
from holdfast.cli.terminal.interrupt import CtrlC
from holdfast.cli.terminal.talk import give_json, tell
from holdfast.client import EARLIEST, LATEST, Client, ClientSettings, FetchedBatches, TopicPartition
from holdfast.client.errors import OffsetGone
from holdfast.errors import Rejected
from holdfast.record.records import Record

_WAIT_MS = 1000
_SIZE_MAX = 16 << 20
_PARTITION_SIZE_MAX = 1 << 20


class Follower:
    """One run of the command."""

    def __init__(
        self,
        topic: str,
        partitions: Sequence[int] | None,
        start: ConsumeStart,
        *,
        follow: bool,
        committed: bool,
        max_records: int | None,
    ) -> None:
        self._topic = topic
        self._wanted = partitions
        self._start = start
        self._follow = follow
        self._committed = committed
        self._max_records = max_records
        self._next: dict[int, int] = {}  # Partition → the offset to read on at.
        self._ends: dict[int, int] = {}  # Where to stop, unless the topic is followed.
        self._ctrl_c = CtrlC()
        self.given = 0

    def run(self, where: ClientSettings, *, as_json: bool) -> None:
        """Print until the end, until there are enough, or for ever."""
        with staying(where) as client, self._ctrl_c:
            self._ctrl_c.wait(lambda: self._begin(client))
            while self._unfinished():
                answers = self._ctrl_c.wait(lambda: self._fetch(client))
                self._take(client, answers, as_json=as_json)

    def _begin(self, client: Client) -> None:
        topic = client.topic(self._topic)
        numbers = sorted(set(topic.numbers if not self._wanted else self._wanted))
        missing = set(numbers) - set(topic.numbers)
        if missing:
            raise Rejected(f"topic {topic.name} has no partition {min(missing)}: it has {len(topic.partitions)}")
        self._next = find_start(client, self._topic, numbers, self._start, committed=self._committed)
        if not self._follow:
            self._ends = find_offsets(client, self._topic, numbers, LATEST, committed=self._committed)

    def _unfinished(self) -> list[int]:
        """The partitions of which more is wanted."""
        if self.given == self._max_records:
            return []
        return [number for number, offset in self._next.items() if self._follow or offset < self._ends[number]]

    def _fetch(self, client: Client) -> dict[TopicPartition, FetchedBatches]:
        """One fetch of all partitions of which more is wanted; waits a while if there is nothing yet."""
        return client.fetch(
            {(self._topic, number): self._next[number] for number in self._unfinished()},
            max_bytes=_SIZE_MAX,
            partition_max_bytes=_PARTITION_SIZE_MAX,
            committed=self._committed,
            max_wait_ms=_WAIT_MS,
        )

    def _take(self, client: Client, answers: dict[TopicPartition, FetchedBatches], *, as_json: bool) -> None:
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
            self._give(number, [one for one in records if end is None or (one.offset or 0) < end], as_json=as_json)
        sys.stdout.flush()

    def _give(self, partition: int, records: list[Record], *, as_json: bool) -> None:
        if self._max_records is not None:
            records = records[: self._max_records - self.given]
        for each in records:
            if as_json:
                give_json(record_facts(self._topic, partition, each))
            else:
                print(record_line(self._topic, partition, each))
        self.given += len(records)

    def _skip_what_is_gone(self, client: Client, number: int) -> None:
        """Retention was quicker than we: go on where the partition begins now, and say so."""
        start = self._ctrl_c.wait(lambda: find_offsets(client, self._topic, [number], EARLIEST))[number]
        offset = self._next[number]
        if start <= offset:
            raise Rejected(f"{self._topic}-{number} ends before offset {offset}: the topic was made anew")
        tell(f"holdfast: {self._topic}-{number}: offsets {offset} to {start - 1} are gone, going on at {start}")
        self._next[number] = start
