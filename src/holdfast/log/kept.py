"""What the write-ahead log keeps besides its entries: whose it is, how far the store has come, what is set aside.

It is the log's user data, so that it is in the head of every chunk, and as durable as the entries:

    {"version":2,"cluster":…,"broker":…,"generation":…,
     "flushed":{"<topic id>":{"<partition>":<offset>}},
     "aside":{"<topic id>":{"<partition>":[<start>,<end>,"<file>"]}}}

Version 1 had neither `flushed` nor `aside`. `flushed` is saved before entries are purged: a store whose manifest is
below it has lost what the purged entries held, which nothing else could tell of a partition without a tail.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

from holdfast.errors import Corrupt
from holdfast.segment.names import PartitionId
from holdfast.wal import NewerFormat, Wal

VERSION = 2

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Identity:
    """Whose write-ahead log this is."""

    cluster: str
    broker: str
    generation: int  # Rises with every unclean open; leader epochs follow it.


class Aside(NamedTuple):
    """Records of one partition that left the write-ahead log for a file in quarantine."""

    start: int
    end: int
    file: str


@dataclass(frozen=True, slots=True)
class Kept:
    """The user data of a write-ahead log."""

    identity: Identity
    flushed: Mapping[PartitionId, int] = field(default_factory=dict)  # Below this the store had everything.
    aside: Mapping[PartitionId, Aside] = field(default_factory=dict)

    def encode(self) -> bytes:
        identity = self.identity
        body = {
            "version": VERSION,
            "cluster": identity.cluster,
            "broker": identity.broker,
            "generation": identity.generation,
            "flushed": _by_topic(self.flushed),
            "aside": _by_topic(self.aside),
        }
        return json.dumps(body, separators=(",", ":")).encode()

    def of_generation(self, generation: int) -> Kept:
        return replace(self, identity=replace(self.identity, generation=generation))


def decode(data: bytes) -> Kept:
    try:
        body = json.loads(data)
        version = int(body["version"])
        if version <= VERSION:
            identity = Identity(str(body["cluster"]), str(body["broker"]), int(body["generation"]))
            flushed = {home: int(offset) for home, offset in _by_home(body.get("flushed", {})).items()}
            aside = {home: Aside(*row) for home, row in _by_home(body.get("aside", {})).items()}
            return Kept(identity, flushed, aside)
    except (ValueError, TypeError, KeyError, AttributeError) as failure:
        raise Corrupt(f"the write-ahead log does not say whose it is: {failure!r}") from failure
    raise NewerFormat("the write-ahead log's user data", version, VERSION)


def read_kept(wal: Wal) -> Kept | None:
    """None when the log is new."""
    return decode(wal.state.user_data) if wal.state.user_data else None


def save_kept(wal: Wal, kept: Kept) -> Kept:
    """Blocks until it is durable."""
    wal.save_user_data(kept.encode())
    wal.sync()
    return kept


def _by_topic(values: Mapping[PartitionId, T]) -> dict[str, dict[str, T]]:
    found: dict[str, dict[str, T]] = {}
    for home, value in values.items():
        found.setdefault(home.topic_id.hex, {})[str(home.partition)] = value
    return found


def _by_home(values: Mapping[str, Mapping[str, Any]]) -> dict[PartitionId, Any]:
    return {
        PartitionId(UUID(hex=topic_id), int(partition)): value
        for topic_id, partitions in values.items()
        for partition, value in partitions.items()
    }
