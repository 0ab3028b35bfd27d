"""Where subscribers are served, beside the Kafka port, and how that is protected."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from holdfast.broker.net.listener import OpenListener, open_listeners
from holdfast.broker.settings import BrokerSettings
from holdfast.cli.serve.doors import Door, NoDoor, subscribers_door
from holdfast.cli.subscribe.port import address_of, told_at
from holdfast.errors import Rejected
from holdfast.io.address import Address
from holdfast.subscribe.settings import SubscribeSettings
from holdfast.testing.certificates import AuthorityFolder


@pytest.mark.parametrize(
    ("listen", "kafka", "expected"),
    [
        ("auto", 9092, Address("127.0.0.1", 9094)),
        ("auto", 0, Address("127.0.0.1", 0)),
        ("[::1]:7000", 0, Address("::1", 7000)),
    ],
)
def test_beside_a_port_that_was_chosen_any_free_one_is_taken(listen: str, kafka: int, expected: Address) -> None:
    """S1: the neighbours of a port that the system chose belong to others: they are never taken by number."""
    assert address_of(listen, Address("127.0.0.1", kafka)) == expected


@pytest.mark.parametrize(
    ("listen", "here", "expected"),
    [
        ("auto", Address("0.0.0.0", 9094), "broker.example:9094"),
        ("auto", Address("127.0.0.1", 9094), "broker.example:9094"),
        ("0.0.0.0:7000", Address("0.0.0.0", 7000), "broker.example:7000"),
        ("10.0.0.9:7000", Address("10.0.0.9", 7000), "10.0.0.9:7000"),
    ],
)
def test_what_subscribers_are_told(listen: str, here: Address, expected: str) -> None:
    """S1: where each broker serves what it leads, others tell its subscribers where it is: never everywhere."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        door = Door(listen, OpenListener.plain(bound, Address("broker.example", 9092)))
        assert str(told_at(door, here)) == expected


def test_an_address_that_nobody_can_reach_is_not_advertised() -> None:
    """K11: it is refused with the name of the setting."""
    for text in ("broker.example", "broker.example:0", "0.0.0.0:9094", "[::]:9094"):
        with pytest.raises(ValueError, match=r"advertise must be HOST:PORT"):
            SubscribeSettings(advertise=text)
    assert SubscribeSettings(advertise="broker.example:9094").advertise == "broker.example:9094"


def _door(keystore: Path, listen: str, **words: str) -> Door | NoDoor:
    settings = BrokerSettings(
        listeners="SSL://127.0.0.1:0,PLAINTEXT://127.0.0.1:0",
        ssl_keystore_location=str(keystore),
        **words,  # type: ignore[arg-type]
    )
    listeners = open_listeners(settings.parsed_listeners(), settings.words_of, "")
    try:
        return subscribers_door(listen, listeners, settings)
    finally:
        for each in listeners:
            each.bound.close()


def test_what_grpc_cannot_be_held_to_is_not_promised(tmp_path: Path) -> None:
    """X2, X8, K11: TLS 1.3 alone, or some suites: no port unasked, and a sentence for whoever asks for one."""
    keystore = AuthorityFolder(tmp_path).signed("broker")
    assert isinstance(_door(keystore, "auto"), Door)
    assert isinstance(_door(keystore, "auto", ssl_enabled_protocols="TLSv1.3,TLSv1.2"), Door)
    told = _door(keystore, "auto", ssl_enabled_protocols="TLSv1.3")
    assert isinstance(told, NoDoor)
    assert "gRPC cannot be held" in told.why
    for listen in ("127.0.0.1:1", "SSL://127.0.0.1:1"):
        with pytest.raises(Rejected, match="choose another listener"):
            _door(keystore, listen, ssl_enabled_protocols="TLSv1.3")
    plain = _door(keystore, "PLAINTEXT://127.0.0.1:1", ssl_enabled_protocols="TLSv1.3")
    assert isinstance(plain, Door)
    assert plain.listener is not None
    assert plain.listener.tls is None
    with pytest.raises(Rejected, match="there are SSL, PLAINTEXT"):
        _door(keystore, "OUTSIDE://127.0.0.1:1")
