"""The versions of one partition's manifest in the store: open the newest, commit the next.

A commit writes what changed since the last full list; every 64th writes the list itself.
"""

from __future__ import annotations

import contextlib
import math
import threading
from collections import deque
from collections.abc import Collection
from dataclasses import replace

from holdfast.errors import Unavailable
from holdfast.io.objects import NotFound, Objects
from holdfast.io.versions import GRACE_S, Below, First, Stamp, VersionRetries, Versions, full_before, take
from holdfast.segment.errors import (
    AnotherProcess,
    Damaged,
    DoesNotFit,
    HigherEpoch,
    NoManifest,
    SegmentTooOld,
    Stale,
    WrongCluster,
)
from holdfast.segment.manifest.changes import Append, Change, RaiseEpoch, Replace
from holdfast.segment.manifest.codec import Full, Steps, encode, stamp_of
from holdfast.segment.manifest.info import SegmentInfo
from holdfast.segment.manifest.load import load_newest
from holdfast.segment.manifest.manifest import AppendedSegment, Manifest, first_manifest
from holdfast.segment.names import new_tag
from holdfast.types import Epoch, Offset, PartitionId

_CONFLICTS_MAX = 16  # Only compaction and a fenced leader commit beside us; so many in a row is a fault.
_UNSURE_MAX = 64  # Appends without a clear answer that are remembered; who forgets one stops, and loses nothing.


class Contended(Unavailable):
    """Other writers took every version that was tried."""

    def __init__(self, prefix: str, tries: int) -> None:
        super().__init__(f"{prefix}: other writers took {tries} versions in a row")
        self.prefix = prefix
        self.tries = tries


