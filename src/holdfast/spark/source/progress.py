"""How far a stream has come: what stands in Spark's checkpoint.

    {"orders": {"id": "<topic id>", "partitions": {"0": {"offset": 17, "epoch": 3}}}}

`offset` is the next one to be read. `epoch` is the leader epoch in which the log had come so far: where a later one
begins below the offset, the log was cut there and written on differently. The id tells a topic from another one of the
same name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID

from holdfast.errors import Rejected
from holdfast.segment.manifest.manifest import Manifest
from holdfast.types import PartitionId, TopicPartition


class Reached(NamedTuple):
    """How far one partition was read."""

    home: PartitionId
    offset: int
    epoch: int


Progress: TypeAlias = Mapping[TopicPartition, Reached]


def to_json(progress: Progress) -> dict[str, Any]:
    """Always in the same order: Spark takes two offsets for the same if their text is."""
    document: dict[str, Any] = {}
    for where, each in sorted(progress.items()):
        topic = document.setdefault(where.topic, {"id": each.home.topic_id.hex, "partitions": {}})
        topic["partitions"][str(where.partition)] = {"offset": each.offset, "epoch": each.epoch}
    return document


def from_json(document: Mapping[str, Any]) -> dict[TopicPartition, Reached]:
    """The inverse of `to_json`."""
    try:
        return {
            TopicPartition(topic, int(number)): Reached(
                PartitionId(UUID(hex=content["id"]), int(number)), each["offset"], each["epoch"]
            )
            for topic, content in document.items()
            for number, each in content["partitions"].items()
        }
    except (KeyError, TypeError, ValueError, AttributeError) as failure:
        raise Rejected(
            f"the checkpoint holds no offsets of this source ({failure!r}): use another checkpoint"
        ) from None


def end_of_epoch(manifest: Manifest, epoch: int) -> int | None:
    """Where a leader epoch ended: where the next one began. None while it goes on."""
    return next((int(each.start) for each in manifest.epochs if each.epoch > epoch), None)
