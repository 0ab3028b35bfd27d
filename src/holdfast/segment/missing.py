"""A segment that a manifest listed is not in the store: expired, replaced, or lost. The one rule, for all who read.

expired    its offsets are below log start by now       skip them, count them, say so
replaced   compaction wrote others for them             read those
lost       the newest manifest still lists it           corrupt: `SegmentLost`
"""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.io.objects import Objects
from holdfast.segment.errors import SegmentLost
from holdfast.segment.manifest.info import SegmentInfo
from holdfast.segment.manifest.load import load_manifest
from holdfast.segment.manifest.manifest import Manifest
from holdfast.types import Offset, PartitionId


@dataclass(frozen=True)
class Expired:
    """The offsets are below log start: skip them, count them, say so."""

    log_start: Offset


@dataclass(frozen=True)
class Replaced:
    """Compaction wrote others for the same offsets: read these."""

    segments: tuple[SegmentInfo, ...]


def judge(missing: SegmentInfo, newest: Manifest) -> Expired | Replaced:
    """What to do about a segment that is not in the store, given the manifest loaded after that was noticed."""
    if missing.end <= newest.log_start:
        return Expired(newest.log_start)
    listed = newest.segments.between(max(missing.base, newest.log_start), missing.end)
    if not listed or any(each.name == missing.name for each in listed) or listed[-1].end < missing.end:
        raise SegmentLost(missing.name, newest.version)
    return Replaced(listed)


@dataclass(frozen=True)
class Instead:
    """What stands in the place of a segment that is gone, and the manifest that says so."""

    manifest: Manifest
    segments: tuple[SegmentInfo, ...]  # None: all of it has expired.

    def expired(self, start: int, end: int) -> tuple[int, int]:
        """Those of its offsets `[start, end)` that retention took; they come first."""
        return start, max(start, min(end, self.manifest.log_start))


def follow(objects: Objects, home: PartitionId, missing: SegmentInfo) -> Instead:
    """Ask the store what became of a segment that was not in it. Raises SegmentLost, or NoManifest of a topic that is
    deleted; what is named here may be gone in its turn, and is then followed again."""
    newest = load_manifest(objects, home)
    after = judge(missing, newest)
    return Instead(newest, after.segments if isinstance(after, Replaced) else ())