class ManifestLog:
    """One writer's view of a partition's manifest. Calls block; any thread may make them; commits go one by one."""

    def __init__(
        self, versions: Versions, writer: str, patience: VersionRetries, grace_s: float = GRACE_S, incarnation: str = ""
    ) -> None:
        self._versions = versions
        self._writer = writer
        self._incarnation = incarnation
        self._patience = patience
        self._silence_s_max = grace_s / 2
        self._lock = threading.Lock()
        self._manifest: Manifest | None = None
        self._steps = Steps(Full())
        self._fresh_until = -math.inf
        self._epoch = Epoch(-1)
        self._raises: list[Manifest] = []  # Versions that raise our epoch, and may or may not have been stored.
        self._appends: deque[str] | None = None  # The nonces of versions of ours that append, and may have been stored.
        self._heir_of: Collection[str] = ()
        self._heritage_end = Offset(0)

    @classmethod
    def open(
        cls,
        objects: Objects,
        home: PartitionId,
        *,
        cluster_id: str,
        writer: str,
        patience: VersionRetries,
        first_epoch: Epoch | None = None,
        forgotten_below: int | None = None,
        grace_s: float = GRACE_S,
        incarnation: str = "",
    ) -> ManifestLog:
        """The newest manifest, to be continued in its epoch. If there is none it is made, given a `first_epoch`."""
        log = cls(Versions(objects, home.manifests), writer, patience, grace_s, incarnation)
        with log._lock:
            if not log._reload():
                if first_epoch is None:
                    raise NoManifest(home.manifests)
                stamp = log._stamp(first_epoch)
                log._create(first_manifest(home, cluster_id, first_epoch, stamp, forgotten_below))
        if log.manifest.cluster_id != cluster_id:
            raise WrongCluster(home.manifests, log.manifest.cluster_id, cluster_id)
        log._epoch = log.manifest.epoch
        return log

    def lead(self, heir_of: Collection[str] = (), heritage_end: Offset = Offset(0)) -> None:
        """From here on nobody else may append: who finds that another has, is fenced (AnotherProcess).

        Others may still compact, and let old records go. What processes in `heir_of` append up to `heritage_end` is as
        good as our own: they are gone, we have all that they had, and a put of theirs may arrive late.
        """
        self._appends = deque(maxlen=_UNSURE_MAX)
        self._heir_of, self._heritage_end = heir_of, heritage_end

    @property
    def manifest(self) -> Manifest:
        """The newest version this writer knows of."""
        assert self._manifest is not None  # `open` returns none without.
        return self._manifest

    @property
    def epoch(self) -> Epoch:
        """The epoch this writer commits in; a manifest with a higher one fences it."""
        return self._epoch

    def refresh(self) -> Manifest:
        """Look for a newer version: one request if there is none."""
        with self._lock:
            self._reload()
            return self.manifest

    def commit(self, *changes: Change) -> Manifest:
        """Apply the changes and store the result as the next version.

        A change that is applied already, because an earlier answer was lost, is not applied twice. Raises DoesNotFit,
        HigherEpoch (stop), or Unavailable: then it may or may not have been stored; commit the same again, or refresh.
        """
        with self._lock:
            before = self._epoch
            for _ in range(_CONFLICTS_MAX):
                self._catch_up(changes)
                todo = [each for each in changes if not each.is_in(self.manifest) and not self._is_raised(each, before)]
                if not todo or self._take_next(todo):
                    return self.manifest
            raise Contended(self._versions.prefix, _CONFLICTS_MAX)

    def _is_raised(self, change: Change, before: Epoch) -> bool:
        """Whether this commit has raised the epoch already, by a put that is stored but came too late to count."""
        return isinstance(change, RaiseEpoch) and before < change.epoch <= self._epoch

    def _catch_up(self, changes: tuple[Change, ...]) -> None:
        """After a silence nothing is as it was: list again, and see that the segments are still there."""
        now = self._patience.clock.boottime()
        listed = now > self._fresh_until
        if listed:
            self._reload()
        if self.manifest.epoch > self._epoch:  # Also for who was about to raise it.
            raise HigherEpoch(self._versions.name(self.manifest.version), self._epoch, self.manifest.epoch)
        for change in changes:
            if isinstance(change, Append | Replace) and not change.is_in(self.manifest):
                segments = change.segments if isinstance(change, Append) else change.new
                self._check_stored(segments, now - change.stored_at, ask=listed)

    def _check_stored(self, segments: tuple[SegmentInfo, ...], age_s: float, *, ask: bool) -> None:
        for each in segments:
            if age_s > self._silence_s_max:  # The garbage collector may be about to delete it.
                raise SegmentTooOld(each.name)
            if ask:
                try:
                    size = self._versions.objects.size(each.name)
                except NotFound:
                    raise SegmentTooOld(each.name) from None
                if size != each.size:
                    raise Damaged(each.name, f"{size} bytes are stored, {each.size} were put")

    def _take_next(self, changes: list[Change]) -> bool:
        """Try to store the next version; False if another writer has taken it."""
        try:
            made, steps = self._apply(changes)
        except DoesNotFit:
            known = self.manifest.version
            self._reload()
            if self.manifest.version == known:
                raise
            return False  # It did not fit an old version: say so only of the newest.
        started = self._patience.clock.boottime()
        if made.epoch > self._epoch:
            self._raises.append(made)
        if self._appends is not None and made.appended.nonce == made.stamp.nonce:
            self._appends.append(made.stamp.nonce)
        try:
            if self._take(made, steps):
                self._adopt(made, steps, started)
                return True
        except Stale:
            self._fresh_until = -math.inf
            return False
        except BaseException:
            self._fresh_until = -math.inf  # Whether it is stored is not known: look before the next commit.
            raise
        self._reload()
        return False

    def _apply(self, changes: list[Change]) -> tuple[Manifest, list[list[object]]]:
        manifest, steps = self.manifest, list(self._steps.steps)
        for change in changes:
            manifest = change.apply(manifest)
            step = change.step()
            steps += [] if step is None else [step]
        stamp = self._stamp(manifest.epoch)
        if manifest.flushed > self.manifest.flushed:
            manifest = replace(manifest, appended=AppendedSegment(stamp.incarnation, stamp.nonce))
        return replace(manifest, version=manifest.version + 1, stamp=stamp), steps

    def _take(self, made: Manifest, steps: list[list[object]]) -> bool:
        name = self._versions.name(made.version)
        data = [encode(made, steps, self._steps.full.after(made))]
        objects = self._versions.objects
        below: Below | First = First(self._versions, made.version)
        if self._manifest is not None:
            below = Below(self._versions.name(self._manifest.version), self._manifest.stamp.nonce)
        return take(objects, name, data, made.stamp, stamp_of, self._patience, self._fresh_until, below) is None

    def _adopt(self, made: Manifest, steps: list[list[object]], started: float) -> None:
        self._manifest = made
        self._epoch = made.epoch
        self._raises.clear()
        if self._appends is not None:
            self._appends.clear()  # Their numbers are all taken.
        self._fresh_until = started + self._silence_s_max
        full = self._steps.full.after(made)
        if full_before(made.version) == made.version:
            self._steps = Steps(full)
            if made.version:
                self._versions.leave_hint(made.version)
        else:
            self._steps = Steps(full, tuple(steps))

    def _create(self, made: Manifest) -> None:
        started = self._patience.clock.boottime()
        self._fresh_until = started + self._silence_s_max
        try:
            is_ours = self._take(made, [])
        except Stale:  # There are others already: at once above ours, or since long.
            is_ours = False
        if is_ours:
            self._adopt(made, [], started)
        elif not self._reload():
            raise Stale(self._versions.name(made.version))

    def _reload(self) -> bool:
        """Load the newest version if it is newer than ours; False if there is none at all."""
        started = self._patience.clock.boottime()
        if self._manifest is None:
            loaded = load_newest(self._versions)
        else:
            mine = self._manifest.version
            loaded = load_newest(self._versions, mine, (full_before(mine), self._steps.full))
        if loaded is not None:
            self._check_appended(loaded[0])
            self._manifest, self._steps = loaded
            self._settle_raises()
        self._fresh_until = started + self._silence_s_max
        return self._manifest is not None

    def _check_appended(self, found: Manifest) -> None:
        """Nobody but us has moved `flushed`, or we are not the writer any more, whatever our epoch."""
        if self._appends is None or found.appended == self.manifest.appended:
            return
        by, nonce = found.appended
        if nonce not in self._appends and not (by in self._heir_of and found.flushed <= self._heritage_end):
            name = self._versions.name(found.version)
            if found.epoch > self._epoch:
                raise HigherEpoch(name, self._epoch, found.epoch)
            raise AnotherProcess(name, found.epoch, found.flushed)
        self._appends.clear()  # Their numbers are all taken.

    def _settle_raises(self) -> None:
        """Whoever raised the epoch must not be fenced by it, though the answer was lost."""
        while self._raises and self._raises[0].version <= self.manifest.version:
            made = self._raises[0]
            name = self._versions.name(made.version)
            with contextlib.suppress(NotFound):
                if stamp_of(name, self._versions.objects.get(name)) == made.stamp:
                    self._epoch = made.epoch
            del self._raises[0]

    def _stamp(self, epoch: Epoch) -> Stamp:
        nonce = new_tag(self._patience.chance) + new_tag(self._patience.chance)
        return Stamp(epoch, self._writer, nonce, self._incarnation)
