"""Where partitions lie: a data directory with its write-ahead log and its objects, or an object store alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit
from uuid import UUID

from holdfast.cluster.identity import CLUSTER, read_cluster
from holdfast.cluster.metadata_log import MetadataLog
from holdfast.cluster.served_store import chosen_store
from holdfast.errors import Rejected
from holdfast.io.disk import RealDirectory
from holdfast.io.objects import NotFound, Objects
from holdfast.io.objects.open import UnknownStore, is_misspelt, open_objects
from holdfast.io.versions import VersionRetries
from holdfast.log.rounds.left import holds_entries
from holdfast.log.rounds.series import PREFIX as ROUNDS
from holdfast.segment.names import parse_manifest_name
from holdfast.types import MANIFESTS, PartitionId


@dataclass(frozen=True)
class Place:
    """Opened to be looked at: nothing takes a lock."""

    objects: Objects
    wal: RealDirectory | None  # None: only what is in the store can be seen.


def open_place(place: str, store: str | None) -> Place:
    """A data directory or a store. A wrong one must not pass for a sound, empty one, and is not made."""
    if "://" in place:
        return Place(_open_store(place), None)
    if is_misspelt(place):
        raise UnknownStore(place)
    path = Path(place)
    if not path.is_dir():
        raise Rejected(f"{place} is not a directory")
    if (path / CLUSTER).exists():
        return Place(_open_store(place), None)
    objects = _open_store(chosen_store(path, store))
    return Place(objects, wal_beside(path, objects))


def _open_store(store: str) -> Objects:
    scheme, separator, _ = store.partition("://")
    if not separator or scheme == "file":
        path = Path(unquote(urlsplit(store).path) if separator else store)
        if not path.is_dir():
            raise Rejected(f"{path} is not a directory: name the store that holds the segments")
    objects = open_objects(store)
    try:
        objects.size(CLUSTER)
    except NotFound:
        raise Rejected(f"{objects.url} holds no partitions") from None
    return objects


def topic_names(objects: Objects) -> dict[UUID, str]:
    """The names of the topics. Where no broker has ever run there are none."""
    patience = VersionRetries.of_readers()
    metadata = MetadataLog(objects, read_cluster(objects), "", patience).metadata
    return {each.topic_id: each.name for each in metadata.topics.values()}


def topic_id_of(topic: str, names: Mapping[UUID, str]) -> UUID:
    """The topic that is meant by a name or an id."""
    for topic_id, name in names.items():
        if name == topic:
            return topic_id
    try:
        return UUID(topic)
    except ValueError:
        raise Rejected(f"there is no topic {topic}, and it is no topic id") from None


def find_partitions(objects: Objects, topic: UUID | None, partition: int | None) -> list[PartitionId]:
    """The partitions that have a manifest, those asked for."""
    prefix = MANIFESTS if topic is None else f"{MANIFESTS}{topic.hex}/"
    if topic is not None and partition is not None:
        prefix = PartitionId(topic, partition).manifests
    homes = sorted({home for home in _homes(objects, prefix) if partition in (None, home.partition)})
    if not homes and (topic, partition) != (None, None):
        which = " ".join(
            [*([] if topic is None else [f"topic {topic}"]), *([] if partition is None else [f"partition {partition}"])]
        )
        raise Rejected(f"{objects.url} holds no {which}")
    return homes


def _homes(objects: Objects, prefix: str) -> Iterator[PartitionId]:
    for each in objects.list(prefix):
        home = parse_manifest_name(each.name)
        if home is not None:
            yield home


def wal_beside(data: Path, objects: Objects) -> RealDirectory | None:
    """The write-ahead log of a data directory; None if there is none, or it is in the store."""
    wal = data / "wal"
    if not wal.is_dir() or (not any(wal.iterdir()) and has_rounds(objects)):
        return None
    return log_directory(wal)


def has_rounds(objects: Objects) -> bool:
    """Whether a write-ahead log is, or was, in the store."""
    return next(iter(objects.list(ROUNDS)), None) is not None


def is_all_there(objects: Objects) -> bool:
    """Whether a store is known to be all there is of its partitions, because brokers keep their log in it.

    One whose log was closed there may have another on some disk since: then its data directory has to be named.
    """
    patience = VersionRetries.of_readers()
    metadata = MetadataLog(objects, read_cluster(objects), "", patience).metadata
    return bool(metadata.lives.by_broker) or metadata.leads.is_spread or holds_entries(objects, patience)


def log_directory(path: Path) -> RealDirectory:
    """The directory, when it holds a log: a wrong path must not pass for a sound, empty log."""
    from holdfast.wal.chunks.chunk import parse_chunk_name

    directory = RealDirectory(path, create=False)
    if not any(parse_chunk_name(name) for name in directory.names()):
        raise Rejected(f"{path} holds no write-ahead log")
    return directory
