"""A partition's manifest in the model: the numbered versions of what is flushed, with the epochs of their writers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from holdfast.cluster.version_log import SharedKind, Step, VersionLog
from holdfast.errors import Rejected
from holdfast.io.objects import Objects
from holdfast.io.versions import VersionRetries


@dataclass(frozen=True)
class Flushed:
    """All values of a partition up to some offset."""

    cluster_id: str
    version: int = -1
    values: tuple[int, ...] = ()

    def to_body(self) -> dict[str, Any]:
        return {"values": list(self.values)}


def _from_body(cluster_id: str, version: int, body: dict[str, Any]) -> Flushed:
    return Flushed(cluster_id, version, tuple(body["values"]))


def _apply(before: Flushed, steps: Sequence[Step]) -> Flushed:
    for start, values in steps:
        if start != len(before.values):
            raise Rejected(f"values from {start} on do not go on at {len(before.values)}")
        before = replace(before, values=(*before.values, *values))
    return before


def open_flushed(objects: Objects, partition: int, patience: VersionRetries) -> VersionLog[Flushed]:
    kind = SharedKind(f"manifests/{partition}/", "flushed", 1, Flushed, _from_body, _apply)
    return VersionLog(kind, objects, "c", "w", patience)
