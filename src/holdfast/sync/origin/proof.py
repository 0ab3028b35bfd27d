"""Whether what was read and written before is still there: the source may have been set back to an older state and
written anew, the target may have lost records. Offsets alone do not tell, once others have written more.
"""

from __future__ import annotations

import hashlib
import struct
from typing import NamedTuple, cast

import numpy as np

from holdfast.client import Client
from holdfast.client.errors import Refused
from holdfast.protocol.codes import Code
from holdfast.record.batch import BatchHeader
from holdfast.record.columnar.columns import Column, Columns
from holdfast.record.columnar.decode import Decoder
from holdfast.record.errors import InvalidBatch
from holdfast.sync.origin.marking import NONE, OriginMarks
from holdfast.types import ClusterPartition, TopicPartition

_FETCH_SIZE = 1 << 10  # A broker gives at least one batch.
_CONTENT = Column.KEY | Column.VALUE
_DIGEST_SIZE = 8


class Seen(NamedTuple):
    """One record of the source as it was read."""

    offset: int
    digest: str


class Copy(NamedTuple):
    """One copy: where it lies in the target, and which offset of the source it has."""

    at: int
    of: int


NOTHING_SEEN = Seen(NONE, "")
NO_COPY = Copy(NONE, NONE)


def seen(columns: Columns, row: int) -> Seen:
    """What to remember of a record: time, key and value. Headers are left out, since a copy has one more."""
    assert columns.key is not None
    assert columns.value is not None
    parts = [cast("bytes | None", each[row]) for each in (columns.key, columns.value)]
    sizes = (NONE if each is None else len(each) for each in parts)
    digest = hashlib.blake2b(struct.pack(">qqq", columns.timestamp[row], *sizes), digest_size=_DIGEST_SIZE)
    for each in parts:
        digest.update(each or b"")
    return Seen(int(columns.offset[row]), digest.hexdigest())


def is_still(source: Client, where: TopicPartition, before: Seen) -> bool:
    """Whether the source has that record; one that retention or compaction has removed is not missed."""
    found = _record_at(source, where, before.offset, _CONTENT)
    return found is None or seen(*found).digest == before.digest


def is_copy(target: Client, where: TopicPartition, home: ClusterPartition, before: Copy) -> bool:
    """Whether the target has that copy, or nothing in its place any more."""
    found = _record_at(target, where, before.at, Column.HEADERS)
    if found is None:
        return True
    columns, row = found
    return int(OriginMarks.of(columns).offsets_from(home)[row]) == before.of


def same(source: Client, target: Client, where: TopicPartition, copy: Copy) -> bool:
    """Whether a copy and its original have the same content, as far as both are there."""
    found = _record_at(target, where, copy.at, _CONTENT)
    return found is None or is_still(source, where, Seen(copy.of, seen(*found).digest))


def _beside(header: BatchHeader, violation: InvalidBatch) -> None:
    """A batch that nobody can read, beside the record that is looked for or in its place: nothing to compare with."""


def _record_at(client: Client, where: TopicPartition, offset: int, columns: Column) -> tuple[Columns, int] | None:
    if offset == NONE:
        return None
    fetched = client.fetch({where: offset}, committed=False, partition_max_bytes=_FETCH_SIZE, max_wait_ms=0)[where]
    if fetched.error is not None:
        if isinstance(fetched.error, Refused) and fetched.error.code == Code.OFFSET_OUT_OF_RANGE:
            return None
        raise fetched.error
    found = Decoder(columns, place=str(where), skip=_beside).decode([fetched.records])
    rows = np.flatnonzero(found.offset == offset)
    return (found, int(rows[0])) if len(rows) else None
