"""The markers that end transactions: control batches of one record, which only the broker writes.

key = | version i16 | kind i16 |    value = | version i16 | coordinator epoch i32 |
"""

from __future__ import annotations

import enum
import struct
from typing import NamedTuple

from holdfast.record.batch import read_header
from holdfast.record.build import build
from holdfast.record.errors import InvalidRecord
from holdfast.record.records import Record, read_records

_KEY = struct.Struct(">hh")
_VALUE = struct.Struct(">hi")
_VERSION = 0


class MarkerKind(enum.IntEnum):
    """How a transaction ended."""

    ABORT = 0
    COMMIT = 1


class Marker(NamedTuple):
    """The end of one producer's transaction in one partition."""

    kind: int  # A `MarkerKind`, or a kind that some later version defined: skip it.
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    timestamp: int


def build_marker(marker: Marker, *, base_offset: int = 0, leader_epoch: int = -1) -> bytearray:
    """The control batch of a marker."""
    key = _KEY.pack(_VERSION, marker.kind)
    value = _VALUE.pack(_VERSION, marker.coordinator_epoch)
    return build(
        [Record(key, value, marker.timestamp)],
        base_offset=base_offset,
        leader_epoch=leader_epoch,
        transactional=True,
        control=True,
        producer_id=marker.producer_id,
        producer_epoch=marker.producer_epoch,
    )


def read_marker(batch: memoryview) -> Marker:
    """The marker that a control batch holds. Later versions may add fields after those known here."""
    header = read_header(batch)
    record = next(read_records(batch), Record())
    try:
        _, kind = _KEY.unpack_from(record.key or b"")
        _, coordinator_epoch = _VALUE.unpack_from(record.value or b"")
    except struct.error as failure:
        raise InvalidRecord(header.base_offset, 0, 0, f"this is no marker: {failure}") from failure
    return Marker(kind, header.producer_id, header.producer_epoch, coordinator_epoch, record.timestamp)
