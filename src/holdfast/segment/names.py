"""The names of segments and manifests in the store.

    segments/<topic-id>/<partition>/<base:020>-<end:020>-<epoch>-<tag>.seg
    manifests/<topic-id>/<partition>/<version:020>.json
    manifests/<topic-id>/<partition>/newest.json            only a hint: where to start looking

The topic id is 32 hex digits. A tag is random, so that no name is ever used twice.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from uuid import UUID

from holdfast.io.chance import Chance
from holdfast.types import MANIFESTS, SEGMENTS, Epoch, Offset, OffsetRange, PartitionId

_HOME = r"(?P<topic>[0-9a-f]{32})/(?P<partition>[0-9]+)/"
_SEGMENT = re.compile(SEGMENTS + _HOME + r"(?P<base>[0-9]{20})-(?P<end>[0-9]{20})-(?P<epoch>[0-9]+)-[0-9a-f]+\.seg")
_MANIFEST = re.compile(MANIFESTS + _HOME + r".*")


class SegmentName(NamedTuple):
    """What a segment's name says of it."""

    home: PartitionId
    offsets: OffsetRange
    epoch: Epoch


def new_tag(chance: Chance) -> str:
    """A random piece of a name."""
    return f"{chance.bits(64):016x}"


def segment_name(home: PartitionId, base: Offset, end: Offset, epoch: Epoch, tag: str) -> str:
    """The name of one attempt to store `[base, end)`."""
    return f"{home.segments}{base:020}-{end:020}-{epoch}-{tag}.seg"


def parse_segment_name(name: str) -> SegmentName | None:
    """None for a name that is not a segment's."""
    found = _SEGMENT.fullmatch(name)
    if found is None:
        return None
    return SegmentName(_home(found), OffsetRange(int(found["base"]), int(found["end"])), Epoch(int(found["epoch"])))


def parse_manifest_name(name: str) -> PartitionId | None:
    """Whose manifest, or hint, has this name; None for a name of something else."""
    found = _MANIFEST.fullmatch(name)
    return None if found is None else _home(found)


def _home(found: re.Match[str]) -> PartitionId:
    return PartitionId(UUID(hex=found["topic"]), int(found["partition"]))


def topic_prefixes(topic_id: UUID) -> tuple[str, str]:
    """What the names of all objects of a topic start with, in the order in which they are to be deleted."""
    return f"{MANIFESTS}{topic_id.hex}/", f"{SEGMENTS}{topic_id.hex}/"
