"""One partition: offsets, acks, the tail in memory, flushes into segments, reads, retention, producer state.

`Logs` holds all partitions of one broker over one write-ahead log and one object store. What a program of its own needs
beside it can be imported from here, too; the guide is `docs/guides/log-library.md`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.face import face

if TYPE_CHECKING:
    from holdfast.io.disk import RealDirectory
    from holdfast.io.objects.open import open_objects
    from holdfast.log.logs import Logs
    from holdfast.log.partition.partition import PartitionLog
    from holdfast.record.build import build
    from holdfast.record.records import Record, read_records
    from holdfast.types import PartitionId

__all__ = [
    "Logs",
    "PartitionId",
    "PartitionLog",
    "RealDirectory",
    "Record",
    "build",
    "open_objects",
    "read_records",
]

__getattr__ = face(
    __name__,
    {
        "Logs": "holdfast.log.logs",
        "PartitionId": "holdfast.types",
        "PartitionLog": "holdfast.log.partition.partition",
        "RealDirectory": "holdfast.io.disk",
        "Record": "holdfast.record.records",
        "build": "holdfast.record.build",
        "open_objects": "holdfast.io.objects.open",
        "read_records": "holdfast.record.records",
    },
)
