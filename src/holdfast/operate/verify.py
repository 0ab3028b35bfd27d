"""Hold everything that is stored of a partition against every rule, and list what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from holdfast.cluster.auth_log import AUTH
from holdfast.cluster.identity import read_cluster
from holdfast.cluster.version_log import SharedKind, V, load_version
from holdfast.errors import Corrupt, HoldfastError, Unavailable
from holdfast.io.objects import NotFound, Objects
from holdfast.io.versions import Versions
from holdfast.log.partition.epochs import Epochs
from holdfast.operate.findings import WAL
from holdfast.operate.wal_tails import TailRows, WalTails
from holdfast.segment.errors import NewerFormat, NoManifest, SegmentLost
from holdfast.segment.manifest.info import SegmentInfo
from holdfast.segment.manifest.load import load_manifest
from holdfast.segment.manifest.manifest import Manifest
from holdfast.segment.missing import follow
from holdfast.segment.verify import Finding, inspect
from holdfast.types import PartitionId

_TOLD_SIZE = 1024 * 1024  # Whoever waits hears of every so many bytes.


@dataclass
class Totals:
    """What was looked at."""

    partitions: int = 0
    segments: int = 0
    batches: int = 0
    records: int = 0
    bytes: int = 0
    tail_batches: int = 0
    tail_records: int = 0
    unlisted_segments: int = 0  # Left over by a crash or by compaction, or just being flushed: no fault.
    problems: list[Finding] = field(default_factory=list)


class Checker:
    """Checks partitions one by one, and keeps the totals. `begin` and `advance` tell how far it is, in bytes."""

    def __init__(
        self,
        objects: Objects,
        tails: WalTails | None,
        begin: Callable[[int], None] = lambda size: None,  # noqa: ARG005
        advance: Callable[[int], None] = lambda size: None,  # noqa: ARG005
    ) -> None:
        self.totals = Totals()
        self._objects = objects
        self._tails = tails
        self._begin = begin
        self._advance = advance
        self._cluster = read_cluster(objects)

    def check(self, homes: Iterable[PartitionId]) -> Totals:
        """Check all of these partitions."""
        problems = self.totals.problems
        homes = list(homes)
        if self._tails is not None:
            problems += self._tails.problems
            problems += self._wal_problems(self._tails, homes)
        problems += self._shared(AUTH)
        for home in homes:
            problems += self._partition(home)
        return self.totals

    def _wal_problems(self, tails: WalTails, homes: list[PartitionId]) -> Iterator[Finding]:
        if tails.cluster not in (None, self._cluster):
            yield Finding(WAL, f"it belongs to cluster {tails.cluster}, the store to cluster {self._cluster}")
        stored = set(homes)
        for home in tails.rows:
            if home not in stored and home.topic_id not in tails.deleted and self._is_missing(home):
                yield Finding(
                    WAL, f"it has batches of partition {home.path.rstrip('/')}, which has no manifest in the store"
                )

    def _shared(self, kind: SharedKind[V]) -> Iterator[Finding]:
        """The newest version must be there, whole; before the first there is nothing to be wrong."""
        versions = Versions(self._objects, kind.prefix)
        newest = versions.newest()
        if newest is None:
            return
        try:
            load_version(kind, versions, newest, self._cluster)
        except Unavailable:
            raise
        except (HoldfastError, LookupError, TypeError, ValueError) as failure:
            yield Finding(versions.name(newest), getattr(failure, "what", None) or str(failure))

    def _is_missing(self, home: PartitionId) -> bool:
        """Whether there is no manifest; the partitions asked for need not be all."""
        return next(iter(self._objects.list(home.manifests)), None) is None

    def _partition(self, home: PartitionId) -> Iterator[Finding]:
        try:
            manifest = load_manifest(self._objects, home)
        except NoManifest:
            return  # Deleted while we looked.
        except (Corrupt, NewerFormat) as damage:
            yield Finding.of(home.manifests, damage)
            return
        self.totals.partitions += 1
        if manifest.cluster_id != self._cluster:
            what = f"it belongs to cluster {manifest.cluster_id}, the store to cluster {self._cluster}"
            yield Finding(f"{home.manifests}{manifest.version:020}.json", what)
        self._begin(sum(each.size for each in manifest.segments))
        yield from self._segments(manifest)
        if self._tails is not None:
            yield from self._tail(manifest, self._tails.of(home))

    def _segments(self, manifest: Manifest) -> Iterator[Finding]:
        sizes = {each.name: each.size for each in self._objects.list(manifest.home.segments)}
        listed = {each.name for each in manifest.segments}
        self.totals.unlisted_segments += len(sizes.keys() - listed)
        waiting = list(reversed(manifest.segments.items))
        while waiting:
            info = waiting.pop()
            if sizes.get(info.name, info.size) != info.size:
                what = f"it has {sizes[info.name]} bytes, the manifest says {info.size}"
                yield Finding(info.name, what, min(info.size, sizes[info.name]))
            try:
                yield from self._segment(manifest.home, info)
            except NotFound:
                try:
                    waiting += reversed(self._instead_of(manifest.home, info))
                except SegmentLost as lost:
                    yield Finding.of(info.name, lost)

    def _instead_of(self, home: PartitionId, missing: SegmentInfo) -> tuple[SegmentInfo, ...]:
        """A segment that is gone has expired, was compacted, went with its topic, or is lost."""
        try:
            return follow(self._objects, home, missing).segments
        except NoManifest:
            return ()

    def _segment(self, home: PartitionId, info: SegmentInfo) -> Iterator[Finding]:
        batches = records = told = 0
        for found in inspect(self._objects, home, info):
            if isinstance(found, Finding):
                yield found
                continue
            batches += len(found.batches)
            records += sum(header.record_count for header, _ in found.batches)
            if found.position - told >= _TOLD_SIZE:
                self._advance(found.position - told)
                told = found.position
        self._advance(info.size - told)
        self.totals.segments += 1
        self.totals.bytes += info.size
        self.totals.batches += batches
        self.totals.records += records

    def _tail(self, manifest: Manifest, rows: TailRows) -> Iterator[Finding]:
        yield from self._divergence(manifest, rows)
        expected: int = manifest.flushed
        for index, crc_ok, header in rows.above(manifest.flushed):
            self.totals.tail_batches += 1
            self.totals.tail_records += header.record_count
            if header.base_offset != expected:
                found = f"goes on at offset {header.base_offset} where {expected} is expected"
                yield Finding(WAL, f"partition {_path(manifest.home)} {found}", index)
            if not crc_ok:
                yield Finding(WAL, f"the crc of the batch at offset {header.base_offset} is wrong", index)
            expected = header.end_offset

    @staticmethod
    def _divergence(manifest: Manifest, rows: TailRows) -> Iterator[Finding]:
        """Batches of ours at offsets that another leader has written, too: they were acknowledged and are nowhere."""
        epochs = Epochs(manifest.epochs)
        ours = [
            each
            for each in rows.above(manifest.log_start)
            if epochs.at(each.header.base_offset) > each.header.leader_epoch
        ]
        if ours:
            offsets = f"[{ours[0].header.base_offset}, {ours[-1].header.end_offset})"
            what = f"another leader wrote offsets {offsets} of partition {_path(manifest.home)}, too"
            yield Finding(WAL, what, ours[0].entry)


def _path(home: PartitionId) -> str:
    return home.path.rstrip("/")
