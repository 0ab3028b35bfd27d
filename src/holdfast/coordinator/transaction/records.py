"""The records of the internal topic `__transaction_state`, in Kafka's own formats, so that Kafka's tools can read them.

    key      | version i16: 0 | transactional id string |

    value, version 1
    | version i16 | producer id i64 | epoch i16 | timeout, ms i32 | state i8 |
    | partitions, null without any: | topic string | partition numbers i32 … | … |
    | changed at, ms i64 | started at, ms i64 |
    tags: 0 previous producer id i64, 1 next producer id i64, 2 client's version i16, 3 next epoch i16

A record without a value takes its transactional id back. Version 1 is flexible (see `fields`), and is what is written;
version 0 is the same in the plain form and without the tags, and is read.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from holdfast.coordinator.runtime.errors import CorruptRecord, NewerRecord
from holdfast.coordinator.runtime.fields import (
    MalformedField,
    Reader,
    compact_count,
    compact_string,
    string,
    tagged_fields,
)
from holdfast.coordinator.transaction.transaction import Transaction, TransactionState
from holdfast.record.records import Record
from holdfast.types import TopicPartition

_KEY_VERSION = 0
_VERSION = 1
_HEAD = struct.Struct(">hqhib")
_TIMES = struct.Struct(">qq")
_KIND = "transaction"
_END = tagged_fields({})
_TAGS = {  # By number: the field, how it is packed, and the value that is left out.
    0: ("previous_producer_id", ">q", -1),
    1: ("next_producer_id", ">q", -1),
    2: ("client_version", ">h", 0),
    3: ("next_epoch", ">h", -1),
}


def transaction_record(transaction: Transaction, now_ms: int) -> Record:
    """The record of a transactional id."""
    return Record(_encode_key(transaction.transactional_id), _encode(transaction), now_ms)


def forgotten_record(transactional_id: str, now_ms: int) -> Record:
    """The record that takes a transactional id back."""
    return Record(_encode_key(transactional_id), None, now_ms)


def decode_transactional_id(key: bytes | None) -> str | None:
    """Which id a record is about; None if only another release understands it."""
    reader = Reader(key or b"")
    try:
        if reader.i16() != _KEY_VERSION:
            return None
        return reader.string()
    except (MalformedField, UnicodeDecodeError) as failure:
        raise CorruptRecord("key of a transaction", str(failure)) from failure


def decode_transaction(transactional_id: str, value: bytes) -> Transaction:
    """The value of a transactional id's record."""
    reader = Reader(value)
    try:
        version = reader.i16()
        if version > _VERSION:
            raise NewerRecord(_KIND, version, _VERSION)
        reader.flexible = version >= 1
        return _decode(transactional_id, reader)
    except (MalformedField, UnicodeDecodeError, ValueError, struct.error) as failure:
        raise CorruptRecord(_KIND, str(failure)) from failure


def _decode(transactional_id: str, reader: Reader) -> Transaction:
    producer_id, epoch, timeout_ms, state = reader.i64(), reader.i16(), reader.i32(), reader.i8()
    partitions: set[TopicPartition] = set()
    for _ in range(reader.count()):
        topic = reader.string()
        partitions.update(TopicPartition(topic, reader.i32()) for _ in range(reader.count()))
        reader.end_struct()
    changed_at_ms, started_at_ms = reader.i64(), reader.i64()
    tags = {
        _TAGS[number][0]: struct.unpack(_TAGS[number][1], data)[0]
        for number, data in reader.tagged().items()
        if number in _TAGS
    }
    if reader.left:
        raise MalformedField(f"{reader.left} bytes are left")
    return Transaction(
        transactional_id=transactional_id,
        producer_id=producer_id,
        epoch=epoch,
        timeout_ms=timeout_ms,
        state=TransactionState(state),
        partitions=frozenset(partitions),
        changed_at_ms=changed_at_ms,
        started_at_ms=started_at_ms,
        **tags,
    )


def _encode_key(transactional_id: str) -> bytes:
    return struct.pack(">h", _KEY_VERSION) + string(transactional_id)


def _encode(each: Transaction) -> bytes:
    head = _HEAD.pack(_VERSION, each.producer_id, each.epoch, each.timeout_ms, each.state.value)
    return b"".join(
        [head, _partitions(each.partitions), _TIMES.pack(each.changed_at_ms, each.started_at_ms), _tags(each)]
    )


def _partitions(partitions: Iterable[TopicPartition]) -> bytes:
    by_topic: dict[str, list[int]] = {}
    for topic, number in sorted(partitions):
        by_topic.setdefault(topic, []).append(number)
    if not by_topic:
        return b"\x00"  # Null.
    parts = [compact_count(len(by_topic))]
    for topic, numbers in by_topic.items():
        parts += [compact_string(topic), compact_count(len(numbers)), struct.pack(f">{len(numbers)}i", *numbers), _END]
    return b"".join(parts)


def _tags(each: Transaction) -> bytes:
    values = {number: (form, getattr(each, name), default) for number, (name, form, default) in _TAGS.items()}
    return tagged_fields(
        {number: struct.pack(form, value) for number, (form, value, default) in values.items() if value != default}
    )
