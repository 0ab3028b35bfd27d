"""A produce request with one batch for one partition, as nearly all are: read and checked in one go by machine code.

It does what `protocol.header`, `protocol.hot.produce`, `record.batch` and `record.validate` do one after the other.
What has another form, and all that breaks a rule, is left to them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from holdfast.native import kernels
from holdfast.protocol.header import RequestHeader
from holdfast.protocol.hot.produce import ProducePartition, ProduceRequest, ProduceTopic
from holdfast.record.batch import BatchHeader
from holdfast.record.validate import Records

# The request, its batch's header, and what is known of the records: None if they are compressed.
OneBatch: TypeAlias = tuple[RequestHeader, ProduceRequest, BatchHeader, Records | None]


def _none(_frame: memoryview) -> OneBatch | None:
    return None


def _native() -> Callable[[memoryview], OneBatch | None]:
    if kernels is None:
        return _none
    kernels.name_types(RequestHeader, ProduceRequest, ProduceTopic, ProducePartition, BatchHeader, Records)
    decode: Callable[[memoryview], OneBatch | None] = kernels.decode_one
    return decode


decode_one: Final = _native()
