"""What a running broker says now, as samples of the metrics in the catalog.

Everything is read from what the parts know anyway, when somebody asks. State belongs to the event loop, so it is read
there; with very many partitions a little at a time, so that nobody waits for it.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import NamedTuple

from holdfast.coordinator.group.answers import CommittedOffset
from holdfast.coordinator.group.coordinator import GroupCoordinator
from holdfast.coordinator.share.coordinator import ShareCoordinator
from holdfast.coordinator.transaction.coordinator import TransactionCoordinator
from holdfast.errors import HoldfastError
from holdfast.io.clock import Clock
from holdfast.io.objects.timed import StoreTimes
from holdfast.log.errors import LedElsewhere, NotOpen
from holdfast.log.logs import Logs
from holdfast.log.partition.partition import PartitionLog
from holdfast.measure import (
    ErrorCounts,
    HeldCounts,
    Histogram,
    PortCounts,
    RackCounts,
    SubscriptionCounts,
    ThrottleCounts,
    Traffic,
)
from holdfast.protocol.codes import Code

_AT_A_TIME = 100  # Partitions or groups, then others have their turn.


class Sample(NamedTuple):
    """One value of a metric."""

    metric: str
    labels: tuple[str, ...]
    value: float | Histogram


class WatchedTopic(NamedTuple):
    """A topic, and its partitions; one that could not be opened is there as the reason why."""

    name: str
    logs: Sequence[PartitionLog | NotOpen]


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """The parts of a broker that have something to say."""

    version: str
    logs: Logs
    groups: GroupCoordinator
    shares: ShareCoordinator
    transactions: TransactionCoordinator
    topics: Callable[[], Sequence[WatchedTopic]]
    port: Callable[[], PortCounts]
    traffic: Traffic
    errors: ErrorCounts
    held: Mapping[str, HeldCounts]
    throttled: Mapping[str, ThrottleCounts]
    syncs: Histogram
    store: StoreTimes
    subscriptions: SubscriptionCounts
    unreachable: Callable[[], Collection[int]]  # Other brokers of the cluster.
    racks: RackCounts
    clock: Clock


async def samples(watched: Watched) -> AsyncIterator[Sample]:
    """Everything, as it is now."""
    yield Sample("holdfast", (watched.version, watched.logs.identity.cluster), 1)
    for source in (_clients(watched), _logs(watched), store_samples(watched.store)):
        for sample in source:
            yield sample
    ends: dict[tuple[str, int], int] = {}
    now = oldest = watched.clock.monotonic()
    for number, (topic, index, log) in enumerate(_partitions(watched)):
        for sample in _partition(topic, index, log):
            yield sample
        if isinstance(log, PartitionLog):
            ends[topic, index] = log.marks.high_watermark
            oldest = min(oldest, next((batch.appended_at for batch in log.tail), now))
        if number % _AT_A_TIME == _AT_A_TIME - 1:
            await asyncio.sleep(0)
    yield Sample("holdfast_unflushed_seconds", (), now - oldest)
    yield Sample("holdfast_store_away_seconds", (), watched.store.away_s(now) or 0.0)
    yield Sample("holdfast_standing_by", (), 0)
    yield Sample("holdfast_peer_unreachable", (), len(watched.unreachable()))
    for sample in _racks(watched.racks):
        yield sample
    async for sample in _groups(watched.groups, ends):
        yield sample
    for source in (_shares(watched.shares), _transactions(watched.transactions), _subscriptions(watched.subscriptions)):
        for sample in source:
            yield sample


def _clients(watched: Watched) -> Iterator[Sample]:
    yield from port_samples(watched.port())
    yield from traffic_samples(watched.traffic)
    for name in ("holdfast_store_waiting", "holdfast_store_waiting_seconds", "holdfast_store_waiting_partitions"):
        yield Sample(name, (), 0)
    for (api, code), count in sorted(watched.errors.items()):
        yield Sample("holdfast_errors", (api, Code(code).name), count)
    for api, held in sorted(watched.held.items()):
        yield Sample("holdfast_loop_held", (api,), held.count)
        yield Sample("holdfast_loop_held_seconds", (api,), held.seconds)
    for quota, throttled in watched.throttled.items():
        yield Sample("holdfast_throttled", (quota,), throttled.count)
        yield Sample("holdfast_throttled_seconds", (quota,), throttled.seconds)


def _racks(counts: RackCounts) -> Iterator[Sample]:
    yield Sample("holdfast_fetches_pointed", (), counts.pointed)
    yield Sample("holdfast_fetch_bytes_for_others", (), counts.served_size)
    for reason, count in counts.sent_back.items():
        yield Sample("holdfast_fetches_sent_back", (reason,), count)


def port_samples(port: PortCounts) -> Iterator[Sample]:
    """Who is connected."""
    yield Sample("holdfast_connections", (), port.connections)
    yield Sample("holdfast_requests_held_bytes", (), port.requests_size)
    yield Sample("holdfast_answers_untaken_bytes", (), port.answers_size)
    for limit, count in port.refused.items():
        yield Sample("holdfast_connections_refused", (limit,), count)
    for reason, count in port.closed.items():
        yield Sample("holdfast_connections_closed", (reason,), count)


def traffic_samples(traffic: Traffic) -> Iterator[Sample]:
    """What clients have asked."""
    for api, counts in sorted(traffic.items()):
        yield Sample("holdfast_requests", (api,), counts.requests)
        yield Sample("holdfast_request_bytes", (api,), counts.received_size)
        yield Sample("holdfast_response_bytes", (api,), counts.sent_size)
        yield Sample("holdfast_request_seconds", (api,), counts.time)


def _logs(watched: Watched) -> Iterator[Sample]:
    stat = watched.logs.stat()
    wal, cache = stat.wal, stat.cache
    yield Sample("holdfast_fsync_seconds", (), watched.syncs)
    yield Sample("holdfast_writer", watched.logs.owner.writer, 1)
    figures = {
        "holdfast_owner": int(watched.logs.owner.is_owner),
        "holdfast_owner_claim": watched.logs.owner.claim,
        "holdfast_owner_looks": watched.logs.owner.looks,
        "holdfast_owner_look_failures": watched.logs.owner.failures,
        "holdfast_wal_rounds": wal.sync_count,
        "holdfast_wal_chunks": wal.chunks,
        "holdfast_wal_disk_bytes": wal.on_disk_size,
        "holdfast_disk_free_bytes": nan if stat.disk_free_size is None else stat.disk_free_size,
        "holdfast_disk_reserve_bytes": stat.disk_reserve_size,
        "holdfast_wal_queued_bytes": wal.queued_size,
        "holdfast_wal_end_position": wal.end,
        "holdfast_wal_durable_position": wal.durable,
        "holdfast_tail_memory_bytes": stat.tail_memory_size,
        "holdfast_flushes": stat.flushed.flushes,
        "holdfast_flushed_bytes": stat.flushed.size,
        "holdfast_flush_bytes_max": stat.segment_size_max,
        "holdfast_producers_held_back": int(not stat.has_room),
        "holdfast_deletions": stat.deletions.count,
        "holdfast_deletion_age_seconds": stat.deletions.age_s,
        "holdfast_clock_apart_seconds": stat.clock_apart_ms / 1000,
        "holdfast_cache_bytes": cache.size,
        "holdfast_cache_hits": cache.hits,
        "holdfast_cache_misses": cache.misses,
        "holdfast_cache_coalesced": cache.coalesced,
        "holdfast_cache_read_ahead": cache.ahead,
        "holdfast_cache_evicted": cache.evicted,
        "holdfast_cache_failures": cache.failed,
        "holdfast_damage_met": stat.damage.met,
        "holdfast_batches_mended": stat.damage.mended,
    }
    for name, value in figures.items():
        yield Sample(name, (), value)
    for who, count in stat.unreadable.by.items():
        yield Sample("holdfast_unreadable_batches", (who,), count)
    for reason, seconds in stat.held_back_seconds.items():
        yield Sample("holdfast_producers_held_back_by", (reason,), int(stat.held_back == reason))
        yield Sample("holdfast_producers_held_back_seconds", (reason,), seconds)
    for place, time in sorted(stat.reads.items()):
        yield Sample("holdfast_read_seconds", (place,), time)


def store_samples(store: StoreTimes) -> Iterator[Sample]:
    """What the store was asked."""
    for asked, time in sorted(store.times.items()):
        yield Sample("holdfast_store_seconds", asked, time)
        yield Sample("holdfast_store_failures", asked, store.failures[asked])
    for operation, size in sorted(store.sizes.items()):
        yield Sample("holdfast_store_bytes", (operation,), size)


def _partitions(watched: Watched) -> Iterator[tuple[str, int, PartitionLog | NotOpen]]:
    for topic in watched.topics():
        for index, log in enumerate(topic.logs):
            if not isinstance(log, LedElsewhere):
                yield topic.name, index, log


def _partition(topic: str, index: int, log: PartitionLog | NotOpen) -> Iterator[Sample]:
    labels = topic, str(index)
    served = isinstance(log, PartitionLog) and log.is_alive
    yield Sample("holdfast_partition_failed", labels, int(not served))
    if not isinstance(log, PartitionLog):
        return
    figures = {
        "log_start": log.marks.log_start,
        "flushed": log.marks.flushed,
        "last_stable": log.last_stable,
        "high_watermark": log.marks.high_watermark,
        "log_end": log.marks.log_end,
        "tail_bytes": log.tail.size,
        "segments": len(log.manifest.segments),
        "damaged": log.damaged,
        "open_transactions": log.transactions.open_count,
        "producers": len(log.producers),
        "producers_let_go": log.producers.let_go,
    }
    for name, value in figures.items():
        yield Sample(f"holdfast_partition_{name}", labels, value)


async def _groups(groups: GroupCoordinator, ends: dict[tuple[str, int], int]) -> AsyncIterator[Sample]:
    try:
        listed = groups.list_groups()
    except HoldfastError:
        return  # Not loaded yet: nothing is known, and nothing is said.
    states = Counter(group.state.value for group in listed)
    for number, group in enumerate(listed):
        yield Sample("holdfast_group_members", (group.group_id,), group.member_count)
        for partition, found in (await groups.offsets.fetch(group.group_id)).items():
            if isinstance(found, CommittedOffset):
                labels = group.group_id, partition.topic, str(partition.partition)
                yield Sample("holdfast_group_committed_offset", labels, found.offset)
                end = ends.get((partition.topic, partition.partition))
                if end is not None:
                    yield Sample("holdfast_group_lag_records", labels, max(end - found.offset, 0))
        if number % _AT_A_TIME == _AT_A_TIME - 1:
            await asyncio.sleep(0)
    for state, count in sorted(states.items()):
        yield Sample("holdfast_groups", (state,), count)


def _shares(shares: ShareCoordinator) -> Iterator[Sample]:
    yield Sample("holdfast_share_groups", (), sum(1 for _ in shares))
    yield Sample("holdfast_share_records_timed_out", (), shares.counts.timed_out)
    yield Sample("holdfast_share_records_given_up", (), shares.counts.given_up)


def _transactions(transactions: TransactionCoordinator) -> Iterator[Sample]:
    for state, count in sorted(Counter(each.state.title for each in transactions.all()).items()):
        yield Sample("holdfast_transactional_ids", (state,), count)
    for outcome, count in transactions.ended.items():
        yield Sample("holdfast_transactions", (outcome.title,), count)
    yield Sample("holdfast_transaction_ends_waiting", (), transactions.left_count)


def _subscriptions(counts: SubscriptionCounts) -> Iterator[Sample]:
    yield Sample("holdfast_subscriptions", (), len(counts.open))
    yield Sample("holdfast_subscription_events", (), counts.events)
    yield Sample("holdfast_subscription_bytes", (), counts.sent_size)
    yield Sample("holdfast_subscription_lag_records", (), sum(each.lag_records() for each in counts.open))
