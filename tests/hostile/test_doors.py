"""K10: how many may come in, how fast and from where, and what happens when the system has no room for one more."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import resource
import select
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.broker.inside import InsideBroker
from tests.broker.wire import Wire, wait_for
from tests.support.broker_process import BrokerProcess

from holdfast.broker.settings import BrokerSettings
from holdfast.cli.serve.lines import begin_lines
from holdfast.io.objects.memory import MemoryObjects
from holdfast.protocol.api import Key
from holdfast.testing.ports import free_port

INVALID_REQUEST = 42


@contextlib.contextmanager
def running(path: Path, **settings: object) -> Iterator[InsideBroker]:
    with InsideBroker(path, MemoryObjects(), broker=BrokerSettings(**settings)) as inside:  # type: ignore[arg-type]
        yield inside


def served(port: int, address: str = "127.0.0.1") -> Wire | None:
    """A connection from an address of this machine; None if it is refused."""
    link = socket.socket()
    link.settimeout(20)
    link.bind((address, 0))
    link.connect(("127.0.0.1", port))
    wire = Wire(port, link=link)
    try:
        wire.ask(Key.API_VERSIONS, 0)
    except Exception:
        wire.close()
        return None
    return wire


def test_one_address_may_have_so_many_connections(tmp_path: Path) -> None:
    """K10: with another number for some; others are not concerned, and who leaves makes room."""
    with running(tmp_path, max_connections_per_ip=3, max_connections_per_ip_overrides="127.0.0.3:1") as inside:
        first = [served(inside.port, "127.0.0.2") for _ in range(3)]
        assert all(first)
        assert served(inside.port, "127.0.0.2") is None
        third = served(inside.port, "127.0.0.3")
        assert third is not None
        assert served(inside.port, "127.0.0.3") is None
        wait_for(lambda: inside.server.refused["address"] == 2)
        third.close()
        wait_for(lambda: inside.server.connection_count == 3)
        again = served(inside.port, "127.0.0.3")
        assert again is not None
        for each in [*first, again]:
            assert each is not None
            each.close()


def test_new_connections_come_in_at_a_rate(tmp_path: Path) -> None:
    """K10: who comes too early waits, and is served."""
    with running(tmp_path, max_connection_creation_rate=20) as inside:
        began = time.monotonic()
        held = [socket.create_connection(("127.0.0.1", inside.port)) for _ in range(40)]
        wait_for(lambda: inside.server.connection_count == 40)
        assert time.monotonic() - began > 0.8  # Twenty at once, twenty more in a second.
        for each in held:
            each.close()


def alter(wire: Wire, address: str | None, rate: float | None) -> int:
    """Give an address, or all without their own, a rate; None takes it back."""
    entity = [{"entity_type": "ip", "entity_name": address}]
    ops = [{"key": "connection_creation_rate", "value": rate or 0.0, "remove": rate is None}]
    fields = {"entries": [{"entity": entity, "ops": ops}], "validate_only": False}
    code: int = wire.ask(Key.ALTER_CLIENT_QUOTAS, 1, **fields).entries[0].error_code
    return code


def came_in(port: int, address: str, count: int) -> int:
    """How many of so many connections at once are served."""
    links = [socket.socket() for _ in range(count)]
    for link in links:
        link.settimeout(20)
        link.bind((address, 0))
        link.connect(("127.0.0.1", port))
    wires = [Wire(port, link=link) for link in links]
    taken = 0
    for wire in wires:
        with contextlib.suppress(Exception):
            wire.ask(Key.API_VERSIONS, 0)
            taken += 1
        wire.close()
    return taken


def test_an_address_has_the_rate_of_its_quota(tmp_path: Path) -> None:
    """K10, K11: connection_creation_rate, of an address or of all others; who comes too fast is refused a little later,
    the others are served, and it holds after a restart."""
    store = MemoryObjects()
    with InsideBroker(tmp_path, store) as inside, Wire(inside.port) as wire:
        assert alter(wire, None, 5.0) == 0
        assert alter(wire, "127.0.0.3", 1000.0) == 0
        began = time.monotonic()
        assert 5 <= came_in(inside.port, "127.0.0.2", 12) < 12
        assert time.monotonic() - began > 0.1  # Or they would be back at once.
        assert came_in(inside.port, "127.0.0.3", 12) == 12
        refused = inside.server.refused["rate"]
        assert 0 < refused <= 7
        assert alter(wire, None, None) == 0
        assert came_in(inside.port, "127.0.0.2", 12) == 12
        assert alter(wire, "::ffff:127.0.0.4", 1.0) == 0  # It is what an IPv4 client is called on a port of both.
    with InsideBroker(tmp_path, store) as inside:
        assert came_in(inside.port, "127.0.0.4", 6) < 6


@pytest.mark.parametrize(("address", "rate"), [("localhost", 1.0), ("10.0.0.300", 1.0), ("10.0.0.1", 0.5)])
def test_a_rate_that_cannot_hold_is_refused(tmp_path: Path, address: str, rate: float) -> None:
    """K11: names are not looked up, and a rate is a whole number, as with Kafka."""
    with InsideBroker(tmp_path, MemoryObjects()) as inside, Wire(inside.port) as wire:
        assert alter(wire, address, rate) == INVALID_REQUEST


@pytest.mark.parametrize("text", ["10.0.0.1", "10.0.0.1:", ":5", "10.0.0.1:x"])
def test_an_override_that_says_nothing_is_refused(text: str) -> None:
    """K10: at the start, with a sentence."""
    with pytest.raises(ValueError, match=r"per\.ip\.overrides"):
        BrokerSettings(max_connections_per_ip_overrides=text)


def processor_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_without_descriptors_the_broker_neither_spins_nor_shouts(tmp_path: Path) -> None:
    """K10: those who are there are served, those who come are turned away, and later all is as before."""
    with BrokerProcess(tmp_path) as broker, Wire(broker.port) as there:
        there.ask(Key.API_VERSIONS, 0)
        wait_for(lambda: any("subscribers at" in line for line in broker.said))  # gRPC ends a process without them.
        resource.prlimit(broker.pid, resource.RLIMIT_NOFILE, (len(os.listdir(f"/proc/{broker.pid}/fd")) + 10, 20_000))
        before = len(broker.said)
        many = [socket.create_connection(("127.0.0.1", broker.port)) for _ in range(200)]
        wait_for(lambda: any("a connection was refused" in line for line in broker.said[before:]))
        for _ in range(100):
            there.ask(Key.API_VERSIONS, 0)
        began = processor_s(broker.pid)
        select.select([], [], [], 1.5)  # Nobody asks for anything.
        assert processor_s(broker.pid) - began < 0.15
        said = broker.said[before:]
        assert len(said) <= 310
        assert not any("Traceback" in line for line in said)
        for each in many:
            each.close()
        wait_for(lambda: is_served(broker.port))


def is_served(port: int) -> bool:
    wire = served(port)
    if wire is not None:
        wire.close()
    return wire is not None


def test_what_clients_say_cannot_make_a_log_line() -> None:
    """K10: control characters are shown, not obeyed, and a text has a limit."""
    written = io.StringIO()
    before = logging.getLogger().handlers[:]
    try:
        begin_lines("info", "text", written)
        logging.getLogger("holdfast.test").warning("group %s", "a\n2026-01-01 INFO holdfast: stopped\x1b[2J\x9b\u2028")
        logging.getLogger("holdfast.test").warning("long %s", "x" * 100_000)
        try:
            raise ValueError("a\n2026-01-01 00:00:00.000 INFO    holdfast: stopped")
        except ValueError:
            logging.getLogger("holdfast.test").exception("failed")
    finally:
        logging.basicConfig(handlers=before, force=True)
    first, second, *rest = written.getvalue().split("\n")
    assert first.endswith(r"group a\n2026-01-01 INFO holdfast: stopped\x1b[2J\x9b\u2028")
    assert len(second) < 5000
    assert all(line.startswith("    ") for line in rest[1:-1]), rest


def test_slow_scrapes_lock_nobody_out(tmp_path: Path) -> None:
    """K10: a hundred connections to the metrics' port that never ask."""
    port = free_port()
    with BrokerProcess(tmp_path, options=["--metrics", f"127.0.0.1:{port}"]):
        slow = [socket.create_connection(("127.0.0.1", port)) for _ in range(100)]
        for each in slow:
            each.sendall(b"GET /metrics HTTP/1.1\r\n")
        with socket.create_connection(("127.0.0.1", port), 20) as link:
            link.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
            assert link.recv(100).startswith(b"HTTP/1.1 200 OK")
        for each in slow:
            each.close()
