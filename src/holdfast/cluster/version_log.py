"""What a cluster shares as one frozen value, in numbered versions in the store: open the newest, commit the next.

    <prefix><version:020>.json      every 64th carries everything, all others every step since such a one

The metadata is one such value (`meta/`), users and rules are another (`auth/`). The rule of put-if-absent is that of
manifests, in one function: `io.versions.take`.

The owner of the store leads: it puts a version of an epoch of its own before it serves anybody (`lead`). Whoever was
the owner before, and goes on after a sleep, finds its number taken by a higher epoch, and changes nothing any more.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

from holdfast.errors import HoldfastError, Rejected, Unavailable
from holdfast.io.envelope import seal, unseal
from holdfast.io.objects import NotFound, Objects
from holdfast.io.store_errors import Damaged, HigherEpoch, Stale, StoreSetBack
from holdfast.io.versions import GRACE_S, Below, First, Stamp, VersionRetries, Versions, full_before, read_again, take

Step = list[Any]

_CONFLICTS_MAX = 16


class Shared(Protocol):
    """A value that a cluster shares; frozen, a dataclass."""

    @property
    def cluster_id(self) -> str: ...

    @property
    def version(self) -> int:
        """-1: nothing was written yet."""

    def to_body(self) -> dict[str, Any]: ...


V = TypeVar("V", bound=Shared)


@dataclass(frozen=True)
class SharedKind(Generic[V]):
    """How a value is named, made and changed."""

    prefix: str
    kind: str  # In the envelope.
    format: int
    empty: Callable[[str], V]  # Of a cluster's id.
    from_body: Callable[[str, int, dict[str, Any]], V]
    apply: Callable[[V, Sequence[Step]], V]  # Raises when a step does not fit.
    format_of: Callable[[V], int] | None = None  # An earlier one that will do for a value, if there is one.

    def encode(self, value: V, steps: Sequence[Step], stamp: Stamp) -> bytes:
        body: dict[str, Any] = {
            "version": value.version,
            "cluster": value.cluster_id,
            "epoch": stamp.epoch,
            "writer": stamp.writer,
            "nonce": stamp.nonce,
            "incarnation": stamp.incarnation,
        }
        if full_before(value.version) == value.version:
            body["full"] = value.to_body()
        else:
            body["steps"] = steps
        return seal(self.kind, self.format if self.format_of is None else self.format_of(value), body)

    def decode(self, name: str, cluster_id: str, data: bytes) -> dict[str, Any]:
        body = unseal(name, self.kind, self.format, data)
        if body["cluster"] != cluster_id:
            raise Rejected(f"{name} belongs to cluster {body['cluster']}, not to {cluster_id}")
        return body

    def stamp_of(self, name: str, data: bytes) -> Stamp:
        body = unseal(name, self.kind, self.format, data)
        return Stamp(body["epoch"], body["writer"], body["nonce"], body.get("incarnation", ""))

    def numbered(self, value: V, version: int) -> V:
        numbered: V = replace(value, version=version)  # type: ignore[type-var]  # It is a dataclass.
        return numbered


class VersionLog(Generic[V]):
    """One process's view of a shared value. Calls block; any thread may make them; commits go one by one."""

    def __init__(
        self,
        kind: SharedKind[V],
        objects: Objects,
        cluster_id: str,
        writer: str,
        patience: VersionRetries,
        incarnation: str = "",
    ) -> None:
        self._kind = kind
        self._versions = Versions(objects, kind.prefix)
        self.url = objects.url
        self._writer = writer
        self._incarnation = incarnation
        self._nonce, self._newest_epoch = "", 0  # Of the newest version that we know.
        self._epoch: int | None = None  # In which we lead.
        self._patience = patience
        self._lock = threading.Lock()
        self._fresh_until = 0.0
        self._set_back: StoreSetBack | None = None
        self.seen_at = patience.clock.boottime()  # There was none newer then.
        self._full = kind.empty(cluster_id)
        self._steps: list[Step] = []
        self.value = kind.empty(cluster_id)
        with self._lock:
            self._reload()

    @property
    def kind(self) -> str:
        """What it is, for people."""
        return self._kind.kind

    def refresh(self) -> V:
        """Look for a newer version. One read, if there is none."""
        began = self._patience.clock.boottime()
        with self._lock:
            if not self._is_newest():
                self._reload()
            self.seen_at = began
            return self.value

    def _is_newest(self) -> bool:
        """Whether the number above ours is free. Only a listing tells when it may have been used and deleted."""
        started = self._patience.clock.boottime()
        if self.value.version < 0 or started > self._fresh_until:
            return False
        try:
            self._versions.objects.get(self._versions.name(self.value.version + 1), 0, 1)
        except NotFound:
            if self._patience.clock.boottime() > self._fresh_until:
                return False
            self._fresh_until = started + GRACE_S / 2
            return True
        return False

    def check_not_set_back(self) -> None:
        """Raise StoreSetBack if the store has neither the version that we know nor a later one, and commit nothing more
        here. One read, mostly.

        A store that is put back under us goes on to take what we write, behind a hole that nobody can read over.
        """
        known = self.value.version
        if known < 0:
            return
        try:
            self._versions.objects.get(self._versions.name(known), 0, 1)
        except NotFound:
            newest = self._versions.newest()  # It may be collected, once there are later ones.
            if newest is None or newest < known:
                self._set_back = StoreSetBack(self.url, self.kind, known, newest)
                raise self._set_back from None

    def lead(self) -> bool:
        """Begin an epoch of our own above the newest version that we know; False if another has just put one.

        Only for who was the owner after that version was read: then nobody who came later has written it. Who hears
        False refreshes, looks whether it still is the owner, and tries again.
        """
        with self._lock:
            self._epoch = self._newest_epoch + 1
            is_ours = False
            with contextlib.suppress(HigherEpoch):
                is_ours = self._take_next(())
            self._epoch = self._epoch if is_ours else None
            return is_ours

    def commit(self, *steps: Step) -> V:
        """Apply the steps and store the result as the next version. All of them, or none.

        Raises HigherEpoch (stop) when another leads, what a step that does not fit raises, or Unavailable:
        then it may or may not have been stored.
        """
        with self._lock:
            for _ in range(_CONFLICTS_MAX):
                if self._patience.clock.boottime() > self._fresh_until:
                    self._reload()
                known = self.value.version
                try:
                    if self._take_next(steps):
                        return self.value
                    self._reload()
                except HigherEpoch:
                    if self._epoch is not None:
                        raise
                    self._reload()  # Who does not lead follows whoever does.
                except Rejected:  # By what we know; somebody may have made it fit meanwhile.
                    self._reload()
                    if self.value.version == known:
                        raise
        raise Unavailable(f"other writers took {_CONFLICTS_MAX} versions of the {self._kind.kind} in a row")

    def _take_next(self, steps: tuple[Step, ...]) -> bool:
        if self._set_back is not None:
            raise self._set_back  # Our next version would bring back what the older state does not have.
        made = self._kind.apply(self.value, steps)
        made = self._kind.numbered(made, made.version + 1)
        all_steps = [*self._steps, *steps]
        epoch = self._newest_epoch if self._epoch is None else self._epoch
        stamp = Stamp(epoch, self._writer, f"{self._patience.chance.bits(128):032x}", self._incarnation)
        started = self._patience.clock.boottime()
        name = self._versions.name(made.version)
        data = [self._kind.encode(made, all_steps, stamp)]
        below: Below | First = First(self._versions, 0)
        if made.version:
            below = Below(self._versions.name(made.version - 1), self._nonce)
        objects, stamp_of = self._versions.objects, self._kind.stamp_of
        try:
            if take(objects, name, data, stamp, stamp_of, self._patience, self._fresh_until, below) is not None:
                return False
        except Stale:
            return False
        self.value, self._nonce, self._newest_epoch = made, stamp.nonce, epoch
        self._fresh_until = started + GRACE_S / 2
        if full_before(made.version) == made.version:
            self._full, self._steps = made, []
            self._versions.leave_hint(made.version)
        else:
            self._steps = all_steps
        return True

    def _reload(self) -> None:
        started = self._patience.clock.boottime()
        known = self.value.version
        newest = self._versions.newest(known if known >= 0 else None)
        if newest is not None and newest > known:
            self._load(newest)
        self._fresh_until = started + GRACE_S / 2

    def _load(self, number: int) -> None:
        full_number = full_before(number)
        if full_number != self._full.version:
            body = self._get(full_number)
            self._full = self._kind.from_body(self.value.cluster_id, full_number, body["full"])
        newest = self._get(number)
        steps: list[Step] = [] if number == full_number else newest["steps"]
        nonce, epoch = str(newest["nonce"]), int(newest["epoch"])
        if self._epoch is not None and epoch > self._epoch:
            raise HigherEpoch(self._versions.name(number), self._epoch, epoch)
        try:
            made = self._kind.apply(self._full, steps)
        except (HoldfastError, KeyError, TypeError, ValueError) as failure:
            raise Damaged(self._versions.name(number), f"its steps do not fit: {failure!r}") from failure
        self.value, self._steps = self._kind.numbered(made, number), steps
        self._nonce, self._newest_epoch = nonce, epoch

    def _get(self, number: int) -> dict[str, Any]:
        name, cluster = self._versions.name(number), self.value.cluster_id
        return read_again(lambda: self._kind.decode(name, cluster, self._versions.objects.get(name)))


def load_version(kind: SharedKind[V], versions: Versions, number: int, cluster_id: str) -> V:
    """One version, as it stands: for those who look after a cluster. Raises NotFound, Corrupt, LookupError, …"""
    full_number = full_before(number)
    bodies = {each: _decoded(kind, versions, each, cluster_id) for each in {full_number, number}}
    value = kind.from_body(cluster_id, full_number, bodies[full_number]["full"])
    steps = [] if number == full_number else bodies[number]["steps"]
    return kind.numbered(kind.apply(value, steps), number)


def _decoded(kind: SharedKind[V], versions: Versions, number: int, cluster_id: str) -> dict[str, Any]:
    name = versions.name(number)
    return kind.decode(name, cluster_id, versions.objects.get(name))
