"""The versions of the cluster's metadata in the store: `meta/<version:020>.json`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from holdfast.cluster.level import FIRST, LEVEL
from holdfast.cluster.metadata import Metadata, Step, apply
from holdfast.cluster.version_log import SharedKind, VersionLog
from holdfast.io.objects import Objects
from holdfast.io.versions import VersionRetries

PREFIX: Final = "meta/"


def _apply_all(metadata: Metadata, steps: Sequence[Step]) -> Metadata:
    for step in steps:
        metadata = apply(metadata, step)
    return metadata


FORMAT: Final = 4  # Releases that know only the third let one broker lead everything. Each level above adds one.
FORMAT_ONE_LEADER: Final = 3  # Those that know only the second know of no lives.
FORMAT_ALONE: Final = 2  # Format 1 did not say which process wrote it, nor which topics were deleted.


def _format_of(metadata: Metadata) -> int:
    if metadata.level > FIRST:
        return _format_at(metadata.level)
    if metadata.leads.is_spread:
        return FORMAT
    return FORMAT_ONE_LEADER if metadata.lives.last else FORMAT_ALONE


def _format_at(level: int) -> int:
    """Of any metadata at a level, so that releases which do not know it refuse all that is written from there on."""
    return FORMAT + level - FIRST


_KNOWN: Final = _format_at(LEVEL)
METADATA: Final = SharedKind(PREFIX, "metadata", _KNOWN, Metadata, Metadata.from_body, _apply_all, _format_of)


class MetadataLog(VersionLog[Metadata]):
    """One broker's view of the metadata."""

    def __init__(
        self, objects: Objects, cluster_id: str, writer: str, patience: VersionRetries, incarnation: str = ""
    ) -> None:
        super().__init__(METADATA, objects, cluster_id, writer, patience, incarnation)

    @property
    def metadata(self) -> Metadata:
        return self.value
