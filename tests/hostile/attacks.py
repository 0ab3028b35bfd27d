"""What somebody can do to a broker who only knows its port. Each attack goes on for a while, then lets go."""

from __future__ import annotations

import contextlib
import random
import select
import socket
import struct
from collections.abc import Callable, Iterator
from typing import Any

from tests.broker.wire import TIMEOUT_S, Wire, batch, fetch_fields, produce_fields

from holdfast.protocol.api import Key

KIB, MIB = 1 << 10, 1 << 20
FRAME_SIZE_MAX = 16 * MIB  # Of the broker that is attacked.
TOPIC = "attacked"
HOLD_S = 1.5

Attack = Callable[[int], None]


def hold(seconds: float = HOLD_S) -> None:
    """Do nothing, with everything open."""
    select.select([], [], [], seconds)


@contextlib.contextmanager
def many(port: int, count: int, receive_size: int = 0) -> Iterator[list[socket.socket]]:
    links: list[socket.socket] = []
    try:
        for _ in range(count):
            link = socket.socket()
            links.append(link)
            if receive_size:
                link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_size)
            link.settimeout(TIMEOUT_S)
            link.connect(("127.0.0.1", port))
        yield links
    finally:
        for link in links:
            link.close()


def announced(port: int) -> None:
    with many(port, 50) as links:
        for link in links:
            link.sendall(struct.pack(">i", FRAME_SIZE_MAX) + bytes(20))
        hold()


def half_sent(port: int) -> None:
    """More than all requests together may hold."""
    data = struct.pack(">i", FRAME_SIZE_MAX) + bytes(FRAME_SIZE_MAX - MIB)
    with many(port, 8) as links:
        for link in links:
            link.settimeout(0.3)  # Past the limit nobody is read.
            with contextlib.suppress(OSError):
                link.sendall(data)
        hold(3.0)


def slow_loris(port: int) -> None:
    with many(port, 200) as links:
        for byte in struct.pack(">i", 1000) + bytes(16):
            for link in links:
                with contextlib.suppress(OSError):
                    link.sendall(bytes([byte]))
            hold(0.1)


def idle(port: int) -> None:
    with many(port, 2000):
        hold()


def come_and_go(port: int) -> None:
    for _ in range(1000):
        socket.create_connection(("127.0.0.1", port)).close()


def garbage(port: int) -> None:
    chance = random.Random(7)
    for _ in range(300):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)) as link:
            body = chance.randbytes(chance.randrange(1, 200))
            link.sendall(struct.pack(">i", len(body)) + body if chance.random() < 0.8 else body)


def unread_answers(port: int) -> None:
    wanted = fetch_fields(TOPIC, max_bytes=24 * MIB, partition_max_bytes=24 * MIB)
    with many(port, 20, receive_size=4096) as links:
        for link in links:
            wire = Wire(port, link=link)
            for _ in range(4):
                wire.send(Key.FETCH, 12, **wanted)
        hold(3.0)


def fetch_sessions(port: int) -> None:
    """Of partitions that do not exist, as many as a request may name."""
    wanted = fetch_fields("nowhere", partitions=range(10_000), session_epoch=0)
    with many(port, 5) as links:
        for link in links:
            wire = Wire(port, link=link)
            wire.answer(Key.FETCH, 12, wire.send(Key.FETCH, 12, **wanted))


def asked(port: int, key: Key, version: int, requests: Iterator[dict[str, Any]]) -> None:
    """Requests one behind the other, without waiting; then their answers."""
    with Wire(port) as wire:
        sent: list[int] = []
        for fields in requests:
            sent.append(wire.send(key, version, **fields))
            if len(sent) == 50:
                for number in sent:
                    wire.answer(key, version, number)
                sent.clear()
        for number in sent:
            wire.answer(key, version, number)


def topics(port: int) -> None:
    def flood() -> Iterator[dict[str, Any]]:
        for number in range(100):
            row = {"num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}
            yield {"topics": [{"name": f"flood-{number}", **row}], "timeout_ms": 5000, "validate_only": False}

    asked(port, Key.CREATE_TOPICS, 7, flood())


def groups(port: int) -> None:
    def flood() -> Iterator[dict[str, Any]]:
        rows = [{"partition_index": 0, "committed_offset": 1, "committed_leader_epoch": -1, "committed_metadata": ""}]
        for number in range(1000):
            name = f"{number:0>500}"
            yield {
                "group_id": name,
                "generation_id_or_member_epoch": -1,
                "member_id": "",
                "topics": [{"name": TOPIC, "partitions": rows}],
            }

    asked(port, Key.OFFSET_COMMIT, 8, flood())


def transactional_ids(port: int) -> None:
    def flood() -> Iterator[dict[str, Any]]:
        for number in range(1000):
            name = f"{number:0>500}"
            yield {
                "transactional_id": name,
                "transaction_timeout_ms": 60_000,
                "producer_id": -1,
                "producer_epoch": -1,
            }

    asked(port, Key.INIT_PRODUCER_ID, 4, flood())


def producer_ids(port: int) -> None:
    def flood() -> Iterator[dict[str, Any]]:
        for number in range(1000):
            yield produce_fields(TOPIC, batch(b"x", producer_id=1_000_000 + number, producer_epoch=0, base_sequence=0))

    asked(port, Key.PRODUCE, 9, flood())


def long_names(port: int) -> None:
    def flood() -> Iterator[dict[str, Any]]:
        for number in range(100):
            entity = [{"entity_type": "user", "entity_name": f"{number:0>32000}"}]
            ops = [{"key": "producer_byte_rate", "value": 1.0, "remove": False}]
            yield {"entries": [{"entity": entity, "ops": ops}], "validate_only": False}

    asked(port, Key.ALTER_CLIENT_QUOTAS, 1, flood())


ATTACKS: tuple[Attack, ...] = (
    announced,
    half_sent,
    slow_loris,
    idle,
    come_and_go,
    garbage,
    unread_answers,
    fetch_sessions,
    topics,
    groups,
    transactional_ids,
    producer_ids,
    long_names,
)
