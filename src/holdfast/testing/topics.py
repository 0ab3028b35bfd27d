"""Topics and records of a test, in a line: made, written and read through the one client."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from holdfast.errors import Rejected

if TYPE_CHECKING:
    from holdfast.client import Client, ClientSettings
    from holdfast.record.records import Record

Text: TypeAlias = str | bytes | None
Written: TypeAlias = "Text | tuple[Text, Text] | Record"  # A value, a key and a value, or all of it.

_TIMEOUT_S = 30.0
_AS_BROKER_SAYS = -1
_KEY_AND_VALUE = 2


def make_topic(
    where: ClientSettings,
    name: str,
    partitions: int | None,
    records: Iterable[Written],
    configs: Mapping[str, object],
) -> None:
    """A topic that was not there before, with these configs, `_` for every dot, and these records.

    Records that are none are refused before it is made.
    """
    found = _records(records)
    with _client(where) as client:
        given = [(each.replace("_", "."), _config(value)) for each, value in configs.items()]
        client.create_topics({name: _AS_BROKER_SAYS if partitions is None else partitions}, given)
    write(where, name, found)


def write(where: ClientSettings, name: str, records: Iterable[Written]) -> None:
    """Come back when all are acknowledged. The key decides where a record goes, as with Kafka's own producers."""
    from holdfast.client.partitioner import RecordPartitioner
    from holdfast.record.build import build

    found = _records(records)
    with _client(where) as client:
        chooser = RecordPartitioner(client.topic(name).numbers, None)
        by_partition: dict[int, list[Record]] = {}
        for record in found:
            by_partition.setdefault(chooser.choose(record.key), []).append(record)
            chooser.turn()
        if by_partition:
            client.produce({(name, number): build(some) for number, some in by_partition.items()})


def read(where: ClientSettings, name: str) -> list[Record]:
    """All records that are there now, partition by partition; of transactions only what was committed."""
    from holdfast.client import EARLIEST, LATEST
    from holdfast.record.batch import split
    from holdfast.record.records import read_records
    from holdfast.segment.aborted import AbortedIndex

    found: list[Record] = []
    with _client(where) as client:
        numbers = client.topic(name).numbers
        starts = client.list_offsets({(name, number): EARLIEST for number in numbers})
        ends = client.list_offsets({(name, number): LATEST for number in numbers}, committed=True)
        for place, start in starts.items():
            offset = start.offset
            while offset < ends[place].offset:
                fetched = client.fetch({place: offset})[place]
                if fetched.error is not None:
                    raise fetched.error
                aborted = [(each[0], each[1]) for each in fetched.aborted or ()]
                hidden = AbortedIndex.of_fetch(aborted, (header for header, _ in split(fetched.records)))
                for header, batch in split(fetched.records):
                    shown = [] if hidden.hides(header) else list(read_records(batch))
                    found += [each for each in shown if (each.offset or 0) >= offset]
                    offset = header.end_offset
    return found


def _client(where: ClientSettings) -> Client:
    from holdfast.client import Client

    return Client(where, follow_leaders=False, timeout_s=_TIMEOUT_S)


def _records(written: Iterable[Written]) -> list[Record]:
    """All of them, or none: what is no record is refused by name."""
    from holdfast.io.clock import SystemClock

    now_ms = SystemClock().now_ms()
    return [_record(each, now_ms) for each in written]


def _record(written: Written, now_ms: int) -> Record:
    from holdfast.record.records import Record

    if isinstance(written, Record):
        return written
    parts = written if isinstance(written, tuple) else (None, written)
    if len(parts) != _KEY_AND_VALUE or not all(each is None or isinstance(each, str | bytes) for each in parts):
        more = f"; as many partitions are partitions={written}" if isinstance(written, int) else ""
        raise Rejected(f"{written!r} is no record: give a value as str, bytes or None, or (key, value){more}")
    key, value = parts
    return Record(_bytes(key), _bytes(value), now_ms)


def _bytes(text: Text) -> bytes | None:
    return text.encode() if isinstance(text, str) else text


def _config(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
