"""What a broker says of itself that waits, for its store or for its turn to lead: little, but that it waits."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from holdfast.log.recovery.tails import KnownTail
from holdfast.measure import PortCounts
from holdfast.metrics.collect import Sample, port_samples


@dataclass(frozen=True, slots=True)
class WatchedWait:
    """The wait."""

    cluster: str
    waited_s: Callable[[], float]
    served: Callable[[], Sequence[tuple[str, int, KnownTail]]]  # Topic, partition, and what is certain of it.
    port: Callable[[], PortCounts]


@dataclass(frozen=True, slots=True)
class WatchedStandby:
    """A broker of a cluster that another one leads."""

    cluster: str
    unready: Callable[[], str]  # Who leads, in words.
    port: Callable[[], PortCounts]


async def standby_samples(version: str, watched: WatchedStandby, others: Iterator[Sample]) -> AsyncIterator[Sample]:
    """Everything that is known; `others` are figures of the port and of the store."""
    yield Sample("holdfast", (version, watched.cluster), 1)
    yield Sample("holdfast_standing_by", (), 1)
    for sample in chain(port_samples(watched.port()), others):
        yield sample


async def waiting_samples(version: str, watched: WatchedWait, others: Iterator[Sample]) -> AsyncIterator[Sample]:
    """Everything that is known; `others` are figures of the port and of the store."""
    served = watched.served()
    yield Sample("holdfast", (version, watched.cluster), 1)
    yield Sample("holdfast_standing_by", (), 0)
    yield Sample("holdfast_store_waiting", (), 1)
    yield Sample("holdfast_store_waiting_seconds", (), watched.waited_s())
    yield Sample("holdfast_store_waiting_partitions", (), len(served))
    for topic, number, known in served:
        labels = topic, str(number)
        yield Sample("holdfast_partition_failed", labels, 0)
        yield Sample("holdfast_partition_high_watermark", labels, known.end)
        yield Sample("holdfast_partition_log_end", labels, known.end)
        yield Sample("holdfast_partition_tail_bytes", labels, known.tail.size)
    for sample in chain(port_samples(watched.port()), others):
        yield sample
