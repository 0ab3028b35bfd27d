"""Read partitions from where they begin to where they end, or for ever."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from holdfast.cli.client.connection import Client, Line, lined
from holdfast.cli.client.errors import OffsetGone, check
from holdfast.cli.client.topics import EARLIEST, LATEST, find_offsets, find_topic
from holdfast.cli.consume.lines import record_facts, record_line
from holdfast.cli.consume.records import Aborted, find_records
from holdfast.cli.consume.start import Start, find_start
from holdfast.cli.terminal.talk import give_json, tell
from holdfast.errors import Rejected
from holdfast.protocol.api import Key
from holdfast.protocol.messages import Message, request_class
from holdfast.record.records import Record

_WAIT_MS = 1000
_SIZE_MAX = 16 << 20
_PARTITION_SIZE_MAX = 1 << 20

_Fetch = request_class(Key.FETCH)


class Follower:
    """One run of the command."""

    def __init__(
        self,
        topic: str,
        partitions: Sequence[int] | None,
        start: Start,
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
        self.given = 0

    async def run(self, bootstrap: str, *, as_json: bool) -> None:
        """Print until the end, until there are enough, or for ever."""
        async with lined(bootstrap) as line:
            await line.do(self._begin)
            while self._unfinished():
                await self._read_some(line, as_json=as_json)

    async def _begin(self, client: Client) -> None:
        topic = await find_topic(client, self._topic)
        numbers = sorted(set(topic.numbers if not self._wanted else self._wanted))
        missing = set(numbers) - set(topic.numbers)
        if missing:
            raise Rejected(f"topic {topic.name} has no partition {min(missing)}: it has {len(topic.partitions)}")
        self._next = await find_start(client, self._topic, numbers, self._start, committed=self._committed)
        if not self._follow:
            ends = await find_offsets(client, {self._topic: numbers}, LATEST, committed=self._committed)
            self._ends = {number: ends[self._topic, number] for number in numbers}

    def _unfinished(self) -> list[int]:
        """The partitions of which more is wanted."""
        if self.given == self._max_records:
            return []
        return [number for number, offset in self._next.items() if self._follow or offset < self._ends[number]]

    async def _read_some(self, line: Line, *, as_json: bool) -> None:
        for part in await line.do(self._fetch):
            number = part.partition_index
            offset = self._next[number]
            aborted = [Aborted(each.producer_id, each.first_offset) for each in part.aborted_transactions or ()]
            records, self._next[number], unreadable = find_records(part.records or b"", offset, aborted)
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

    async def _fetch(self, client: Client) -> list[Message]:
        """One fetch of all partitions of which more is wanted; waits a while if there is nothing yet."""
        answer = await client.ask(Key.FETCH, self._request())
        check(f"topic {self._topic}", answer.error_code)
        found = []
        for part in (part for topic in answer.responses for part in topic.partitions):
            try:
                check(f"{self._topic}-{part.partition_index}", part.error_code)
            except OffsetGone:
                await self._skip_what_is_gone(client, part.partition_index)
            else:
                found.append(part)
        return found

    def _request(self) -> Message:
        partition = _Fetch.FetchTopic.FetchPartition
        wanted = [
            partition(partition=number, fetch_offset=self._next[number], partition_max_bytes=_PARTITION_SIZE_MAX)
            for number in self._unfinished()
        ]
        return _Fetch(
            replica_id=-1,
            max_wait_ms=_WAIT_MS,
            min_bytes=1,
            max_bytes=_SIZE_MAX,
            isolation_level=int(self._committed),
            session_id=0,
            session_epoch=-1,
            topics=[_Fetch.FetchTopic(topic=self._topic, partitions=wanted)],
            forgotten_topics_data=[],
            rack_id="",
        )

    async def _skip_what_is_gone(self, client: Client, number: int) -> None:
        """Retention was quicker than we: go on where the partition begins now, and say so."""
        place = self._topic, number
        start = (await find_offsets(client, {self._topic: [number]}, EARLIEST))[place]
        offset = self._next[number]
        if start <= offset:
            raise Rejected(f"{self._topic}-{number} ends before offset {offset}: the topic was made anew")
        tell(f"holdfast: {self._topic}-{number}: offsets {offset} to {start - 1} are gone, going on at {start}")
        self._next[number] = start
