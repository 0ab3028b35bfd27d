"""Logins that are none: wrong bytes, wrong lengths, wrong TLS records, on every port that asks who somebody is."""

from __future__ import annotations

import contextlib
import random
import re
import socket
import ssl
import struct
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest
from tests.broker.wire import Wire
from tests.hostile.test_attacks import resident_size
from tests.support.logged_in import KEPT, KEPT_PASSWORD, LoggedIn, log_in
from tests.support.round_trips import serves

from holdfast.protocol.api import Key
from holdfast.protocol.classes import request_class
from holdfast.protocol.header import frame_request
from holdfast.protocol.messages import encode_request
from holdfast.security.logins.plain import encode_plain
from holdfast.security.secret import Secret
from holdfast.testing.ports import free_port

MIB = 1 << 20
OUR_LINE = re.compile(r"\d{4}-\d\d-\d\d [\d:.]+ [A-Z]+ +holdfast")
TRIES = 150
GROWTH_MAX = 48 * MIB
TIMEOUT_S = 0.05  # For an answer that nobody needs.

Chance = random.Random
Sent = list[bytes]


class Place(NamedTuple):
    """The broker, and its ports that ask."""

    broker: LoggedIn
    subscribers: int
    metrics: int


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    subscribers, metrics = free_port(), free_port()
    broker = LoggedIn(
        tmp_path_factory.mktemp("fuzzed"),
        f"subscribe.listen=SASL_SSL://127.0.0.1:{subscribers}",
        f"serve.metrics_listen=SASL_SSL://127.0.0.1:{metrics}",
        "connection.failed.authentication.delay.ms=1",
    )
    with broker.process:
        broker.keep()
        yield Place(broker, subscribers, metrics)


def framed(key: Key, version: int, **fields: object) -> bytes:
    body = encode_request(key, version, request_class(key)(**fields))
    return b"".join(bytes(each) for each in frame_request(key, version, 1, "fuzz", body))


LOGIN = (
    framed(Key.API_VERSIONS, 3, client_software_name="fuzz", client_software_version="1"),
    framed(Key.SASL_HANDSHAKE, 1, mechanism="PLAIN"),
    framed(Key.SASL_AUTHENTICATE, 2, auth_bytes=encode_plain("alice", Secret("x"))),
    framed(Key.SASL_HANDSHAKE, 1, mechanism="SCRAM-SHA-256"),
    framed(Key.SASL_AUTHENTICATE, 2, auth_bytes=b"n,,n=bob,r=abcdef"),
    framed(Key.SASL_HANDSHAKE, 0, mechanism="PLAIN"),
    struct.pack(">i", 8) + b"\0alice\0x",
    framed(Key.METADATA, 9, topics=None),
)


def hello() -> bytes:
    """What a client begins TLS with."""
    out = ssl.MemoryBIO()
    link = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), out, server_hostname="localhost")
    with contextlib.suppress(ssl.SSLWantReadError):
        link.do_handshake()
    return out.read()


def bytes_alone(chance: Chance) -> Sent:
    return [chance.randbytes(chance.randrange(1, 2000)) for _ in range(chance.randrange(1, 4))]


def lengths(chance: Chance) -> Sent:
    """Frames that say another size than they have."""
    size = chance.choice([0, -1, 1, 2**31 - 1, -(2**31), 524_288, 524_289, chance.randrange(1, 600_000)])
    return [struct.pack(">i", size) + chance.choice(LOGIN)[4:] + bytes(chance.randrange(0, 64))]


def out_of_turn(chance: Chance) -> Sent:
    """Requests of a login in any order, behind each other without a pause."""
    return [b"".join(chance.choice(LOGIN) for _ in range(chance.randrange(1, 12)))]


def flipped(chance: Chance) -> Sent:
    """A login with some bytes changed, left out or doubled."""
    made = [bytearray(each) for each in LOGIN[: chance.randrange(1, len(LOGIN) + 1)]]
    for _ in range(chance.randrange(1, 6)):
        frame = chance.choice(made)
        at = chance.randrange(len(frame))
        change = chance.randrange(3)
        if change == 0:
            frame[at] = chance.randrange(256)
        elif change == 1 and len(frame) > 1:
            del frame[at]
        else:
            frame[at:at] = chance.randbytes(chance.randrange(1, 9))
    return [bytes(each) for each in made]


def records(chance: Chance) -> Sent:
    """TLS records: a first one that is damaged or cut, others of any type and length, many that are empty."""
    first = bytearray(hello())
    for _ in range(chance.randrange(0, 4)):
        first[chance.randrange(len(first))] = chance.randrange(256)
    made: Sent = [bytes(first[: chance.randrange(1, len(first) + 1)] if chance.random() < 0.3 else first)]
    for _ in range(chance.randrange(0, 5)):
        body = chance.randbytes(chance.choice([0, 1, 100, 16_384]))
        kind, said = chance.choice([20, 21, 22, 23, 24, 255]), chance.choice([len(body), 0, 16_385, 65_535])
        made += [struct.pack(">BHH", kind, chance.choice([0x0301, 0x0303, 0x0304, 0]), said) + body]
    if chance.random() < 0.1:
        made += [struct.pack(">BHH", 22, 0x0303, 0) * 500]
    return made


FUZZ: tuple[Callable[[Chance], Sent], ...] = (bytes_alone, lengths, out_of_turn, flipped, records)


def throw(port: int, sent: Sent, context: ssl.SSLContext | None, chance: Chance) -> None:
    """Send it, and go away: with or without waiting for what comes back."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 10) as link:
        secured = link if context is None else context.wrap_socket(link, server_hostname="localhost")
        for each in sent:
            secured.sendall(each)
        if chance.random() < 0.2:
            secured.settimeout(TIMEOUT_S)
            secured.recv(4096)


@pytest.mark.parametrize("fuzz", FUZZ, ids=lambda fuzz: fuzz.__name__)
def test_a_login_that_is_none_neither_stops_the_broker_nor_grows_it(
    place: Place, fuzz: Callable[[Chance], Sent]
) -> None:
    """X4, K7, K10: each try can be found again by its seed."""
    broker = place.broker
    process, lines = broker.process, len(broker.process.said)

    def one_round(first: int) -> None:
        for seed in range(first, first + TRIES):
            chance = Chance(seed)
            port = chance.choice([broker.sasl, broker.tls, broker.tls, place.subscribers, place.metrics])
            inside = fuzz is not records and port != broker.sasl and chance.random() < 0.5
            throw(port, fuzz(chance), broker.context() if inside else None, chance)

    one_round(0)  # What is loaded, and what buffers are once.
    before = resident_size(process.pid)
    one_round(TRIES)
    assert resident_size(process.pid) - before < GROWTH_MAX
    assert process.is_running
    with Wire(broker.sasl) as wire:
        assert log_in(wire, KEPT, KEPT_PASSWORD, "SCRAM-SHA-256").error_code == 0
        assert serves(wire)
    said = process.said[lines:]
    assert not [each for each in said if "Traceback" in each or "failed unexpectedly" in each]
    assert not [each for each in said if not OUR_LINE.match(each)], "what strangers do is told by us, or not at all"
