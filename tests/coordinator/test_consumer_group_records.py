"""The records of consumer groups, byte for byte as Kafka 4.3.1's own classes write and read them."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.coordinator.group.consumer import records
from holdfast.coordinator.group.consumer.image import ConsumerImage
from holdfast.coordinator.group.consumer.member import ClassicSide, ConsumerMember, MemberState, Partitions
from holdfast.coordinator.group.consumer.patterns import Matched
from holdfast.coordinator.group.consumer.records import Epoch, MemberProgress, RecordKind
from holdfast.coordinator.group.records import ConsumerKey, apply_consumer_record, decode_key
from holdfast.coordinator.group.requests import Protocol
from holdfast.coordinator.runtime.errors import CorruptRecord, NewerRecord
from holdfast.types import PartitionId


def of(topic: int, *numbers: int) -> Partitions:
    return frozenset(PartitionId(UUID(int=topic), number) for number in numbers)


TARGET = of(1, 0, 2) | of(2, 1)
MEMBER = ConsumerMember(
    id="m",
    instance_id="i",
    client_id="c",
    client_host="/h",
    topics=frozenset({"a", "b"}),
    regex="x.*",
    rebalance_timeout_ms=1000,
    assignor="range",
    classic=ClassicSide(10_000, (Protocol("range", b"\1\2"),)),
    epoch=5,
    previous_epoch=4,
    state=MemberState.UNREVOKED,
    assigned=TARGET,
    revoking=of(1, 1),
)
TOPIC_1, TOPIC_2 = f"{1:032x}", f"{2:032x}"
TARGET_HEX = f"03{TOPIC_1}03000000000000000200{TOPIC_2}020000000100"
VALUES = {
    RecordKind.MEMBER: "00000269000263032f68030261026204782e2a000003e80672616e676501"
    "00110100002710020672616e67650301020000",
    RecordKind.EPOCH: "000000000007010008ffffffffffffcfc7",
    RecordKind.TARGET_EPOCH: "00000000000700",
    RecordKind.TARGET: f"0000{TARGET_HEX}00",
    RecordKind.CURRENT: f"0000000000050000000401{TARGET_HEX}02{TOPIC_1}02000000010000",
    RecordKind.PATTERN: "00000202610000000000000003000000000000000900",
}
KEYS = {
    RecordKind.MEMBER: "000500016700016d",
    RecordKind.EPOCH: "0003000167",
    RecordKind.TARGET_EPOCH: "0006000167",
    RecordKind.TARGET: "000700016700016d",
    RecordKind.CURRENT: "000800016700016d",
    RecordKind.PATTERN: "00100001670003782e2a",
}


def test_values_are_those_of_kafka() -> None:
    """K3: Kafka's tools read what is written here."""
    assert {
        RecordKind.MEMBER: records.encode_member(MEMBER).hex(),
        RecordKind.EPOCH: records.encode_epoch(Epoch(7, -12345)).hex(),
        RecordKind.TARGET_EPOCH: records.encode_target_epoch(7).hex(),
        RecordKind.TARGET: records.encode_target(TARGET).hex(),
        RecordKind.CURRENT: records.encode_progress(MEMBER).hex(),
        RecordKind.PATTERN: records.encode_pattern(Matched(frozenset({"a"}), 3, 9)).hex(),
    } == VALUES


@pytest.mark.parametrize("kind", KEYS)
def test_keys_are_those_of_kafka(kind: RecordKind) -> None:
    """K3: and are read back."""
    name = {RecordKind.PATTERN: "x.*", RecordKind.EPOCH: "", RecordKind.TARGET_EPOCH: ""}.get(kind, "m")
    assert records.encode_key("g", kind, name).hex() == KEYS[kind]
    assert decode_key(bytes.fromhex(KEYS[kind])) == ConsumerKey("g", kind, name)


def test_an_image_is_what_was_written() -> None:
    """K3: what is read back is what the group had."""
    image = ConsumerImage()
    for kind, value in VALUES.items():
        key = decode_key(bytes.fromhex(KEYS[kind]))
        assert isinstance(key, ConsumerKey)
        apply_consumer_record(image, key, bytes.fromhex(value))
    assert image.epoch == Epoch(7, -12345)
    assert image.target_epoch == 7
    assert image.members() == [MEMBER]
    assert image.targets == {"m": TARGET}
    assert image.progress == {"m": MemberProgress(5, 4, MemberState.UNREVOKED, TARGET, of(1, 1))}
    assert image.patterns == {"x.*": Matched(frozenset({"a"}), 3, 9)}
    for kind in VALUES:
        key = decode_key(bytes.fromhex(KEYS[kind]))
        assert isinstance(key, ConsumerKey)
        apply_consumer_record(image, key, None)
    assert image == ConsumerImage()


def test_fields_of_newer_brokers_are_skipped() -> None:
    """K3: Kafka 4.3 tags an epoch to each assigned partition; what it is for is nothing to us."""
    plain = VALUES[RecordKind.CURRENT]
    tagged = plain.replace("000000000000000200", "00000000000000020100" + "09" + "03" + "0000000500000006", 1)
    assert tagged != plain
    image = ConsumerImage()
    apply_consumer_record(image, ConsumerKey("g", RecordKind.CURRENT, "m"), bytes.fromhex(tagged))
    assert image.progress["m"].assigned == TARGET


@pytest.mark.parametrize("kind", VALUES)
def test_a_cut_or_newer_record_is_refused(kind: RecordKind) -> None:
    """K3: half of a record is never taken for a whole one."""
    value = bytes.fromhex(VALUES[kind])
    key = ConsumerKey("g", kind, "m")
    for end in range(len(value)):
        with pytest.raises(CorruptRecord):
            apply_consumer_record(ConsumerImage(), key, value[:end])
    with pytest.raises(CorruptRecord):
        apply_consumer_record(ConsumerImage(), key, value + b"\0")
    with pytest.raises(NewerRecord):
        apply_consumer_record(ConsumerImage(), key, b"\0\1" + value[2:])


@settings(max_examples=100, deadline=None)
@given(kind=st.sampled_from(sorted(VALUES)), at=st.integers(2, 60), byte=st.integers(0, 255))
def test_a_damaged_record_is_refused_or_read(kind: RecordKind, at: int, byte: int) -> None:
    """K3: other bytes make another value, or CorruptRecord; never anything else."""
    value = bytearray.fromhex(VALUES[kind])
    value[at % len(value)] = byte
    try:
        apply_consumer_record(ConsumerImage(), ConsumerKey("g", kind, "m"), bytes(value))
    except (CorruptRecord, NewerRecord):
        return
