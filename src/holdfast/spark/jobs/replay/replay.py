"""Replay: an archive back into a topic, each record once, in its partition, with key, headers and time as they were.

How far it is are the offsets of a group of its own, which move with the records in one transaction; a run that is
killed is gone on with by the next one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from holdfast.catalog.store import Store
from holdfast.client import Client
from holdfast.errors import Fenced, Rejected
from holdfast.io.chance import SystemChance
from holdfast.io.clock import SystemClock
from holdfast.spark.jobs.replay.archive import LOCAL, Access, RowGroup, row_groups
from holdfast.spark.jobs.replay.plan import ROUND_SIZE, ReplayRange, ranges_of, rounds_of
from holdfast.spark.jobs.replay.stage import ReplayTask, stage_range
from holdfast.spark.jobs.run import Done, OnDone, Unit, run_units
from holdfast.spark.sink.commit import Commit
from holdfast.spark.sink.commit_record import name_of
from holdfast.spark.sink.options import SinkOptions
from holdfast.spark.sink.staging import Job, StagedObject
from holdfast.spark.sink.staging_sweep import sweep_job, sweep_old
from holdfast.types import TopicPartition

_CLIENT_ID = "holdfast-replay"


class Replayed(NamedTuple):
    """What a run did."""

    source: str
    ranges: dict[int, tuple[int, int]]  # For each partition, the archived offsets that it went through.
    records: int
    size: int
    transactions: int


class ReplayTakenOver(Fenced):
    """Another run of the same replay has moved on meanwhile."""

    def __init__(self, name: str) -> None:
        super().__init__(f"another run of replay {name} has written meanwhile: wait until it ends, and run this again")
        self.name = name


@dataclass
class ReplayProgress:
    """The memory of a replay for one transaction: from these archived offsets to those, by partition."""

    name: str
    topic: str
    before: Mapping[int, int]
    after: Mapping[int, int]

    def is_written(self, client: Client) -> bool:
        found = read_progress(client, self.name, self.topic)
        if found == dict(self.before):
            return False
        if found == {**self.before, **self.after}:
            return True
        raise ReplayTakenOver(self.name)

    def offsets(self, written: Sequence[TopicPartition]) -> Mapping[tuple[str, int], tuple[int, str]]:
        del written
        return {(self.topic, partition): (offset, "") for partition, offset in self.after.items()}


def read_progress(client: Client, name: str, topic: str) -> dict[int, int]:
    """The next archived offset of each partition."""
    found = client.fetch_offsets(name_of(name))
    return {where.partition: each.offset for where, each in found.items() if where.topic == topic}


def default_name(archive: Store, source: str, topic: str) -> str:
    """The same archive into the same topic is the same replay, and is done once."""
    return "replay-" + hashlib.sha256("\0".join((archive.url, source, topic)).encode()).hexdigest()[:16]


class PlannedReplay(NamedTuple):
    """A replay that can be run."""

    archive: Store
    options: SinkOptions
    source: str
    name: str
    before: dict[int, int]
    ranges: dict[int, list[ReplayRange]]


def plan_replay(
    archive: Store,
    options: SinkOptions,
    source: str | None = None,
    name: str | None = None,
    access: Access = LOCAL,
) -> PlannedReplay:
    """What is left to write of an archived topic to the topic that the options name. Needs no Spark."""
    assert options.topic is not None
    with Client(options.kafka, _CLIENT_ID) as client:
        client.topic(options.topic)
        source, groups = row_groups(archive, source, access)
        _check_partitions(client, options.topic, groups)
        name = name or default_name(archive, source, options.topic)
        before = read_progress(client, name, options.topic)
    numbers = {number for each in groups for number in range(each.partition_min, each.partition_max + 1)}
    ranges = {number: ranges_of(groups, number, before.get(number, 0)) for number in sorted(numbers)}
    return PlannedReplay(archive, options, source, name, before, ranges)


def replay(
    session: Any, planned: PlannedReplay, *, round_size: int = ROUND_SIZE, on_done: OnDone | None = None
) -> Replayed:
    """Write what was planned."""
    with Client(planned.options.kafka, _CLIENT_ID) as client:
        run = _Run(session, planned.archive, planned.options, planned.name, client)
        total = run.write(planned.ranges, planned.before, round_size, on_done)
    through = {number: (some[0].start, some[-1].end) for number, some in planned.ranges.items() if some}
    return Replayed(planned.source, through, *total)


def _check_partitions(client: Client, topic: str, groups: Sequence[RowGroup]) -> None:
    there = len(client.topic(topic).partitions)
    needed = max((each.partition_max for each in groups), default=-1) + 1
    if there < needed:
        raise Rejected(
            f"topic {topic} has {there} partitions, the archive has {needed}, and records go where they were: "
            f"add some, or replay into a topic with {needed}"
        )


def _all(ranges: Sequence[ReplayRange]) -> Done:
    return Done(len(ranges), sum(len(each.groups) for each in ranges), sum(each.size for each in ranges))


def _sum(one: Done, other: Done) -> Done:
    return Done(*(a + b for a, b in zip(one, other, strict=True)))


@dataclass
class _Run:
    session: Any
    archive: Store
    options: SinkOptions
    name: str
    client: Client

    def write(
        self, ranges: Mapping[int, list[ReplayRange]], before: dict[int, int], round_size: int, on_done: OnDone | None
    ) -> tuple[int, int, int]:
        """Round after round; the records, bytes and transactions written."""
        objects = self.options.staging.open()
        sweep_old(objects, SystemClock(), self.options.grace_hours)
        everything = [each for some in ranges.values() for each in some]
        total, done = _all(everything), Done()
        records = size = transactions = 0
        for chosen in rounds_of(ranges, round_size):
            job = Job(self.name, f"{SystemChance().bits(64):016x}")
            staged = self._stage(job, chosen, done, total, on_done)
            after = {each.partition: each.end for each in chosen}
            written = self._commit(staged, before, after)
            sweep_job(objects, job)
            before = {**before, **after}
            done = _sum(done, _all(chosen))
            records, size, transactions = records + written.record_count, size + written.size, transactions + 1
        return records, size, transactions

    def _stage(
        self, job: Job, chosen: Sequence[ReplayRange], done: Done, total: Done, on_done: OnDone | None
    ) -> list[StagedObject]:
        def tell(now: Done, _: Done) -> None:
            if on_done is not None:
                on_done(_sum(done, now), total)

        units = [
            Unit(ReplayTask(self.archive, each, self.options, f"{job.prefix}{number:06}"), len(each.groups), each.size)
            for number, each in enumerate(chosen)
        ]
        return [staged for some in run_units(self.session, units, stage_range, tell) for staged in some]

    def _commit(self, staged: Sequence[StagedObject], before: Mapping[int, int], after: Mapping[int, int]) -> Any:
        assert self.options.topic is not None
        commit = Commit(
            self.client,
            self.options.staging.open(),
            SystemClock(),
            self.name,
            self.options.transaction_timeout_ms,
            self.options.commit_size_max,
        )
        return commit.run(staged, ReplayProgress(self.name, self.options.topic, before, after))
