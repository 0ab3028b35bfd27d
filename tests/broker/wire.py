"""A client that sends exactly what a test wants: requests made of plain dicts, answers as messages."""

from __future__ import annotations

import itertools
import select
import socket
import time
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any

from kafka.record import MemoryRecords

from holdfast.protocol.api import Key
from holdfast.protocol.classes import request_class
from holdfast.protocol.header import decode_response_header, frame_request
from holdfast.protocol.message import part_class
from holdfast.protocol.messages import decode_response, encode_request
from holdfast.record.build import build
from holdfast.record.records import Record

TIMEOUT_S = 20
NOW_MS = time.time_ns() // 1_000_000  # Records much older than this are not kept.


class Closed(Exception):
    """The broker has closed the connection."""


class Wire:
    """One connection to a broker."""

    def __init__(self, port: int, *, client_id: str | None = "wire", link: socket.socket | None = None) -> None:
        self.socket = link or socket.create_connection(("127.0.0.1", port), TIMEOUT_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._client_id = client_id
        self._numbers = itertools.count(1)

    def ask(self, key: Key, version: int, /, **fields: Any) -> Any:
        """Send a request and wait for its answer."""
        return self.answer(key, version, self.send(key, version, **fields))

    def send(self, key: Key, version: int, /, **fields: Any) -> int:
        """Send a request; the number that its answer will carry."""
        number = next(self._numbers)
        self.send_bytes(self.framed(key, version, number, **fields))
        return number

    def framed(self, key: Key, version: int, number: int = 0, /, **fields: Any) -> bytes:
        """A request as it is sent."""
        body = encode_request(key, version, message(request_class(key), fields))
        return b"".join(frame_request(key, version, number, self._client_id, body))

    def answer(self, key: Key, version: int, number: int) -> Any:
        """Wait for the next answer, which must be to this request."""
        frame = memoryview(self.receive())
        found, start = decode_response_header(key, version, frame)
        assert found == number, f"answer {found} where {number} is due"
        return decode_response(key, version, frame[start:])

    def send_bytes(self, data: bytes) -> None:
        self.socket.sendall(data)

    def receive(self) -> bytes:
        """The next frame, without its size."""
        return self._take(int.from_bytes(self._take(4), "big"))

    def _take(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            try:
                piece = self.socket.recv(size - len(data))
            except ConnectionResetError:
                raise Closed from None
            if not piece:
                raise Closed
            data += piece
        return bytes(data)

    def is_closed(self) -> bool:
        """Wait for the broker to close the connection; whatever it sends before counts as a no."""
        try:
            return not self.socket.recv(1)
        except ConnectionResetError:
            return True

    def close(self) -> None:
        self.socket.close()

    def __enter__(self) -> Wire:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def message(of: Any, fields: Mapping[str, Any]) -> Any:
    """A message from plain dicts: `topics=[{"name": "t"}]`."""
    kinds = {row[0]: row[1].removeprefix("[]") for row in of.ROWS}
    return of(**{name: _value(of, kinds[name], value) for name, value in fields.items()})


def _value(of: Any, kind: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        return message(part_class(of, kind), value)
    if isinstance(value, list) and value and isinstance(value[0], Mapping):
        return [message(part_class(of, kind), each) for each in value]
    return value


# Records


def batch(*values: bytes | None, timestamp: int = NOW_MS, codec: int = 0, **producer: int) -> bytes:
    """One batch with these values; `producer_id`, `producer_epoch` and `base_sequence` make it idempotent."""
    return bytes(build([Record(timestamp=timestamp, value=value) for value in values], codec=codec, **producer))


def keyed(*rows: tuple[bytes, bytes | None]) -> bytes:
    """One batch with these keys and values."""
    return bytes(build([Record(timestamp=NOW_MS, key=key, value=value) for key, value in rows]))


def values(records: bytes | None) -> list[bytes | None]:
    """The values in batches, as another implementation reads them."""
    return [record.value for record in read(records)]


def read(records: bytes | None) -> list[Any]:
    found = MemoryRecords(records or b"")
    rows = []
    while (each := found.next_batch()) is not None:
        rows += list(each)
    return rows


# The requests that most tests need


def create_topic(wire: Wire, name: str, partitions: int = 1, **configs: str) -> Any:
    """Make a topic; its id. In names of configs `_` stands for `.`."""
    rows = [{"name": key.replace("_", "."), "value": value} for key, value in configs.items()]
    topic = {"name": name, "num_partitions": partitions, "replication_factor": 1, "assignments": [], "configs": rows}
    [made] = wire.ask(Key.CREATE_TOPICS, 7, topics=[topic], timeout_ms=5000, validate_only=False).topics
    assert made.error_code == 0, made.error_message
    return made.topic_id


def delete_topic(wire: Wire, name: str) -> None:
    topics = [{"name": name, "topic_id": None}]
    [gone] = wire.ask(Key.DELETE_TOPICS, 6, topics=topics, timeout_ms=5000).responses
    assert gone.error_code == 0, gone.error_message


def produce_fields(topic: Any, records: bytes | None, *, partition: int = 0, acks: int = -1) -> dict[str, Any]:
    named = {"name": topic} if isinstance(topic, str) else {"topic_id": topic}
    data = [{"index": partition, "records": records}]
    return {
        "transactional_id": None,
        "acks": acks,
        "timeout_ms": 5000,
        "topic_data": [{**named, "partition_data": data}],
    }


def produce(wire: Wire, topic: Any, records: bytes | None, *, version: int | None = None, **more: Any) -> Any:
    """Produce to one partition, by name or by id; the partition's answer."""
    version = version or (9 if isinstance(topic, str) else 13)
    answer = wire.ask(Key.PRODUCE, version, **produce_fields(topic, records, **more))
    [[found]] = [each.partition_responses for each in answer.responses]
    return found


def fetch_fields(
    topic: Any,
    offset: int = 0,
    *,
    partitions: Iterable[int] = (0,),
    max_wait_ms: int = 0,
    min_bytes: int = 1,
    max_bytes: int = 1 << 20,
    partition_max_bytes: int = 1 << 20,
    isolation_level: int = 0,
    session_id: int = 0,
    session_epoch: int = -1,
    **more: Any,
) -> dict[str, Any]:
    named = {"topic": topic} if isinstance(topic, str) else {"topic_id": topic}
    wanted = [
        {"partition": each, "fetch_offset": offset, "partition_max_bytes": partition_max_bytes, **more}
        for each in partitions
    ]
    return {
        "replica_id": -1,
        "max_wait_ms": max_wait_ms,
        "min_bytes": min_bytes,
        "max_bytes": max_bytes,
        "isolation_level": isolation_level,
        "session_id": session_id,
        "session_epoch": session_epoch,
        "topics": [{**named, "partitions": wanted}] if wanted else [],
        "forgotten_topics_data": [],
        "rack_id": "",
    }


def fetch(wire: Wire, topic: Any, offset: int = 0, *, version: int | None = None, **more: Any) -> Any:
    """Fetch from one partition, by name or by id; the partition's answer."""
    version = version or (12 if isinstance(topic, str) else 16)
    answer = wire.ask(Key.FETCH, version, **fetch_fields(topic, offset, **more))
    assert answer.error_code == 0
    [[found]] = [each.partitions for each in answer.responses]
    return found


def end_offset(wire: Wire, topic: str, partition: int = 0, timestamp: int = -1) -> int:
    """What ListOffsets says; without a time, the end."""
    wanted = [{"partition_index": partition, "current_leader_epoch": -1, "timestamp": timestamp}]
    topics = [{"name": topic, "partitions": wanted}]
    answer = wire.ask(Key.LIST_OFFSETS, 7, replica_id=-1, isolation_level=0, topics=topics)
    [[found]] = [each.partitions for each in answer.topics]
    assert found.error_code == 0
    offset: int = found.offset
    return offset


def delete_records(wire: Wire, name: str, offset: int) -> Any:
    topics = [{"name": name, "partitions": [{"partition_index": 0, "offset": offset}]}]
    [[found]] = [each.partitions for each in wire.ask(Key.DELETE_RECORDS, 2, topics=topics, timeout_ms=10_000).topics]
    return found


def wait_for(done: Callable[[], bool], seconds: float = 20) -> None:
    """Look again and again until it is so: the broker does it in its own time, and tells nobody."""
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline, "it has not come to pass"
        select.select([], [], [], 0.005)  # The other side needs the processor more.
