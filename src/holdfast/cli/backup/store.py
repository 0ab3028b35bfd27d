"""A copy of an object store that may be written at the same time.

Manifests first, segments after them: whatever a manifest lists was stored before it, and stays for an hour after it
has left the list. What is gone all the same, because the copy took longer, shows in the check at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from holdfast.cli.log.place import cluster_of, find_partitions
from holdfast.errors import Corrupt, HoldfastError, Unavailable
from holdfast.io.objects import NotFound, Objects
from holdfast.io.versions import Versions
from holdfast.log.identify import CLUSTER
from holdfast.segment.errors import NoManifest
from holdfast.segment.manifest_load import load_manifest
from holdfast.segment.names import MANIFESTS, SEGMENTS, PartitionId

METADATA = "meta/"
_AT_A_TIME = 8
_ROUNDS = 5


class StoreCopy:
    """Copies what is in one store into another, and keeps count."""

    def __init__(self, source: Objects, target: Objects) -> None:
        self._source = source
        self._target = target
        self.copied = 0
        self.size = 0

    def run(self) -> None:
        """Everything; what the target has already is not copied twice, what the source has no more goes."""
        for _ in range(_ROUNDS):
            self._copy_versions(METADATA)
            self._copy_versions(MANIFESTS)
            self._copy_all(self._missing_segments())
            if not self._broken():
                break
        else:
            raise Unavailable(f"{self._source.url} changed faster than it could be copied: {self._broken()[0]}")
        self._prune()
        self._target.put(CLUSTER, [self._source.get(CLUSTER)])  # Last: without it there is no store to be opened.

    def _copy_versions(self, prefix: str) -> None:
        """Versions are small, and a store that was set back may have others of the same name: each is compared."""
        names = [each.name for each in self._source.list(prefix) if _is_version(each.name)]
        self._copy_all(names, same=lambda name, data: self._has(name, data))

    def _has(self, name: str, data: bytes) -> bool:
        try:
            return self._target.get(name) == data
        except NotFound:
            return False

    def _missing_segments(self) -> list[str]:
        there = {each.name: each.size for each in self._target.list(SEGMENTS)}
        return [each.name for each in self._source.list(SEGMENTS) if there.get(each.name) != each.size]

    def _copy_all(self, names: Iterable[str], same: Callable[[str, bytes], bool] = lambda *_: False) -> None:
        def copy(name: str) -> int | None:
            try:
                data = self._source.get(name)
            except NotFound:
                return None  # Collected since it was listed.
            if same(name, data):
                return None
            self._target.put(name, [data])
            return len(data)

        with ThreadPoolExecutor(_AT_A_TIME) as threads:
            for size in threads.map(copy, names):
                if size is not None:
                    self.copied += 1
                    self.size += size

    def _broken(self) -> list[str]:
        """What is missing for the target's newest manifests to be whole."""
        sizes = {each.name: each.size for each in self._target.list(SEGMENTS)}
        problems = []
        for home in find_partitions(self._target, None, None):
            try:
                manifest = load_manifest(self._target, home)
            except (Corrupt, NoManifest) as failure:
                if self._is_sound_at_source(home):
                    problems.append(str(failure))
                continue
            lacking = [each.name for each in manifest.segments if sizes.get(each.name) != each.size]
            if lacking and self._is_sound_at_source(home):
                problems.append(f"{lacking[0]} is missing")
        return problems

    def _is_sound_at_source(self, home: PartitionId) -> bool:
        """What is damaged or lost in the source is copied as it is: a backup is no repair."""
        try:
            manifest = load_manifest(self._source, home)
            for each in manifest.segments:
                self._source.size(each.name)
        except HoldfastError:
            return False
        return True

    def _prune(self) -> None:
        """What is gone from the source for good goes here, too: otherwise a backup would grow for ever."""
        for prefix in (MANIFESTS, SEGMENTS, METADATA):
            there = {each.name for each in self._source.list(prefix)}
            needed = there if prefix != SEGMENTS else there | self._listed()
            for name in [each.name for each in self._target.list(prefix) if each.name not in needed]:
                self._target.delete(name)

    def _listed(self) -> set[str]:
        found: set[str] = set()
        for home in find_partitions(self._target, None, None):
            try:
                found |= {each.name for each in load_manifest(self._target, home).segments}
            except (Corrupt, NoManifest):
                continue
        return found


def _is_version(name: str) -> bool:
    folder, _, _ = name.rpartition("/")
    return Versions(None, folder + "/").number(name) is not None  # type: ignore[arg-type]  # It only looks at names.


def is_empty(objects: Objects) -> bool:
    """Whether no cluster lives in a store yet."""
    try:
        cluster_of(objects)
    except NotFound:
        return True
    return False
