"""What a cluster has stored, seen from the driver: its topics, and the manifest of each partition that is asked for.

Nothing takes a lock, and no broker is asked. Where the write-ahead log is in the store, what is acknowledged and in no
segment yet is seen there (`tail`): rounds are looked at before the manifests, and who leads before both.

Opening costs six requests, four for each partition and one for each round, made by many threads. Looking again costs
one small read, one for each partition, and three more where something was written; where brokers write rounds, also a
listing, some small reads for each broker, and one for each round that is new.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import NamedTuple

from holdfast.catalog.errors import NotMadeYet
from holdfast.catalog.store import Store, cluster_of, find_store
from holdfast.catalog.tail import RoundTail, tail_of
from holdfast.cluster.metadata import Topic
from holdfast.cluster.metadata_log import MetadataLog
from holdfast.io.clock import SystemClock
from holdfast.io.versions import GRACE_S, VersionRetries, Versions, full_before
from holdfast.log.rounds.seen import SeenRounds
from holdfast.segment.manifest.codec import Steps
from holdfast.segment.manifest.load import load_newest
from holdfast.segment.manifest.manifest import Manifest
from holdfast.types import OffsetRange, PartitionId, TopicPartition

THREADS = 16

Chosen = Callable[[Topic], bool]


class LoadedManifest(NamedTuple):
    """A manifest as it was loaded, and when it was last known to be the newest."""

    manifest: Manifest
    steps: Steps
    seen_s: float


@dataclass(frozen=True)
class Catalog:
    """One look at a cluster. `refresh` gives the next."""

    store: Store
    topics: Mapping[str, Topic]  # Those that were chosen, by name.
    manifests: Mapping[TopicPartition, Manifest]
    missing: frozenset[TopicPartition]  # Known to the cluster, but without a manifest.
    tails: Mapping[TopicPartition, RoundTail]  # What is acknowledged, and only in rounds.
    _metadata: MetadataLog = field(repr=False)
    _chosen: Chosen = field(repr=False)
    _loaded: Mapping[PartitionId, LoadedManifest] = field(repr=False)
    _rounds: SeenRounds | None = field(repr=False)  # None: nobody asks for them.

    def manifest(self, where: TopicPartition) -> Manifest:
        """A partition's manifest; one that must be there and is not is an error, never an empty partition."""
        found = self.manifests.get(where)
        if found is None:
            self._metadata.metadata.topic(where.topic)
            raise NotMadeYet(str(where))
        return found

    def readable(self, where: TopicPartition, *, committed: bool = True) -> OffsetRange:
        """The stored offsets that may be read: with `committed`, only those below every open transaction."""
        manifest = self.manifest(where)
        tail = self.tails.get(where)
        if tail is not None:
            end = tail.last_stable if committed else tail.end
        else:
            end = manifest.last_stable if committed else manifest.flushed
        return OffsetRange(min(manifest.log_start, end), end)

    def have_moved(self, partitions: Sequence[TopicPartition]) -> bool:
        """Whether something was written to one of these partitions since: one small read for each, and no more.

        Not for who has not looked for half an hour: see `GRACE_S`.
        """
        held = [self.manifests[where] for where in partitions]
        if len(held) < 2:
            return any(map(self._is_old, held))
        with ThreadPoolExecutor(THREADS, thread_name_prefix="holdfast-catalog") as pool:
            return any(list(pool.map(self._is_old, held)))

    def _is_old(self, manifest: Manifest) -> bool:
        return not Versions(self.store.open(), manifest.home.manifests).is_free(manifest.version + 1)

    def topics_have_moved(self) -> bool:
        """Whether the cluster's metadata has changed since: one small read."""
        before = self._metadata.metadata
        return self._metadata.refresh() is not before

    def rounds_have_moved(self) -> bool:
        """Whether there are more rounds than were seen: one small read for each broker that writes some."""
        return self._rounds is not None and self._rounds.have_moved(self._metadata.metadata.lives)

    def refresh(self, *, topics: bool = True) -> Catalog:
        """Look again: for new topics and new partitions, if that is asked for, new segments and new rounds."""
        if topics or (self._rounds is not None and self._rounds.series):  # Partitions may have moved.
            self._metadata.refresh()
        return _look(self.store, self._metadata, self._chosen, self._loaded, self._rounds)


