"""How the batches of a produce request are looked at: on the event loop as long as that is quick, or in a thread."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple, TypeAlias

from holdfast.io.clock import Clock
from holdfast.log.partition.partition import PartitionLog
from holdfast.record.batch import BatchHeader
from holdfast.record.recompress import recompress
from holdfast.record.validate import Records, Validator, validate

_QUICK_S = 0.002  # So long all batches of a request may be looked at on the event loop, one after the other.


class Looked(NamedTuple):
    """A batch, and what is known of its records; nothing if nobody has looked."""

    header: BatchHeader
    batch: memoryview
    records: Records | None


class Sound(NamedTuple):
    """What is to be appended to one partition."""

    partition: PartitionLog
    batches: list[tuple[BatchHeader, memoryview]]


def look(partition: PartitionLog, records: memoryview) -> list[Looked]:
    """In a thread."""
    settings, size_max = partition.settings, partition.ground.settings.batch_expanded_size_max
    looked = []
    for header, batch in partition.check_batches(records):
        known = validate(header, batch, size_max) if settings.validates_records else None
        if settings.codec is not None and header.codec != settings.codec:
            header, batch = recompress(header, batch, settings.codec, settings.batch_size_max, size_max)
        looked.append(Looked(header, batch, known))
    return looked


class TakesLonger(Exception):
    """The records cannot be looked at quickly."""


class Quickly:
    """Looks into the batches of one request on the event loop, as long as that is quick for all of them together."""

    __slots__ = ("_began", "_clock", "_validator")

    def __init__(self, validator: Validator, clock: Clock) -> None:
        self._validator = validator
        self._clock = clock
        self._began = 0.0

    def into(self, header: BatchHeader, batch: memoryview) -> Records:
        """What is known of a batch's records; TakesLonger if a thread has to look."""
        if not self._began:  # Most requests have one batch: two looks at the clock would be for nothing.
            self._began = self._clock.monotonic()
        elif self._clock.monotonic() - self._began > _QUICK_S:
            raise TakesLonger
        records = self._validator.quick(header, batch)
        if records is None:
            raise TakesLonger
        return records


Look: TypeAlias = Callable[[PartitionLog, memoryview], Awaitable[list[Looked]]]
