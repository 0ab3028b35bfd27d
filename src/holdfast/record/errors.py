"""What can be wrong with a batch.

Rejected
└── InvalidBatch              a client sent it: fix the client
    ├── Truncated             fewer bytes than the header needs or promises
    ├── WrongSize             the length field contradicts the header or the bytes that are there
    ├── WrongMagic            not format version 2
    ├── WrongCrc              the bytes are not those the sender summed up
    ├── UnknownCodec          compressed in a way nobody has defined
    ├── WrongCount            no records, or not as many as the offsets say
    ├── TooLarge              more bytes than allowed
    ├── RecordsWithoutKey     in a topic that is compacted by keys
    ├── ControlRefused        only the broker writes markers
    ├── LogAppendTimeRefused  only the broker stamps log-append time
    ├── Undecodable           the compressed records do not decompress
    ├── ExpandsTooFar         the compressed records expand past the limit
    ├── InvalidRecord         a record inside breaks a rule
    └── TimestampOutOfRange   a record is too far ahead of the broker's time, or behind it
Corrupt
└── CorruptBatch              the same, but found in what was stored: see `stored`
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from holdfast.errors import Corrupt, Rejected


class InvalidBatch(Rejected):
    """A batch breaks a rule of the format."""


class RecordsWithoutKey(InvalidBatch):
    """Records without a key where records are kept by their keys."""

    def __init__(self, indices: Sequence[int]) -> None:
        super().__init__(f"record {indices[0]} of the batch has no key, and the topic is compacted by keys")
        self.indices = indices  # Of the batch; the first of them, if there are very many.


class Truncated(InvalidBatch):
    """There are fewer bytes than the header needs or promises."""

    def __init__(self, position: int, needed: int, found: int) -> None:
        super().__init__(f"the batch at byte {position} needs {needed} bytes, {found} are there")
        self.position = position
        self.needed = needed
        self.found = found


class WrongSize(InvalidBatch):
    """The length field contradicts the header's size, or the bytes that are there."""

    def __init__(self, position: int, stated: int, expected: int) -> None:
        super().__init__(f"the batch at byte {position} says it has {stated} bytes where {expected} are expected")
        self.position = position
        self.stated = stated
        self.expected = expected


class WrongMagic(InvalidBatch):
    """The batch is not of format version 2."""

    def __init__(self, position: int, magic: int) -> None:
        super().__init__(f"the batch at byte {position} has format version {magic}; only 2 is understood")
        self.position = position
        self.magic = magic


class WrongCrc(InvalidBatch):
    """The bytes are not those the sender summed up."""

    def __init__(self, base_offset: int, stated: int, computed: int) -> None:
        found = f"it is {computed:#010x}, the header says {stated:#010x}"
        super().__init__(f"the crc of the batch at offset {base_offset} is wrong: {found}")
        self.base_offset = base_offset
        self.stated = stated
        self.computed = computed


class UnknownCodec(InvalidBatch):
    """The records are compressed in a way nobody has defined."""

    def __init__(self, codec: int) -> None:
        super().__init__(f"compression codec {codec} is unknown; 0 to 4 are none, gzip, snappy, lz4, zstd")
        self.codec = codec


class WrongCount(InvalidBatch):
    """There are no records, or not as many as the offsets say."""

    def __init__(self, record_count: int, last_offset_delta: int) -> None:
        super().__init__(f"{record_count} records do not fit offsets 0 to {last_offset_delta}")
        self.record_count = record_count
        self.last_offset_delta = last_offset_delta


class TooLarge(InvalidBatch):
    """The batch has more bytes than allowed."""

    def __init__(self, size: int, size_max: int) -> None:
        super().__init__(f"a batch of {size} bytes is larger than the {size_max} allowed")
        self.size = size
        self.size_max = size_max


class ControlRefused(InvalidBatch):
    """Only the broker writes transaction markers."""

    def __init__(self, producer_id: int) -> None:
        super().__init__(f"producer {producer_id} sent a control batch; only the broker writes those")
        self.producer_id = producer_id


class LogAppendTimeRefused(InvalidBatch):
    """Only the broker stamps log-append time."""

    def __init__(self) -> None:
        super().__init__("the batch claims log-append time, which only the broker can give it")


class Undecodable(InvalidBatch):
    """The compressed records do not decompress."""

    def __init__(self, codec: int, cause: object) -> None:
        super().__init__(f"the records do not decompress with codec {codec}: {cause}")
        self.codec = codec


class ExpandsTooFar(InvalidBatch):
    """The compressed records expand past the limit."""

    def __init__(self, codec: int, size: int, size_max: int) -> None:
        super().__init__(f"{size} bytes compressed with codec {codec} expand to more than the {size_max} allowed")
        self.codec = codec
        self.size = size
        self.size_max = size_max


class InvalidRecord(InvalidBatch):
    """A record breaks a rule of the format."""

    def __init__(self, base_offset: int, index: int, position: int, reason: str) -> None:
        super().__init__(f"record {index} of the batch at offset {base_offset}, at byte {position}: {reason}")
        self.base_offset = base_offset
        self.index = index  # Of the record in its batch.
        self.position = position  # In the batch's records, after decompression.
        self.reason = reason


class TimestampOutOfRange(InvalidBatch):
    """A record is too far away from the broker's time."""

    def __init__(self, timestamp_ms: int, low_ms: int | None, high_ms: int | None) -> None:
        within = f"{'any time' if low_ms is None else low_ms} to {'any time' if high_ms is None else high_ms}"
        super().__init__(f"a record has the timestamp {timestamp_ms}; the topic takes those from {within} now")
        self.timestamp_ms = timestamp_ms
        self.low_ms = low_ms
        self.high_ms = high_ms


# A batch with a right crc that breaks one of these rules did so when it was sent: it is unreadable, not damaged.
UNREADABLE = (InvalidRecord, Undecodable, ExpandsTooFar, UnknownCodec, WrongCount)


class CorruptBatch(Corrupt):
    """A stored batch breaks a rule of the format; `violation` says which, with its facts."""

    def __init__(self, place: str, violation: InvalidBatch) -> None:
        super().__init__(f"{place}: {violation}")
        self.name = place
        self.what = str(violation)
        self.violation = violation


@contextmanager
def stored(place: str) -> Iterator[None]:
    """What a client would have to fix is damage when it comes out of our own storage: name the place and say so."""
    try:
        yield
    except InvalidBatch as violation:
        raise CorruptBatch(place, violation) from violation
