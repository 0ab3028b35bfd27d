"""The end of a transaction: one go, one fsync, and nothing of it is seen before."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from tests.coordinator.transaction_world import GROUP, PARTITIONS, TIMEOUT_MS, TOPIC, TransactionWorld
from tests.log.log_world import from_producer, in_loop, turns

from holdfast.broker.topics import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from holdfast.coordinator.group.requests import Caller, OffsetToCommit
from holdfast.coordinator.transaction.coordinator import IMPLICIT
from holdfast.coordinator.transaction.errors import ProducerFenced
from holdfast.coordinator.transaction.transaction import Producer, TransactionState
from holdfast.errors import Fenced
from holdfast.io.chance import SeededChance
from holdfast.io.versions import VersionRetries
from holdfast.log.errors import LogsStopped
from holdfast.record.batch import split
from holdfast.segment.manifest.changes import RaiseEpoch
from holdfast.segment.manifest.log import ManifestLog
from holdfast.types import Epoch, Offset, TopicPartition

AT = TopicPartition(TOPIC, 0)
SEEDS = 40


async def begun(house: TransactionWorld, transactional_id: str = "x") -> Producer:
    """A producer whose transaction has a record in each partition, and an offset; all of it is durable."""
    context = house.opened.context
    producer = await context.transactions.initialize(transactional_id, TIMEOUT_MS)
    for number, partition in enumerate(house.partitions()):
        place = TopicPartition(TOPIC, number)
        context.transactions.enlist(transactional_id, producer, place, implicit=True)
        await partition.append(
            from_producer(0, b"v", number=producer.producer_id, epoch=producer.epoch, transactional=True)
        )
    offsets = TopicPartition(OFFSETS_TOPIC, 0)
    await context.groups.offsets.commit_in_transaction(
        GROUP,
        Caller(),
        producer,
        {AT: OffsetToCommit(0)},
        enlist=lambda: context.transactions.enlist(transactional_id, producer, offsets, implicit=True),
    )
    return producer


def shown(house: TransactionWorld) -> list[int]:
    """How far committed readers get in each partition."""
    return [partition.last_stable for partition in house.partitions()]


@in_loop
async def test_an_end_takes_one_fsync_and_is_not_seen_before() -> None:
    """K4, A2: while the fsync runs, neither records nor offsets count; after it, all of them do."""
    house = TransactionWorld(1)
    await house.open()
    producer = await begun(house)
    seen: list[tuple[list[int], bool]] = []
    table = house.opened.context.groups._shards[0].groups[GROUP].offsets
    house.disk.during_sync = lambda: seen.append((shown(house), table.is_undecided(AT)))
    await house.opened.context.transactions.end("x", producer, commit=True, client_version=IMPLICIT)
    assert seen == [([0] * PARTITIONS, True)], "One fsync, and nothing is seen while it runs."
    assert shown(house) == [2] * PARTITIONS
    assert (table.is_undecided(AT), await house.committed_offset()) == (False, 0)


@in_loop
async def test_a_partition_that_was_taken_over_does_not_hide_the_others() -> None:
    """K4: another writer has one of the partitions. The commit is decided, and holds in all others at once; that one is
    waited for (test_transaction_waits has how that ends)."""
    house = TransactionWorld(1)
    await house.open()
    producer = await begun(house)
    taken = house.partitions()[0]
    patience = VersionRetries(house.clock, SeededChance(1), lambda _: None)
    cluster = house.opened.context.cluster_id
    other = ManifestLog.open(house.objects, taken.home, cluster_id=cluster, writer="other", patience=patience)
    other.commit(RaiseEpoch(Epoch(taken.epochs.current + 1), Offset(0)))
    with pytest.raises(Fenced):
        await taken.flush()
    await house.opened.context.transactions.end("x", producer, commit=True, client_version=IMPLICIT)
    await turns()
    assert shown(house)[1:] == [2] * (PARTITIONS - 1)
    assert await house.committed_offset() == 0
    state = house.opened.context.transactions.describe("x").state
    assert state is TransactionState.PREPARE_COMMIT


@in_loop
async def test_offsets_that_are_refused_leave_no_group_behind() -> None:
    """K4, K7: a producer that is shut out names one group after the other: none of them is there afterwards."""
    house = TransactionWorld(1)
    await house.open()
    context = house.opened.context
    old = await context.transactions.initialize("x", TIMEOUT_MS)
    await context.transactions.initialize("x", TIMEOUT_MS)
    place = TopicPartition(OFFSETS_TOPIC, 0)
    for number in range(3):
        with pytest.raises(ProducerFenced):
            await context.groups.offsets.commit_in_transaction(
                f"group-{number}",
                Caller(),
                old,
                {AT: OffsetToCommit(0)},
                enlist=lambda: context.transactions.enlist("x", old, place, implicit=True),
            )
    assert context.groups.list_groups() == []


@pytest.mark.parametrize(
    ("frame_size", "outcomes"),
    [(0, {"open", "carried out at the start", "complete"}), (4096, {"open", "complete"})],
    ids=["a frame for each step", "one for all"],
)
@in_loop
async def test_a_power_cut_in_the_middle_of_an_end(frame_size: int, outcomes: set[str]) -> None:
    """K4, A8: whatever is left of the round, the transaction is open everywhere, or committed everywhere."""
    found: Counter[str] = Counter()
    for seed in range(SEEDS):
        house = TransactionWorld(seed, frame_size)
        await house.open()
        producer = await begun(house)
        house.disk.crash_at = house.disk.calls + 1  # The round is written, and its sync does not come.
        with pytest.raises(LogsStopped):
            await house.opened.context.transactions.end("x", producer, commit=True, client_version=IMPLICIT)
        house.disk.power_cut()
        await house.open()
        found[await outcome(house)] += 1
    assert set(found) == outcomes, found


async def outcome(house: TransactionWorld) -> str:
    """What became of the transaction: it must be the same in all partitions, and in the group's offsets."""
    log, visible = await house.read()
    offset = await house.committed_offset()
    assert len(log) == PARTITIONS
    state = house.opened.context.transactions.describe("x").state
    if state is TransactionState.ONGOING:
        assert (visible, offset) == (set(), None)
        return "open"
    assert (state, visible, offset) == (TransactionState.COMPLETE_COMMIT, log, 0)
    internal = house.opened.context.topics.get(TRANSACTIONS_TOPIC).partition(0)
    newest = list(internal.tail)[-1]
    return "carried out at the start" if newest.epoch == internal.epochs.current else "complete"


