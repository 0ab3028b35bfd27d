"""The names of segments and manifests in the store.

    segments/<topic-id>/<partition>/<base:020>-<end:020>-<epoch>-<tag>.seg
    manifests/<topic-id>/<partition>/<version:020>.json
    manifests/<topic-id>/<partition>/newest.json            only a hint: where to start looking

The topic id is 32 hex digits. A tag is random, so that no name is ever used twice.
"""

from __future__ import annotations

from uuid import UUID

from holdfast.io.chance import Chance
from holdfast.types import MANIFESTS, SEGMENTS, Epoch, Offset, PartitionId


def new_tag(chance: Chance) -> str:
    """A random piece of a name."""
    return f"{chance.bits(64):016x}"


def segment_name(home: PartitionId, base: Offset, end: Offset, epoch: Epoch, tag: str) -> str:
    """The name of one attempt to store `[base, end)`."""
    return f"{home.segments}{base:020}-{end:020}-{epoch}-{tag}.seg"


def topic_prefixes(topic_id: UUID) -> tuple[str, str]:
    """What the names of all objects of a topic start with, in the order in which they are to be deleted."""
    return f"{MANIFESTS}{topic_id.hex}/", f"{SEGMENTS}{topic_id.hex}/"
