"""K7: whatever the bytes, a decoder returns a value or raises Malformed, and memory and time stay bounded."""

from __future__ import annotations

import random
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from tests.protocol import fuzz

from holdfast.protocol import messages
from holdfast.protocol.api import APIS, Api, Key
from holdfast.protocol.errors import Malformed
from holdfast.protocol.generated.heartbeat import HeartbeatRequest
from holdfast.protocol.hot import fetch, produce
from holdfast.protocol.wire import ITEMS_MAX, encode_varint

MB = 1_000_000
DECODERS = fuzz.decoders()


@pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.name)
def test_damaged_messages(api: Api) -> None:
    """K7: nothing but Malformed comes out of damaged messages."""
    for name, entity_class, decode in decoders_of(api):
        chance = random.Random(name)
        outcomes = set()
        for _ in range(50):
            data = fuzz.damaged(chance, entity_class)
            outcomes.add(fuzz.attempt(decode, data))
            fuzz.attempt_header(data)
        assert False in outcomes or not fuzz.valid(entity_class, 0)  # What is empty cannot be damaged.


@pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.name)
def test_cut_messages(api: Api) -> None:
    """K7: a message that ends too early is refused, wherever that is."""
    for name, entity_class, decode in decoders_of(api):
        whole = fuzz.valid(entity_class, 2)
        assert fuzz.attempt(decode, whole), name
        for size in random.Random(name).sample(range(len(whole)), min(len(whole), 200)):
            assert not fuzz.attempt(decode, whole[:size]), (name, size)


@pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.name)
def test_huge_sizes_and_counts(api: Api) -> None:
    """K7: a number that promises gigabytes, anywhere in a message, takes no memory."""
    for name, entity_class, decode in decoders_of(api):
        whole = fuzz.valid(entity_class, 2)
        places = random.Random(name).sample(range(len(whole)), min(len(whole), 20))
        fuzz.attempt(decode, whole)  # What the decoder is made of does not count.
        with peak_below(MB):
            for at in places:
                for huge in (b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff\x07", b"\x7f\xff"):
                    fuzz.attempt(decode, whole[:at] + huge + whole[at + len(huge) :])


def decoders_of(api: Api) -> list[tuple[str, Any, fuzz.Decoder]]:
    return [(name, *found) for name, found in DECODERS.items() if name.startswith(f"{api.name} v")]


@contextmanager
def peak_below(size: int) -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < size
    finally:
        tracemalloc.stop()


def by_hand(key: Key, version: int) -> Callable[[memoryview], Any]:
    return DECODERS[f"{APIS[key].name} v{version} request by hand"][1]


def by_schema(key: Key, version: int) -> Callable[[memoryview], Any]:
    return DECODERS[f"{APIS[key].name} v{version} request"][1]


def storm(head: str, item: str, count: int) -> bytes:
    """A message whose last array has this many items, with what an array behind it and the tags may need."""
    return bytes.fromhex(head) + encode_varint(count + 1) + bytes.fromhex(item) * count + b"\x01\x01" + bytes(10)


STORMS = {
    "produce: partitions without records": (by_hand(Key.PRODUCE, 9), "00 ffff 00000000 02 02 74", "00000000 01 00"),
    "fetch: topics without partitions": (by_hand(Key.FETCH, 12), "00" * 25, "01 01 00"),
    "join group: protocols": (by_schema(Key.JOIN_GROUP, 9), "01 0000ea60 0000ea60 01 00 01", "01 01 00"),
    "create topics: topics": (by_schema(Key.CREATE_TOPICS, 7), "", "01 00000001 0001 01 01 00"),
    "describe groups: names": (by_schema(Key.DESCRIBE_GROUPS, 5), "", "03 6162"),
}


@pytest.mark.parametrize("name", STORMS)
def test_storms_of_small_items(name: str) -> None:
    """K7: as many items as are allowed take some ten megabytes; one more and the message is refused at once."""
    decode, head, item = STORMS[name]
    count_max = produce.ITEMS_MAX if name.startswith("produce") else ITEMS_MAX
    allowed = storm(head, item, count_max - 1)
    with peak_below(40 * MB):
        decode(memoryview(allowed))
    too_many = storm(head, item, count_max + 1)
    with peak_below(MB), pytest.raises(Malformed, match="more than"):
        decode(memoryview(too_many))


@contextmanager
def cpu_below(seconds: float) -> Iterator[None]:
    start = time.process_time()
    yield
    assert time.process_time() - start < seconds


def test_varints_without_an_end() -> None:
    """K7: a varint ends after five bytes."""
    endless = memoryview(b"\xff" * MB)
    with cpu_below(1):
        for decode in (by_hand(Key.PRODUCE, 9), by_schema(Key.LIST_GROUPS, 5), by_schema(Key.JOIN_GROUP, 9)):
            with pytest.raises(Malformed, match="more than 32 bits"):
                decode(endless)


def test_storms_of_tags() -> None:
    """K7: tagged fields take time by their number, not by its square, and no memory."""
    count = ITEMS_MAX - 1
    tagged = bytes.fromhex("01 01 01 05 00")  # A protocol with an empty name, empty metadata and one tag.
    body = bytes.fromhex("01 0000ea60 0000ea60 01 00 01") + encode_varint(count + 1) + tagged * count + b"\x01\x00"
    with cpu_below(3):
        assert len(messages.decode_request(Key.JOIN_GROUP, 9, memoryview(body)).protocols) == count
    many = b"\x01\x00\x00\x00\x00\x01\x00" + encode_varint(count) + b"\x05\x00" * count
    with peak_below(MB // 10):
        request = messages.decode_request(Key.HEARTBEAT, 4, memoryview(many))
    assert request == HeartbeatRequest()


def test_nulls_where_none_may_be() -> None:
    """K7: a handler never meets a null that the schema does not allow."""
    for body, why in ((b"\x00" * 30, "group_id is null"), (b"\x01\x00\x00\x00\x01\x00\x00\x00", "member_id is null")):
        with pytest.raises(Malformed, match=why):
            messages.decode_request(Key.HEARTBEAT, 4, memoryview(body))
    with pytest.raises(Malformed, match="must be there is null"):
        produce.decode_request(9, memoryview(bytes.fromhex("00 ffff 00000000 00 00")))
    with pytest.raises(Malformed, match="must be there is null"):
        fetch.decode_request(12, memoryview(b"\x00" * 40))


def test_a_tagged_field_of_the_wrong_size() -> None:
    """K7: a known tag is exactly as long as it says."""
    good = bytes.fromhex(
        "000001f4 00000001 00100000 00 00000000 ffffffff 01 01 01 01 01 0d 00000005 0000000000000009 00"
    )
    assert fetch.decode_request(15, memoryview(good)).replica_id == 5
    assert messages.decode_request(Key.FETCH, 15, memoryview(good)).replica_state.replica_epoch == 9
    bad = good.replace(b"\x01\x0d", b"\x01\x0e") + b"\x00\x00"
    for decode in (by_hand(Key.FETCH, 15), by_schema(Key.FETCH, 15)):
        with pytest.raises(Malformed, match="announced"):
            decode(memoryview(bad))