def open_catalog(
    path: str,
    options: Mapping[str, str] | None = None,
    *,
    topics: Iterable[str] | Chosen | None = None,
    rounds: bool = True,
) -> Catalog:
    """What is stored under a data directory or store URL; `options` are those of the store.

    `topics` are names that must be there, or a choice; without it all topics but internal ones. Without `rounds`, only
    what is in segments is seen.
    """
    return catalog_in(find_store(path, options), topics=topics, rounds=rounds)


def catalog_in(store: Store, *, topics: Iterable[str] | Chosen | None = None, rounds: bool = True) -> Catalog:
    """What a store holds that was found before."""
    patience = VersionRetries.of_readers()
    metadata = MetadataLog(store.open(), cluster_of(store), "", patience)
    return _look(store, metadata, _choice(metadata, topics), {}, SeenRounds(store.open()) if rounds else None)


def is_internal(topic: Topic) -> bool:
    """Whether a topic is the cluster's own."""
    return topic.name.startswith("__")


def _choice(metadata: MetadataLog, topics: Iterable[str] | Chosen | None) -> Chosen:
    if topics is None:
        return lambda topic: not is_internal(topic)
    if callable(topics):
        return topics
    names = frozenset(topics)
    for name in sorted(names):
        metadata.metadata.topic(name)  # Raises where there is none.
    return lambda topic: topic.name in names


def _look(
    store: Store,
    metadata: MetadataLog,
    chosen: Chosen,
    before: Mapping[PartitionId, LoadedManifest],
    rounds: SeenRounds | None,
) -> Catalog:
    topics = {name: topic for name, topic in metadata.metadata.topics.items() if chosen(topic)}
    homes = {
        TopicPartition(topic.name, number): PartitionId(topic.topic_id, number)
        for topic in topics.values()
        for number in range(topic.partitions)
    }
    leads, lives = metadata.metadata.leads, metadata.metadata.lives
    if rounds is not None:  # Before the manifests: what is flushed meanwhile is in both.
        rounds = rounds.again(lives)
    with ThreadPoolExecutor(THREADS, thread_name_prefix="holdfast-catalog") as pool:
        found = pool.map(lambda home: _load(store, home, before.get(home)), homes.values())
        loaded = dict(zip(homes.values(), found, strict=True))
    manifests = {where: each[0] for where, home in homes.items() if (each := loaded[home]) is not None}
    there = {home: each for home, each in loaded.items() if each is not None}
    missing = frozenset(homes.keys() - manifests.keys())
    seen = {} if rounds is None else rounds.tails(leads)
    tails = {
        where: tail
        for where, manifest in manifests.items()
        if manifest.home in seen and (tail := tail_of(manifest, seen[manifest.home])) is not None
    }
    return Catalog(store, topics, manifests, missing, tails, metadata, chosen, there, rounds)


def _load(store: Store, home: PartitionId, before: LoadedManifest | None) -> LoadedManifest | None:
    versions, now_s = Versions(store.open(), home.manifests), SystemClock().boottime()
    if before is None:
        found = load_newest(versions)
        return None if found is None else LoadedManifest(*found, now_s)
    number = before.manifest.version
    # A number that was used and deleted looks free, but not before its grace is over.
    if now_s < before.seen_s + GRACE_S / 2 and versions.is_free(number + 1):
        return before._replace(seen_s=now_s)
    found = load_newest(versions, number, (full_before(number), before.steps.full))
    return before._replace(seen_s=now_s) if found is None else LoadedManifest(*found, now_s)
