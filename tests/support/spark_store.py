"""A cluster's store without a broker: topics, segments and manifests written through the library, batch by batch."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from holdfast.cluster.metadata import Topic, create_topic, set_partitions
from holdfast.cluster.metadata_log import MetadataLog
from holdfast.io.chance import SeededChance
from holdfast.io.clock import SystemClock
from holdfast.io.objects import Objects
from holdfast.io.versions import VersionRetries
from holdfast.record.build import build
from holdfast.record.marker import Marker, MarkerKind, build_marker
from holdfast.record.records import Record
from holdfast.segment.manifest.changes import Append, RaiseEpoch, RaiseLogStart, Replace
from holdfast.segment.manifest.info import Aborted
from holdfast.segment.manifest.log import ManifestLog
from holdfast.segment.names import new_tag
from holdfast.segment.producers import ProducerState
from holdfast.segment.writer import encode_segment
from holdfast.types import PartitionId

T0 = 1_700_000_000_000


class StoredCluster:
    """The store of a cluster whose only writer is the test."""

    def __init__(self, objects: Objects, seed: int = 1) -> None:
        self.objects = objects
        self.chance = SeededChance(seed)
        self.patience = VersionRetries(SystemClock(), self.chance, lambda _: None)
        objects.put_if_absent("cluster.json", [json.dumps({"version": 1, "cluster": "c"}).encode()])
        self.metadata = MetadataLog(objects, "c", "test", self.patience)

    def topic(self, name: str, partitions: int = 1) -> list[StoredPartition]:
        """Make a topic."""
        topic_id = UUID(int=self.chance.bits(128))
        self.metadata.commit(create_topic(Topic(name, topic_id, partitions)))
        return [StoredPartition(self, PartitionId(topic_id, number)) for number in range(partitions)]

    def grow(self, name: str, partitions: int) -> list[StoredPartition]:
        """Give a topic more partitions; those that are new."""
        topic = self.metadata.metadata.topic(name)
        self.metadata.commit(set_partitions(topic.topic_id, partitions))
        return [StoredPartition(self, PartitionId(topic.topic_id, n)) for n in range(topic.partitions, partitions)]


@dataclass
class StoredPartition:
    """What a test does to a partition, in one line each."""

    cluster: StoredCluster
    home: PartitionId
    next_offset: int = 0
    pending: list[bytes] = field(default_factory=list)
    aborted: list[Aborted] = field(default_factory=list)
    started: dict[int, int] = field(default_factory=dict)  # The first offset of each open transaction.
    producers: dict[int, ProducerState] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.log = ManifestLog.open(
            self.cluster.objects,
            self.home,
            cluster_id="c",
            writer="w",
            patience=self.cluster.patience,
            first_epoch=1,  # type: ignore[arg-type]
        )

    def add(self, records: Sequence[Record], *, codec: int = 0, producer: int = -1, **more: Any) -> None:
        """One batch; of a transaction if a producer is given."""
        if producer >= 0:
            self.started.setdefault(producer, self.next_offset)
        batch = build(
            records,
            base_offset=self.next_offset,
            codec=codec,
            producer_id=producer,
            producer_epoch=0 if producer >= 0 else -1,
            transactional=producer >= 0,
            leader_epoch=int(self.log.epoch),
            **more,
        )
        self.pending.append(bytes(batch))
        self.next_offset += len(records)

    def count(self, number: int, *, size: int = 10, codec: int = 0) -> None:
        """So many plain records in one batch, numbered by their offsets, each a second later than the one before."""
        first = self.next_offset
        rows = [Record(b"k%d" % n, b"v%d" % n + bytes(size), T0 + 1000 * n) for n in range(first, first + number)]
        self.add(rows, codec=codec)

    def end(self, producer: int, kind: MarkerKind) -> None:
        """End a transaction."""
        first, offset = self.started.pop(producer), self.next_offset
        self.pending.append(bytes(build_marker(Marker(kind, producer, 0, 0, T0), base_offset=offset)))
        self.next_offset += 1
        if kind == MarkerKind.ABORT:
            stable = min(self.started.values(), default=offset + 1)
            self.aborted.append(Aborted(producer, first, offset, stable))

    def flush(self, *, times_size_min: int = 0) -> None:
        """All that was added, as one segment, which knows the times of its records if it has this size."""
        buffers, info = encode_segment(
            self.pending,
            home=self.home,
            epoch=self.log.epoch,
            tag=new_tag(self.cluster.chance),
            aborted=self.aborted,
            times_size_min=times_size_min,
        )
        self.cluster.objects.put_if_absent(info.name, buffers)
        states = {n: ProducerState(n, 0, transaction_start=first) for n, first in self.started.items()}  # type: ignore[arg-type]
        stable = min(self.started.values(), default=self.next_offset)
        self.log.commit(Append((info,), stable, states, SystemClock().monotonic()))  # type: ignore[arg-type]
        self.pending, self.aborted = [], []

    def expire(self, log_start: int, *, delete: bool = True) -> None:
        """Retention: the log starts here now, and segments below are deleted."""
        old = [each for each in self.log.manifest.segments if each.end <= log_start]
        self.log.commit(RaiseLogStart(log_start))  # type: ignore[arg-type]
        for each in old if delete else ():
            self.cluster.objects.delete(each.name)

    def rewrite(self, keep: Any) -> None:
        """Compaction of everything into one segment, which holds the batches that `keep` wants; the old ones go."""
        old = list(self.log.manifest.segments)
        base, end = old[0].base, old[-1].end
        batches = [batch for batch in self._batches(old) if keep(batch)]
        buffers, info = encode_segment(
            batches,
            home=self.home,
            epoch=self.log.epoch,
            tag=new_tag(self.cluster.chance),
            start=base,
            end=end,
            compacted=True,
        )
        self.cluster.objects.put_if_absent(info.name, buffers)
        self.log.commit(Replace(tuple(each.name for each in old), (info,), SystemClock().monotonic()))
        for each in old:
            self.cluster.objects.delete(each.name)

    def raise_epoch(self) -> None:
        self.log.commit(RaiseEpoch(self.log.epoch + 1, self.log.manifest.flushed))  # type: ignore[arg-type]

    def _batches(self, segments: Sequence[Any]) -> list[memoryview]:
        from holdfast.record.batch import split
        from holdfast.segment.scan import open_segment, pieces

        objects = self.cluster.objects
        return [
            batch
            for each in segments
            for piece in pieces(objects, open_segment(objects, each))
            for _, batch in split(piece)
        ]
