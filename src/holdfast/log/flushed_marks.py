"""How far the store has come, of very many partitions: as bytes that are changed in place, not made anew.

These marks are saved whenever a chunk of the write-ahead log is given back, on the event loop. A few of them have moved
since the last time, so a new value shares all others with the one before: of each topic the bytes as they are saved.

    of each topic: | id, 16 bytes | count u32 | count times (partition u32, offset u64) |   little endian
"""

from __future__ import annotations

import struct
from base64 import b64decode, b64encode
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple
from uuid import UUID

from holdfast.types import PartitionId

_TOPIC = struct.Struct("<16sI")
_MARK = struct.Struct("<IQ")
_OFFSET = struct.Struct("<Q")
assert (_TOPIC.size, _MARK.size) == (20, 12)  # On disk: changing one needs a new version.
MARK_SIZE_MAX = _TOPIC.size + _MARK.size  # Of one that is alone in its topic.


class _TopicMarks(NamedTuple):
    """Those of one topic."""

    places: Mapping[int, int]  # By partition: the byte where its offset begins.
    packed: bytes


class FlushedMarks(Mapping[PartitionId, int]):
    """A frozen table: below its mark the store has everything of a partition."""

    __slots__ = ("_count", "_packed", "_places")

    def __init__(self) -> None:
        self._places: dict[UUID, Mapping[int, int]] = {}
        self._packed: dict[UUID, bytes] = {}
        self._count = 0

    @classmethod
    def of(cls, marks: Mapping[PartitionId, int]) -> FlushedMarks:
        return marks if isinstance(marks, FlushedMarks) else cls().changed(marks)

    @property
    def topics(self) -> Collection[UUID]:
        return self._packed.keys()

    def __getitem__(self, home: PartitionId) -> int:
        (offset,) = _OFFSET.unpack_from(self._packed[home.topic_id], self._places[home.topic_id][home.partition])
        return int(offset)

    def __iter__(self) -> Iterator[PartitionId]:
        return (PartitionId(topic_id, number) for topic_id, places in self._places.items() for number in places)

    def __len__(self) -> int:
        return self._count

    def __eq__(self, other: object) -> bool:
        return self._packed == other._packed if isinstance(other, FlushedMarks) else dict(self) == other

    __hash__ = None  # type: ignore[assignment]

    def changed(self, marks: Mapping[PartitionId, int], without: Iterable[UUID] = ()) -> FlushedMarks:
        """With these marks in the place of those before, and without these topics."""
        by_topic: dict[UUID, dict[int, int]] = {}
        for (topic_id, partition), offset in marks.items():
            by_topic.setdefault(topic_id, {})[partition] = offset
        made = FlushedMarks()
        made._places, made._packed, made._count = self._places.copy(), self._packed.copy(), self._count
        for topic_id in without:
            made._count -= len(made._places.pop(topic_id, ()))
            made._packed.pop(topic_id, None)
        for topic_id, offsets in by_topic.items():
            made._put(topic_id, made._with(topic_id, offsets))
        return made

    def _with(self, topic_id: UUID, offsets: Mapping[int, int]) -> _TopicMarks:
        places = self._places.get(topic_id, {})
        if not offsets.keys() <= places.keys():
            return _packed(topic_id.bytes, {**_offsets(self._packed.get(topic_id, b"")), **offsets})
        packed = bytearray(self._packed[topic_id])
        for partition, offset in offsets.items():
            _OFFSET.pack_into(packed, places[partition], offset)
        return _TopicMarks(places, bytes(packed))

    def _put(self, topic_id: UUID, topic: _TopicMarks) -> None:
        self._count += len(topic.places) - len(self._places.get(topic_id, ()))
        self._places[topic_id], self._packed[topic_id] = topic

    def encode(self) -> str:
        return b64encode(b"".join(self._packed.values())).decode()


def decode_marks(text: str) -> FlushedMarks:
    data, at = b64decode(text, validate=True), 0
    marks = FlushedMarks()
    while at < len(data):
        raw, count = _TOPIC.unpack_from(data, at)
        end = at + _TOPIC.size + count * _MARK.size
        marks._put(UUID(bytes=raw), _packed(raw, _offsets(data[at:end])))
        at = end
    return marks


def _offsets(packed: bytes) -> dict[int, int]:
    """By partition."""
    return dict(_MARK.iter_unpack(packed[_TOPIC.size :]))


def _packed(raw_id: bytes, offsets: Mapping[int, int]) -> _TopicMarks:
    numbers = [number for mark in offsets.items() for number in mark]
    packed = _TOPIC.pack(raw_id, len(offsets)) + struct.pack("<" + "IQ" * len(offsets), *numbers)
    first = _TOPIC.size + _MARK.size - _OFFSET.size
    return _TopicMarks({each: first + number * _MARK.size for number, each in enumerate(offsets)}, packed)