@in_loop
async def test_committed_offsets_outlive_their_marker() -> None:
    """K4: compaction may drop a marker before what it has committed; the offset is still decided after a restart."""
    house = TransactionWorld(1)
    await house.open()
    producer = await begun(house)
    await house.opened.context.transactions.end("x", producer, commit=True, client_version=IMPLICIT)
    internal = house.opened.context.topics.get(OFFSETS_TOPIC).partition(0)
    internal.settings = replace(internal.settings, tombstone_retention_ms=0)
    for _ in range(2):
        await internal.flush()
        await internal.compact()
        house.clock.advance(1)
    read = await internal.read(internal.marks.log_start)
    kinds = [header.is_control for buffer in read.buffers for header, _ in split(buffer)]
    assert kinds == [False], "The marker is gone, the offset is not."
    house.disk.power_cut()
    await house.open()
    assert await house.committed_offset() == 0
    table = house.opened.context.groups._shards[0].groups[GROUP].offsets
    assert not table.is_undecided(AT)


@in_loop
async def test_the_only_coordinator_is_not_shut_out_by_a_higher_epoch() -> None:
    """K4, A2: which an earlier release has taken from anybody, and which is in the log: what is committed is shown."""
    house = TransactionWorld(1)
    await house.open()
    producer = await begun(house)
    for partition in house.partitions():
        state = partition.producers.state(producer.producer_id)
        assert state is not None
        state.coordinator_epoch = 2**31 - 1
    await house.opened.context.transactions.end("x", producer, commit=True, client_version=IMPLICIT)
    assert shown(house) == [partition.marks.log_end for partition in house.partitions()]
