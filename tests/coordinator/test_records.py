"""The records of the internal topic, against bytes that Kafka 4.3.1 wrote."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.consumer.metadata import ConsumerProtocolSubscription

from holdfast.coordinator.group.answers import CommittedOffset
from holdfast.coordinator.group.classic.image import GroupImage, MemberImage
from holdfast.coordinator.group.classic.subscription import topics_of
from holdfast.coordinator.group.records import (
    GroupKey,
    OffsetKey,
    UnknownKey,
    decode_group,
    decode_key,
    decode_offset,
    encode_group,
    group_key,
    offset_record,
)
from holdfast.coordinator.runtime.errors import CorruptRecord, NewerRecord
from holdfast.coordinator.runtime.internal_topic import java_hash, partition_of
from holdfast.errors import Corrupt
from holdfast.types import TopicPartition

GROUP = "grüppe"
PLACE = TopicPartition("orders", 7)
OFFSET_KEY = bytes.fromhex("000100076772c3bc70706500066f726465727300000007")
LEGACY_KEY = bytes.fromhex("000000076772c3bc70706500066f726465727300000007")
GROUP_KEY = bytes.fromhex("000200076772c3bc707065")

OFFSETS = [
    "00000000001cbe991a1400036ec3a90000018bcfe56800",
    "00010000001cbe991a1400036ec3a90000018bcfe568000000018bcfe6ee9f",
    "00020000001cbe991a1400036ec3a90000018bcfe56800",
    "00030000001cbe991a140000000500036ec3a90000018bcfe56800",
    "00040000001cbe991a1400000005046ec3a90000018bcfe5680001001000000000000000010000000000000002",
]
OFFSET = CommittedOffset(123456789012, 5, "né", 1_700_000_000_000)

GROUPS = [
    "00000008636f6e73756d65720000002a000572616e676500026d300000000200026d3000026330000a2f3132372e302e302e31000027100000"
    "00030102000000000000026d3100026331000a2f3132372e302e302e3100002711000000030102010000000109",
    "00010008636f6e73756d65720000002a000572616e676500026d300000000200026d3000026330000a2f3132372e302e302e310000ea600000"
    "2710000000030102000000000000026d3100026331000a2f3132372e302e302e310000ea6100002711000000030102010000000109",
    "00020008636f6e73756d65720000002a000572616e676500026d300000018bcfe568010000000200026d3000026330000a2f3132372e302e30"
    "2e310000ea6000002710000000030102000000000000026d3100026331000a2f3132372e302e302e310000ea61000027110000000301020100"
    "00000109",
    "00030008636f6e73756d65720000002a000572616e676500026d300000018bcfe568010000000200026d30ffff00026330000a2f3132372e30"
    "2e302e310000ea6000002710000000030102000000000000026d310004696e737400026331000a2f3132372e302e302e310000ea6100002711"
    "000000030102010000000109",
    "000409636f6e73756d65720000002a0672616e6765036d300000018bcfe5680103036d30000363300b2f3132372e302e302e310000ea600000"
    "2710040102000100036d3105696e73740363310b2f3132372e302e302e310000ea61000027110401020102090000",
]
EMPTY_GROUP = bytes.fromhex("0003000000000003ffffffffffffffffffffffff00000000")


def group(version: int) -> GroupImage:
    """What the vectors hold, as far as a version can say it."""
    members = tuple(
        MemberImage(
            f"m{number}",
            "inst" if number and version >= 3 else None,
            f"c{number}",
            "/127.0.0.1",
            60_000 + number if version >= 1 else 10_000 + number,
            10_000 + number,
            bytes([1, 2, number]),
            b"\x09" if number else b"",
        )
        for number in range(2)
    )
    return GroupImage("consumer", 42, "range", "m0", 1_700_000_000_001 if version >= 2 else -1, members)


def test_keys() -> None:
    """K3: as Kafka writes them, and an older one that Kafka still reads."""
    assert offset_record(GROUP, PLACE, OFFSET, 0).key == OFFSET_KEY
    assert group_key(GROUP) == GROUP_KEY
    assert decode_key(OFFSET_KEY) == decode_key(LEGACY_KEY) == OffsetKey(GROUP, PLACE)
    assert decode_key(GROUP_KEY) == GroupKey(GROUP)


@pytest.mark.parametrize("version", range(5))
def test_offsets_of_every_version(version: int) -> None:
    """K3: what a version does not say is unknown, not zero."""
    expected = OFFSET if version >= 3 else OFFSET._replace(leader_epoch=-1)
    if version == 1:
        expected = expected._replace(expires_at_ms=1_700_000_099_999)
    assert decode_offset(bytes.fromhex(OFFSETS[version])) == expected


def test_offsets_are_written_as_kafka_writes_them() -> None:
    """K3: version 3, or 1 for an offset that has a time of its own to expire."""
    assert offset_record(GROUP, PLACE, OFFSET, 0).value == bytes.fromhex(OFFSETS[3])
    expiring = OFFSET._replace(expires_at_ms=1_700_000_099_999)
    assert offset_record(GROUP, PLACE, expiring, 0).value == bytes.fromhex(OFFSETS[1])
    assert offset_record(GROUP, PLACE, None, 0).value is None


@pytest.mark.parametrize("version", range(5))
def test_groups_of_every_version(version: int) -> None:
    """K3: members of older versions have the session timeout for a rebalance timeout."""
    assert decode_group(bytes.fromhex(GROUPS[version])) == group(version)


def test_groups_are_written_as_kafka_writes_them() -> None:
    """K3: version 3."""
    assert encode_group(group(3)) == bytes.fromhex(GROUPS[3])
    assert encode_group(GroupImage("", 3, None, None, -1, ())) == EMPTY_GROUP


def test_a_key_of_an_unknown_kind_is_known_as_such() -> None:
    """K3: whatever follows the kind."""
    assert decode_key(b"\x00\x0aanything") == UnknownKey(10)
    assert decode_key(b"\xff\xff") == UnknownKey(-1)


@pytest.mark.parametrize(("decode", "kind"), [(decode_offset, "committed offset"), (decode_group, "group")])
def test_a_newer_version_is_refused(decode, kind: str) -> None:
    """K3: never misread; the error says what to do."""
    with pytest.raises(NewerRecord, match="upgrade") as caught:
        decode(b"\x00\x05" + bytes(100))
    assert (caught.value.kind, caught.value.version, caught.value.version_max) == (kind, 5, 4)
    with pytest.raises(CorruptRecord):
        decode(b"\xff\xff" + bytes(100))


@pytest.mark.parametrize(
    ("decode", "data"),
    [
        *((decode_key, key) for key in (OFFSET_KEY, LEGACY_KEY, GROUP_KEY)),
        *((decode_offset, bytes.fromhex(value)) for value in OFFSETS),
        *((decode_group, bytes.fromhex(value)) for value in GROUPS),
    ],
)
def test_cut_or_longer_records_are_refused(decode, data: bytes) -> None:
    """K3: every cut, and every byte too many."""
    for end in range(len(data)):
        with pytest.raises(CorruptRecord):
            decode(data[:end])
    with pytest.raises(CorruptRecord):
        decode(data + b"\x00")


def test_sizes_that_lie() -> None:
    """K3: a count that cannot be is refused before anything is made of it."""
    value = bytearray.fromhex(GROUPS[3])
    at = value.index(bytes.fromhex("0000018bcfe56801")) + 8
    for count in (b"\x7f\xff\xff\xff", b"\x80\x00\x00\x00", b"\xff\xff\xff\xfe"):
        value[at : at + 4] = count
        with pytest.raises(CorruptRecord):
            decode_group(bytes(value))
    with pytest.raises(CorruptRecord):
        decode_group(b"\x00\x04" + b"\xff" * 10)


@given(st.binary(max_size=200), st.integers(0, 4))
def test_any_bytes_give_a_value_or_the_error(data: bytes, version: int) -> None:
    """K3: and nothing else."""
    for decode in (decode_offset, decode_group, decode_key):
        with contextlib.suppress(Corrupt):
            decode(version.to_bytes(2, "big") + data)


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
numbers = st.integers(-(1 << 31), (1 << 31) - 1)
members = st.builds(
    MemberImage, texts, st.none() | texts, texts, texts, numbers, numbers, st.binary(max_size=9), st.binary(max_size=9)
)
images = st.builds(
    GroupImage, texts, numbers, st.none() | texts, st.none() | texts, numbers, st.lists(members, max_size=3).map(tuple)
)


@given(texts, images, texts, st.integers(0, 1 << 31), st.integers(0, 1 << 62), texts)
def test_what_is_written_is_read(
    group_id: str, image: GroupImage, topic: str, part: int, offset: int, text: str
) -> None:
    """K3: groups and offsets with any content."""
    partition = TopicPartition(topic, part % (1 << 31))
    assert (decode_key(group_key(group_id)), decode_group(encode_group(image))) == (GroupKey(group_id), image)
    value = CommittedOffset(offset, 7, text, 5)
    record = offset_record(group_id, partition, value, 5)
    assert (decode_key(record.key), decode_offset(record.value or b"")) == (OffsetKey(group_id, partition), value)


@pytest.mark.parametrize(
    ("group_id", "hashed", "partition"),
    [
        ("", 0, 0),
        ("a", 97, 47),
        ("my-group", -1906497762, 12),
        ("console-consumer-12345", 158455506, 6),
        ("grüppe", -1233264812, 12),
        ("polygenelubricants", -(1 << 31), 0),
        ("😀", 1772899, 49),
    ],
)
def test_groups_are_where_kafka_has_them(group_id: str, hashed: int, partition: int) -> None:
    """K3: with 50 partitions, as Java computes it."""
    assert (java_hash(group_id), partition_of(group_id, 50)) == (hashed, partition)


def test_topics_of_a_subscription() -> None:
    """K3: every version begins alike; another form is no subscription."""
    assert topics_of(bytes.fromhex("0000 00000002 0001 61 0001 62 ffffffff")) == {"a", "b"}
    assert topics_of(bytes.fromhex("0001 00000001 0001 61 ffffffff 00000000")) == {"a"}
    assert topics_of(bytes.fromhex("0003 00000000 ffffffff 00000000 ffffffff ffff")) == frozenset()
    for other in (b"", b"\x00", b"\x00\x00\x00\x00\x00\x09", b"\xff\xff\x00\x00\x00\x00"):
        assert topics_of(other) is None


def test_subscriptions_of_another_client() -> None:
    """K3: kafka-python's own encoder, with owned partitions and without."""
    for version in range(4):
        data = ConsumerProtocolSubscription(topics=["x", "y"], user_data=b"?").encode(version=version)
        assert topics_of(data) == {"x", "y"}
