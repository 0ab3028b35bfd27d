"""Several listeners: each has a name, a protection, and an address of its own that its clients are told."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from tests.broker.conftest import FAST
from tests.broker.wire import Wire
from tests.support.broker_process import COMMAND, BrokerProcess

from holdfast.broker.listeners import Listener, parse_listeners
from holdfast.io.address import Address
from holdfast.protocol.api import Key
from holdfast.security.protocol import SecurityProtocol
from holdfast.testing.ports import free_port

PLAINTEXT, SSL = SecurityProtocol.PLAINTEXT, SecurityProtocol.SSL
OUTSIDE = Address("broker.example", 19093)


def test_listeners_are_written_as_in_kafka() -> None:
    """X1: names in any case, IPv6, an empty host for all interfaces, protections by name."""
    found = parse_listeners(
        "plaintext://127.0.0.1:9092, Outside://[::1]:9093,ALL://:9094",
        "OUTSIDE://broker.example:19093,ALL://broker.example:19094",
        "PLAINTEXT:PLAINTEXT,outside:ssl,ALL:PLAINTEXT",
    )
    assert found == (
        Listener("PLAINTEXT", PLAINTEXT, Address("127.0.0.1", 9092), None),
        Listener("OUTSIDE", SSL, Address("::1", 9093), OUTSIDE),
        Listener("ALL", PLAINTEXT, Address("0.0.0.0", 9094), Address("broker.example", 19094)),
    )


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        (("127.0.0.1:9092",), "write NAME://HOST:PORT"),
        (("A://127.0.0.1:9092",), "says nothing of the listener A"),
        (("SSL://127.0.0.1:9092,ssl://127.0.0.1:9093",), "two listeners of the name SSL"),
        (("SSL://127.0.0.1:9092,PLAINTEXT://127.0.0.1:9092",), "two listeners at 127.0.0.1:9092"),
        (("SSL://127.0.0.1:port",), "is no address"),
        (("SSL://0.0.0.0:9092",), "cannot be told 0.0.0.0"),
        (("SSL://:9092", "SSL://[::]:9092"), "cannot be told ::"),
        (("SSL://:9092", "SSL://broker.example:0"), "port 0"),
        (("SSL://127.0.0.1:9092", "PLAINTEXT://127.0.0.1:9093"), "names PLAINTEXT, but there is no such listener"),
        (("A://127.0.0.1:9092", "", "A:TLS"), "'A:TLS' is not one name"),
    ],
)
def test_what_is_no_listener_is_refused_with_a_sentence(texts: tuple[str, ...], why: str) -> None:
    """X1: and says what is wrong with it."""
    with pytest.raises(ValueError, match=why):
        parse_listeners(*texts)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--listen", "127.0.0.1:0", "--set", "listeners=PLAINTEXT://127.0.0.1:0"], "keep one"),
        (["--set", "advertised.listeners=PLAINTEXT://127.0.0.1:1"], "without listeners"),
    ],
)
def test_one_place_says_where_to_listen(options: list[str], why: str, tmp_path: Path) -> None:
    """X1: two that contradict each other are refused."""
    command = [COMMAND, "serve", "--data", str(tmp_path), *options]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, why in ended.stderr) == (1, True), ended.stderr


@pytest.fixture(scope="module")
def ports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, int]]:
    """A broker with a port for the house, and one whose clients are told another address."""
    inside, outside = free_port(), free_port()
    settings = (
        f"listeners=PLAINTEXT://127.0.0.1:{inside},OUTSIDE://127.0.0.1:{outside}",
        f"advertised.listeners=OUTSIDE://{OUTSIDE}",
        "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,OUTSIDE:PLAINTEXT",
    )
    data = tmp_path_factory.mktemp("listeners")
    with BrokerProcess(data, port=inside, settings=[*FAST, *settings], sets_listeners=True):
        yield inside, outside


def _by_metadata(wire: Wire) -> tuple[str, int]:
    [node] = wire.ask(Key.METADATA, 9, topics=[{"name": "orders"}], allow_auto_topic_creation=True).brokers
    return node.host, node.port


def _by_coordinator(wire: Wire) -> tuple[str, int]:
    [found] = wire.ask(Key.FIND_COORDINATOR, 4, key_type=0, coordinator_keys=["g"]).coordinators
    return found.host, found.port


def _by_older_coordinator(wire: Wire) -> tuple[str, int]:
    found = wire.ask(Key.FIND_COORDINATOR, 1, key_type=0, key="g")
    return found.host, found.port


def _by_cluster(wire: Wire) -> tuple[str, int]:
    [node] = wire.ask(Key.DESCRIBE_CLUSTER, 0).brokers
    return node.host, node.port


def _by_quorum(wire: Wire) -> tuple[str, int]:
    wanted = [{"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}]
    [listener] = wire.ask(Key.DESCRIBE_QUORUM, 2, topics=wanted).nodes[0].listeners
    return listener.host, listener.port


@pytest.mark.parametrize(
    "told",
    [_by_metadata, _by_coordinator, _by_older_coordinator, _by_cluster, _by_quorum],
    ids=lambda each: each.__name__,
)
def test_each_listener_tells_its_own_address(ports: tuple[int, int], told: Callable[[Wire], tuple[str, int]]) -> None:
    """X1: whoever came through one is never sent to another, whatever was asked before on which. The test of X1."""
    inside, outside = ports
    for _ in range(2):
        with Wire(inside) as near, Wire(outside) as far:
            assert (told(near), told(far)) == (("127.0.0.1", inside), tuple(OUTSIDE))


def test_a_client_stays_on_its_listener(ports: tuple[int, int]) -> None:
    """X1: a real client goes to the address that it is told."""
    inside, _ = ports
    [node] = AdminClient({"bootstrap.servers": f"127.0.0.1:{inside}"}).list_topics(timeout=20).brokers.values()
    assert (node.host, node.port) == ("127.0.0.1", inside)


def test_limits_are_of_all_listeners_together(tmp_path: Path) -> None:
    """X1: a second port is no way around max.connections."""
    first, second = free_port(), free_port()
    settings = (
        f"listeners=PLAINTEXT://127.0.0.1:{first},B://127.0.0.1:{second}",
        "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,B:PLAINTEXT",
        "max.connections=2",
    )
    with (
        BrokerProcess(tmp_path, port=first, settings=settings, sets_listeners=True),
        Wire(first) as one,
        Wire(second) as two,
    ):
        assert [_by_cluster(each)[1] for each in (one, two)] == [first, second]
        with Wire(second) as three:
            assert three.is_closed()
        assert _by_cluster(one)[1] == first


def test_listeners_are_shown_as_configs(ports: tuple[int, int]) -> None:
    """X1: as they were set."""
    inside, outside = ports
    with Wire(inside) as wire:
        wanted = {"resource_type": 4, "resource_name": "0", "configuration_keys": ["listeners", "advertised.listeners"]}
        [found] = wire.ask(Key.DESCRIBE_CONFIGS, 4, resources=[wanted]).results
    assert {each.name: each.value for each in found.configs} == {
        "listeners": f"PLAINTEXT://127.0.0.1:{inside},OUTSIDE://127.0.0.1:{outside}",
        "advertised.listeners": f"OUTSIDE://{OUTSIDE}",
    }
