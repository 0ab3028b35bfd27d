"""One look at a place: the partitions asked for, and the tails that the write-ahead log held at that moment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from holdfast.errors import Corrupt
from holdfast.io.objects import NotFound, Objects
from holdfast.operate.findings import WAL, problem_facts, said
from holdfast.operate.inspect.facts import (
    Facts,
    batch_facts,
    home_facts,
    partition_facts,
    segment_facts,
    sum_up,
    tail_facts,
)
from holdfast.operate.place import find_partitions, open_place, topic_id_of, topic_names
from holdfast.operate.wal_tails import WalTails, read_round_tails, read_tails
from holdfast.segment.errors import NoManifest
from holdfast.segment.manifest.info import SegmentInfo
from holdfast.segment.manifest.load import load_manifest
from holdfast.segment.manifest.manifest import Manifest
from holdfast.segment.verify import Finding, SegmentVerdict, inspect
from holdfast.types import PartitionId


@dataclass(frozen=True)
class Look:
    """What can be seen at a place."""

    objects: Objects
    tails: WalTails | None
    names: dict[UUID, str]  # Of topics.
    homes: list[PartitionId]  # Without those of deleted topics, whose objects are going.

    @classmethod
    def at(
        cls, place: str, store: str | None, topic: str | None, partition: int | None, *, tolerant: bool = False
    ) -> Look:
        """Look. What is wrong with the write-ahead log raises, unless it is only to be listed."""
        opened = open_place(place, store)
        tails: WalTails | None = None
        try:
            tails = read_round_tails(opened.objects) if opened.wal is None else read_tails(opened.wal)
        except Corrupt as damage:
            if not tolerant:
                raise
            tails = WalTails(problems=[Finding(WAL, str(damage))])
        if tails is not None and tails.problems and not tolerant:
            raise Corrupt(said(tails.problems[0]))  # Figures are not made up for what cannot be read.
        names = topic_names(opened.objects)  # Behind the tails, as all that comes from the store: see `log_tail`.
        homes = find_partitions(opened.objects, None if topic is None else topic_id_of(topic, names), partition)
        deleted = tails.deleted if tails is not None else ()
        return cls(opened.objects, tails, names, [home for home in homes if home.topic_id not in deleted])

    def facts(self, home: PartitionId) -> Facts | None:
        """What is told of one partition; None when it is gone by now."""
        try:
            return self._facts(load_manifest(self.objects, home))
        except NoManifest:
            return None

    def _facts(self, manifest: Manifest) -> Facts:
        tail = None
        if self.tails is not None:
            headers = (each.header for each in self.tails.of(manifest.home).above(manifest.flushed))
            tail = sum_up(headers, manifest)
        return self._named(manifest.home) | partition_facts(manifest, tail)

    def _named(self, home: PartitionId) -> Facts:
        return home_facts(home, self.names.get(home.topic_id))

    def dump(self, home: PartitionId, *, batches: bool) -> Iterator[Facts]:
        """The partition itself, then its segments and its tail, and on wish the batches of each."""
        try:
            manifest = load_manifest(self.objects, home)
        except NoManifest:
            return
        yield {"kind": "partition"} | self._facts(manifest)
        named = self._named(home)
        for info in manifest.segments:
            yield named | segment_facts(info)
            if batches:
                yield from (named | each for each in self._batches(home, info))
        if self.tails is not None:
            rows = self.tails.of(home)
            yield named | tail_facts(sum_up((each.header for each in rows.above(manifest.flushed)), manifest))
            for index, crc_ok, header in rows.above(manifest.flushed) if batches else ():
                yield named | batch_facts(header, crc_ok=crc_ok, entry=index)

    def _batches(self, home: PartitionId, info: SegmentInfo) -> Iterator[Facts]:
        try:
            for found in inspect(self.objects, home, info):
                if isinstance(found, Finding):
                    yield {"kind": "problem"} | problem_facts(found)
                    continue
                position = found.position
                for header, _ in found.batches:
                    yield batch_facts(header, crc_ok=found.is_right, position=position)
                    position += header.size
        except NotFound as missing:
            yield {"kind": "problem"} | problem_facts(Finding(info.name, str(missing), verdict=SegmentVerdict.LOST))
