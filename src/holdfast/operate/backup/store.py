"""A copy of an object store that may be written at the same time.

Rounds first, then manifests, then segments: what a round says is not needed was flushed before, and whatever a manifest
lists was stored before it, and stays for an hour after it has left the list. What is gone all the same, because the
copy took longer, shows in the check at the end.

What time it was goes along (`garbage/believed.json`): objects that are put back carry the time of the restore, by a
clock that may be wrong, and retention would go by that. Claims of owners stay behind: whoever opens the copy is the
first.

Every segment is checked as it passes. One that was misread is read again; one that is damaged is copied as it is and
said, unless the copy that is there already is sound: that one stays. Only names that a copy wrote are ever removed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from holdfast.cluster.auth_log import PREFIX as AUTH
from holdfast.cluster.identity import CLUSTER, read_cluster
from holdfast.cluster.metadata_log import PREFIX as METADATA
from holdfast.errors import Corrupt, HoldfastError, Rejected, Unavailable
from holdfast.io.believed_time import KNOWN
from holdfast.io.objects import NotFound, Objects
from holdfast.io.versions import Versions
from holdfast.log.rounds.series import PREFIX as ROUNDS
from holdfast.log.rounds.series import every_series
from holdfast.operate.place import find_partitions
from holdfast.segment.errors import NoManifest, SegmentLost
from holdfast.segment.manifest.info import SegmentInfo
from holdfast.segment.manifest.load import load_manifest
from holdfast.segment.manifest.manifest import Manifest
from holdfast.segment.missing import follow
from holdfast.segment.verify import verify
from holdfast.types import MANIFESTS, SEGMENTS, PartitionId

VERSIONS = (METADATA, AUTH)  # Small, and each a row of its own.
_AT_A_TIME = 8
_ROUNDS = 5


class StoreCopy:
    """Copies what is in one store into another, and keeps count."""

    def __init__(
        self,
        source: Objects,
        target: Objects,
        written: frozenset[str] = frozenset(),
        note: Callable[[frozenset[str]], None] = lambda _: None,
    ) -> None:
        self._source = source
        self._target = target
        self.written = written  # The names that copies have put into the target: all that may ever be removed there.
        self._note = note  # Told of every name before it is written.
        self.copied = 0
        self.size = 0
        self.damaged: dict[str, Corrupt] = {}  # By name: what is wrong at the source, and is copied as it is.

    def run(self) -> None:
        """Everything; what the target has already is not copied twice, what the source has no more goes."""
        for _ in range(_ROUNDS):
            self._copy_all([each.name for each in self._source.list(ROUNDS)], self._unless_there)
            for prefix in (*VERSIONS, MANIFESTS):
                self._copy_versions(prefix)
            self._copy_all(self._missing_segments(), self._sound)
            if not self._broken():
                break
        else:
            raise Unavailable(f"{self._source.url} changed faster than it could be copied: {self._broken()[0]}")
        self._note_lost()
        self._prune()
        self._prune_rounds()
        self._copy_all([KNOWN], self._source.get)
        self._target.put(CLUSTER, [self._source.get(CLUSTER)])  # Last: without it there is no store to be opened.

    def _copy_versions(self, prefix: str) -> None:
        """Versions are small, and a store that was set back may have others of the same name: each is compared."""
        names = [each.name for each in self._source.list(prefix) if _is_version(each.name)]
        self._copy_all(names, self._unless_there)

    def _unless_there(self, name: str) -> bytes | None:
        data = self._source.get(name)
        try:
            return None if self._target.get(name) == data else data
        except NotFound:
            return data

    def _sound(self, name: str) -> bytes | None:
        """A segment's bytes, checked against the crcs in it; None where the target's copy is the better one."""
        for _ in range(2):  # What was misread once is read again before it is called damage.
            data = self._source.get(name)
            damage = _damage_of(name, data)
            if damage is None:
                return data
        assert damage is not None
        self.damaged[name] = damage
        with contextlib.suppress(NotFound):
            if _damage_of(name, self._target.get(name)) is None:
                return None
        return data

    def _missing_segments(self) -> list[str]:
        there = {each.name: each.size for each in self._target.list(SEGMENTS)}
        return [each.name for each in self._source.list(SEGMENTS) if there.get(each.name) != each.size]

    def _copy_all(self, names: list[str], read: Callable[[str], bytes | None]) -> None:
        def copy(name: str) -> int | None:
            try:
                data = read(name)
            except NotFound:
                return None  # Collected since it was listed.
            if data is None:
                return None
            self._target.put(name, [data])
            return len(data)

        if not self.written.issuperset(names):
            self.written |= frozenset(names)
            self._note(self.written)
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

    def _note_lost(self) -> None:
        """What the source's manifests list, and neither place has."""
        for home in find_partitions(self._source, None, None):
            try:
                manifest = load_manifest(self._source, home)
            except NoManifest:
                continue  # Deleted meanwhile.
            except Corrupt as damage:
                self.damaged[home.manifests] = damage
                continue
            there = {each.name for each in self._source.list(home.segments)}
            for info in manifest.segments:
                if info.name not in there:
                    self._note_if_lost(manifest, info)

    def _note_if_lost(self, manifest: Manifest, missing: SegmentInfo) -> None:
        try:
            self._source.size(missing.name)
        except NotFound:
            with contextlib.suppress(NoManifest):  # Deleted meanwhile.
                try:
                    follow(self._source, manifest.home, missing)
                except SegmentLost as lost:
                    self.damaged[missing.name] = lost

    def _prune(self) -> None:
        """What is gone from the source for good goes here, too: otherwise a backup would grow for ever."""
        for prefix in (MANIFESTS, SEGMENTS, *VERSIONS):
            there = {each.name for each in self._source.list(prefix)}
            needed = there if prefix != SEGMENTS else there | self._listed()
            there = {each.name for each in self._target.list(prefix)}
            for name in (there & self.written) - needed:
                self._target.delete(name)
                self.written -= {name}

    def _prune_rounds(self) -> None:
        """The same for rounds, but for those that the newest ones which are here still need."""
        there = {each.name for each in self._source.list(ROUNDS)}
        for series in every_series(self._target):
            numbers = series.numbers()
            needed_from = series.header(numbers[-1]).needed_from if numbers else 0
            is_over = series.is_forgotten
            names = {series.name(number) for number in numbers if is_over or number < needed_from}
            for name in (names & self.written) - there:
                self._target.delete(name)
                self.written -= {name}

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


def _damage_of(name: str, data: bytes) -> Corrupt | None:
    try:
        verify(name, data)
    except Corrupt as damage:
        return damage
    return None


def check_free(objects: Objects, source: Objects) -> None:
    """Raise unless a store holds nothing, but for what a restore of the same backup that was broken off has left."""
    told = "restore into an empty store; what a restore that was broken off has left there may be removed"
    try:
        read_cluster(objects)
    except NotFound:
        pass
    else:
        raise Rejected(f"{objects.url} holds a cluster already: {told}")
    known = {each.name for prefix in (MANIFESTS, SEGMENTS, ROUNDS, *VERSIONS, KNOWN) for each in source.list(prefix)}
    strange = next((each.name for each in objects.list("") if each.name not in known), None)
    if strange is not None:
        raise Rejected(f"{objects.url} is not empty ({strange} is in it): {told}")
