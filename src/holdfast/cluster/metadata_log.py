"""The versions of the cluster's metadata in the store: open the newest, commit the next.

    meta/<version:020>.json      every 64th carries everything, all others every step since such a one

The rule of put-if-absent is that of manifests, in one function: `io.versions.take`.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

from holdfast.cluster.metadata import Metadata, Step, apply
from holdfast.errors import HoldfastError, Rejected, Unavailable
from holdfast.io.envelope import seal, unseal
from holdfast.io.objects import Objects
from holdfast.io.store_errors import Damaged, Stale
from holdfast.io.versions import GRACE_S, Below, First, Stamp, VersionRetries, Versions, full_before, take

PREFIX = "meta/"
KIND = "metadata"
FORMAT = 2  # 1 did not say which process wrote it, nor which topics were deleted.

_CONFLICTS_MAX = 16


class MetadataLog:
    """One broker's view of the metadata. Calls block; any thread may make them; commits go one by one."""

    def __init__(
        self, objects: Objects, cluster_id: str, writer: str, patience: VersionRetries, incarnation: str = ""
    ) -> None:
        self._versions = Versions(objects, PREFIX)
        self.url = objects.url
        self._writer = writer
        self._incarnation = incarnation
        self._nonce = ""  # Of the newest version that we know.
        self._patience = patience
        self._lock = threading.Lock()
        self._fresh_until = 0.0
        self._full = Metadata(cluster_id)
        self._steps: list[Step] = []
        self.metadata = Metadata(cluster_id)
        with self._lock:
            self._reload()

    def refresh(self) -> Metadata:
        """Look for a newer version."""
        with self._lock:
            self._reload()
            return self.metadata

    def commit(self, *steps: Step) -> Metadata:
        """Apply the steps and store the result as the next version. All of them, or none.

        Raises what a step that does not fit raises, or Unavailable: then it may or may not have been stored.
        """
        with self._lock:
            for _ in range(_CONFLICTS_MAX):
                if self._patience.clock.boottime() > self._fresh_until:
                    self._reload()
                if self._take_next(steps):
                    return self.metadata
                self._reload()
        raise Unavailable(f"other writers took {_CONFLICTS_MAX} versions of the metadata in a row")

    def _take_next(self, steps: tuple[Step, ...]) -> bool:
        made = self.metadata
        for step in steps:
            made = apply(made, step)
        made = replace(made, version=made.version + 1)
        all_steps = [*self._steps, *steps]
        stamp = Stamp(0, self._writer, f"{self._patience.chance.bits(128):032x}", self._incarnation)
        started = self._patience.clock.boottime()
        name = self._versions.name(made.version)
        data = [encode(made, all_steps, stamp)]
        below: Below | First = First(self._versions, 0)
        if made.version:
            below = Below(self._versions.name(made.version - 1), self._nonce)
        objects = self._versions.objects
        try:
            if take(objects, name, data, stamp, _stamp_of, self._patience, self._fresh_until, below) is not None:
                return False
        except Stale:
            return False
        self.metadata, self._nonce = made, stamp.nonce
        self._fresh_until = started + GRACE_S / 2
        if full_before(made.version) == made.version:
            self._full, self._steps = made, []
            self._versions.leave_hint(made.version)
        else:
            self._steps = all_steps
        return True

    def _reload(self) -> None:
        started = self._patience.clock.boottime()
        known = self.metadata.version
        newest = self._versions.newest(known if known >= 0 else None)
        if newest is not None and newest > known:
            self._load(newest)
        self._fresh_until = started + GRACE_S / 2

    def _load(self, number: int) -> None:
        full_number = full_before(number)
        if full_number != self._full.version:
            body = self._get(full_number)
            self._full = Metadata.from_body(self.metadata.cluster_id, full_number, body["full"])
        newest = self._get(number)
        steps: list[Step] = [] if number == full_number else newest["steps"]
        nonce: str = newest["nonce"]
        made = self._full
        try:
            for step in steps:
                made = apply(made, step)
        except (HoldfastError, KeyError, TypeError, ValueError) as failure:
            raise Damaged(self._versions.name(number), f"its steps do not fit: {failure!r}") from failure
        self.metadata, self._steps, self._nonce = replace(made, version=number), steps, nonce

    def _get(self, number: int) -> dict[str, Any]:
        name = self._versions.name(number)
        try:
            body = unseal(name, KIND, FORMAT, self._versions.objects.get(name))
        except Damaged:  # What was misread once is no damage.
            body = unseal(name, KIND, FORMAT, self._versions.objects.get(name))
        if body["cluster"] != self.metadata.cluster_id:
            raise Rejected(f"{name} belongs to cluster {body['cluster']}, not to {self.metadata.cluster_id}")
        return body


def encode(metadata: Metadata, steps: list[Step], stamp: Stamp) -> bytes:
    body: dict[str, Any] = {
        "version": metadata.version,
        "cluster": metadata.cluster_id,
        "epoch": stamp.epoch,
        "writer": stamp.writer,
        "nonce": stamp.nonce,
        "incarnation": stamp.incarnation,
    }
    if full_before(metadata.version) == metadata.version:
        body["full"] = metadata.to_body()
    else:
        body["steps"] = steps
    return seal(KIND, FORMAT, body)


def _stamp_of(name: str, data: bytes) -> Stamp:
    body = unseal(name, KIND, FORMAT, data)
    return Stamp(body["epoch"], body["writer"], body["nonce"], body.get("incarnation", ""))
