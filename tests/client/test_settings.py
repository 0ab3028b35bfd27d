"""How a cluster is reached, in Kafka's words: one value that every tool makes and hands on."""

from __future__ import annotations

import pickle

import pytest

from holdfast.client import Client, ClientSettings
from holdfast.client.protection.secure import UnknownWord
from holdfast.client.settings import words_of
from holdfast.errors import Rejected
from holdfast.io.address import Address, BadAddress, parse_address
from holdfast.spark.sink.options import read_options
from holdfast.spark.source.options import parse
from holdfast.sync.run import Sync
from holdfast.sync.settings import SyncSettings

TWO = ClientSettings((Address("a.example", 9092), Address("::1", 9093)))


def test_settings_are_read_from_kafkas_words() -> None:
    """P3: and written again as the addresses, for people."""
    assert ClientSettings.parse({"bootstrap.servers": "a.example:9092, [::1]:9093"}) == TWO
    assert ClientSettings.at("a.example:9092,[::1]:9093") == TWO
    assert ClientSettings.at(TWO) is TWO
    assert str(TWO) == "a.example:9092,[::1]:9093"
    assert pickle.loads(pickle.dumps(TWO)) == TWO


def test_what_nobody_knows_is_refused() -> None:
    """Nothing is accepted and ignored: whoever asks for something must not go without it."""
    with pytest.raises(UnknownWord, match=r"security\.protocoll, did you mean security\.protocol\?"):
        ClientSettings.parse({"bootstrap.servers": "a:1", "security.protocoll": "SSL"})
    with pytest.raises(Rejected, match=r"bootstrap\.servers is missing"):
        ClientSettings.parse({})
    with pytest.raises(Rejected, match=r"kafka\.security\.protocol"):
        parse({"path": "/data", "subscribe": "t", "kafka.security.protocoll": "SSL"}, stream=False)
    with pytest.raises(Rejected, match=r"kafka\.security\.protocol"):
        read_options({"staging": "/s", "kafka.bootstrap.servers": "a:1", "kafka.security.protocoll": "SSL"})


def test_every_tool_makes_the_same_of_it() -> None:
    """P3: Spark's source and sink hand the whole value on; how it is protected, `test_secure` has."""
    words = {"kafka.bootstrap.servers": "a.example:9092,[::1]:9093"}
    assert parse({"path": "/data", "subscribe": "t", **words}, stream=False).kafka == TWO
    assert read_options({"staging": "/s", **words}).kafka == TWO
    assert parse({"path": "/data", "subscribe": "t"}, stream=False).kafka is None
    assert words_of({"kafka.bootstrap.servers": "a:1", "path": "p"}, "kafka.") == {"bootstrap.servers": "a:1"}


@pytest.mark.parametrize("text", ["nowhere", ":9092", "a:", "a:b", "a:70000", "a:9092,b"])
def test_a_text_that_is_no_address_is_told_before_anybody_is_asked(text: str) -> None:
    with pytest.raises(BadAddress, match="several with commas"):
        Client(text)
    with pytest.raises(BadAddress):
        Sync(text, "127.0.0.1:1", SyncSettings())
    with pytest.raises(BadAddress) as alone:
        parse_address(text.partition(",")[2] or text)
    assert "commas" not in str(alone.value)
