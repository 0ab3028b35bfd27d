"""K12: no batch that consumers could not read is acknowledged; K11: and what a topic says of its records holds."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Any

import pytest
from crc32c import crc32c
from tests.broker.wire import NOW_MS, Wire, batch, create_topic, end_offset, fetch, keyed, produce, read, values
from tests.record.test_malformed import BAD
from tests.record.test_validate import CLIENTS_FAIL, said_to_be
from tests.support.broker_process import BrokerProcess

from holdfast.protocol.api import Key
from holdfast.record.build import build
from holdfast.record.layout import Codec
from holdfast.record.records import Record

CORRUPT_MESSAGE, INVALID_TIMESTAMP, INVALID_RECORD = 2, 32, 87
HOUR_MS = 3_600_000
MANY = 40  # Records: more than are looked at in Python.


def with_fields(made: bytes, **at: tuple[str, int, int]) -> bytes:
    """A batch with other numbers in its header, and a right crc."""
    changed = bytearray(made)
    for form, position, number in at.values():
        struct.pack_into(form, changed, position, number)
    struct.pack_into(">I", changed, 17, crc32c(memoryview(changed)[21:]))
    return bytes(changed)


def counted(count: int, made: bytes) -> bytes:
    return with_fields(made, last=(">i", 23, count - 1), count=(">i", 57, count))


@pytest.mark.parametrize("name", [*BAD, *CLIENTS_FAIL])
def test_malformed_records_are_refused(wire: Wire, name: str) -> None:
    """K12: INVALID_RECORD, nothing is appended, and the connection stays. The test of K12."""
    if not _exists(wire, "malformed"):
        create_topic(wire, "malformed")
    bad = bytes(BAD[name][0] if name in BAD else CLIENTS_FAIL[name])
    assert produce(wire, "malformed", bad).error_code == INVALID_RECORD
    assert end_offset(wire, "malformed") == 0


def _exists(wire: Wire, topic: str) -> bool:
    [found] = wire.ask(
        Key.METADATA, 9, topics=[{"name": topic}], allow_auto_topic_creation=False,
        include_cluster_authorized_operations=False, include_topic_authorized_operations=False,
    ).topics  # fmt: skip
    return bool(found.error_code == 0)


@pytest.mark.parametrize("codec", list(Codec))
def test_a_batch_that_counts_wrongly_is_refused(wire: Wire, topic: str, codec: Codec) -> None:
    """K12: one record that says it is five, or 2,147,483,647, and many that say they are one more or less."""
    create_topic(wire, topic)
    one, many = batch(b"x" * 50, codec=codec), batch(*[b"x" * 50] * MANY, codec=codec)
    for bad in (counted(5, one), counted(2**31 - 1, one), counted(MANY - 1, many), counted(MANY + 1, many)):
        assert produce(wire, topic, bad).error_code == INVALID_RECORD
    assert produce(wire, topic, many).error_code == 0
    assert values(fetch(wire, topic).records) == [b"x" * 50] * MANY


@pytest.mark.parametrize("codec", [each for each in Codec if each])
def test_rubbish_that_says_it_is_compressed_is_refused(wire: Wire, topic: str, codec: Codec) -> None:
    """K12."""
    create_topic(wire, topic)
    assert produce(wire, topic, bytes(said_to_be(codec, b"rubbish" * 30))).error_code == INVALID_RECORD
    assert end_offset(wire, topic) == 0


def test_a_bomb_is_refused(broker: BrokerProcess, wire: Wire, topic: str) -> None:
    """K12: 10 kB that expand to 300 MiB are followed to the limit and no further."""
    create_topic(wire, topic)
    assert produce(wire, topic, batch(b"fine")).error_code == 0
    Path(f"/proc/{broker.pid}/clear_refs").write_text("5")  # From here on the peak counts anew.
    before = peak_size(broker.pid)
    deflated = said_to_be(Codec.ZSTD, bytes.fromhex("28b52ffd 00 58") + b"\x02\x00\x10x" * 2400 + b"\x03\x00\x10x")
    assert produce(wire, topic, bytes(deflated)).error_code == INVALID_RECORD
    assert peak_size(broker.pid) - before < 256 << 20  # What is decompressed grows by doubling.
    assert produce(wire, topic, batch(b"fine")).error_code == 0


def peak_size(pid: int) -> int:
    """Bytes of memory that a process has had at most."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found
    return int(found[1]) * 1024


def test_large_batches_keep_the_order_of_their_connection(wire: Wire, topic: str) -> None:
    """K12: what waits for a thread is not overtaken by what does not, and is answered in its place."""
    create_topic(wire, topic)
    large = [batch(*[b"%d" % number * 20_000] * MANY, codec=Codec.LZ4) for number in range(3)]
    sent = [large[0], batch(b"small"), large[1], large[2], batch(b"last")]
    numbers = [_send(wire, topic, each) for each in sent]
    offsets = [_placed(wire, number) for number in numbers]
    assert offsets == [0, MANY, MANY + 1, 2 * MANY + 1, 3 * MANY + 1]


def _send(wire: Wire, topic: str, made: bytes) -> int:
    topics = [{"name": topic, "partition_data": [{"index": 0, "records": made}]}]
    return wire.send(Key.PRODUCE, 9, transactional_id=None, acks=-1, timeout_ms=5000, topic_data=topics)


def _placed(wire: Wire, number: int) -> int:
    [topic] = wire.answer(Key.PRODUCE, 9, number).responses
    [made] = topic.partition_responses
    assert made.error_code == 0, made.error_message
    return int(made.base_offset)


def test_a_bad_partition_does_not_stop_the_others_of_its_request(wire: Wire, topic: str) -> None:
    """K12: each partition has an answer of its own."""
    create_topic(wire, topic, partitions=3)
    bad = bytes(BAD["record size zero"][0])
    data = [{"index": index, "records": made} for index, made in enumerate([batch(b"a"), bad, batch(b"c")])]
    answer: Any = wire.ask(
        Key.PRODUCE, 9, transactional_id=None, acks=-1, timeout_ms=5000,
        topic_data=[{"name": topic, "partition_data": data}],
    )  # fmt: skip
    [made] = answer.responses
    assert [each.error_code for each in made.partition_responses] == [0, INVALID_RECORD, 0]


def test_a_topic_may_take_whatever_has_a_right_crc(wire: Wire, topic: str) -> None:
    """K12: only where its config says so."""
    create_topic(wire, topic, holdfast_validate_records="false")
    assert produce(wire, topic, bytes(BAD["record size zero"][0])).error_code == 0
    damaged = bytearray(batch(b"x"))
    damaged[-1] ^= 1
    assert produce(wire, topic, bytes(damaged)).error_code == CORRUPT_MESSAGE


def test_records_without_a_key_are_refused_where_keys_are_compacted(wire: Wire, topic: str) -> None:
    """K11, K12: INVALID_RECORD, as Kafka answers; with keys they are taken."""
    create_topic(wire, topic, cleanup_policy="compact")
    assert produce(wire, topic, batch(b"x")).error_code == INVALID_RECORD
    mixed = bytes(build([Record(b"k", b"v", NOW_MS)] * MANY + [Record(None, b"v", NOW_MS)]))
    assert produce(wire, topic, mixed).error_code == INVALID_RECORD
    assert produce(wire, topic, keyed((b"k", None), (b"", b"v"))).error_code == 0
    assert end_offset(wire, topic) == 2


@pytest.mark.parametrize("codec", [0, 3], ids=["plain", "lz4"])
@pytest.mark.parametrize("version", [7, 8, 9, 12])
def test_which_records_have_no_key_is_told(wire: Wire, topic: str, version: int, codec: int) -> None:
    """K11: from version 8 on, so that a client can tell them from those that failed because of them."""
    create_topic(wire, topic, cleanup_policy="compact")
    records = [Record(None if number % 10 == 3 else b"k", b"v" * number, NOW_MS) for number in range(35)]
    found = produce(wire, topic, bytes(build(records, codec=codec)), version=version)
    assert found.error_code == INVALID_RECORD
    told = [each.batch_index for each in found.record_errors]
    assert told == ([] if version < 8 else [3, 13, 23, 33])
    many = bytes(build([Record(None, b"v", NOW_MS)] * 2000))
    assert [each.batch_index for each in produce(wire, topic, many, version=9).record_errors] == [0]
    assert end_offset(wire, topic) == 0


def test_a_record_far_ahead_is_refused(wire: Wire, topic: str) -> None:
    """K11: one in microseconds would stop retention for its partition. An hour ahead is Kafka's default."""
    create_topic(wire, topic)
    assert produce(wire, topic, batch(b"x", timestamp=NOW_MS * 1000)).error_code == INVALID_TIMESTAMP
    assert produce(wire, topic, batch(b"x", timestamp=NOW_MS + 2 * HOUR_MS)).error_code == INVALID_TIMESTAMP
    assert produce(wire, topic, batch(b"x", timestamp=NOW_MS + HOUR_MS // 2)).error_code == 0
    hidden = with_fields(batch(b"x", timestamp=NOW_MS * 1000), largest=(">q", 35, NOW_MS))
    assert produce(wire, topic, hidden).error_code == INVALID_TIMESTAMP
    assert produce(wire, topic, batch(b"x", timestamp=-1)).error_code == 0
    assert end_offset(wire, topic) == 2


def test_a_topic_says_how_far_away_records_may_be(wire: Wire, topic: str) -> None:
    """K11: before and after; a topic with the broker's own time does not care."""
    limits = {"message_timestamp_before_max_ms": str(HOUR_MS), "message_timestamp_after_max_ms": str(3 * HOUR_MS)}
    create_topic(wire, topic, **limits)
    assert produce(wire, topic, batch(b"x", timestamp=NOW_MS - 2 * HOUR_MS)).error_code == INVALID_TIMESTAMP
    assert produce(wire, topic, batch(b"x", timestamp=NOW_MS + 2 * HOUR_MS)).error_code == 0
    create_topic(wire, f"{topic}-own", message_timestamp_type="LogAppendTime", **limits)
    assert produce(wire, f"{topic}-own", batch(b"x", timestamp=1)).error_code == 0


def test_a_header_that_lies_about_its_largest_time_is_put_right(wire: Wire, topic: str) -> None:
    """K12: as Kafka does: retention goes by it, and a consumer's crc check holds."""
    create_topic(wire, topic)
    lying = with_fields(batch(b"x", b"y"), largest=(">q", 35, NOW_MS - 10 * 24 * HOUR_MS))
    assert produce(wire, topic, lying).error_code == 0
    stored = fetch(wire, topic).records
    assert struct.unpack_from(">q", stored, 35) == (NOW_MS,)
    assert struct.unpack_from(">I", stored, 17) == (crc32c(stored[21:]),)
    assert [record.timestamp for record in read(stored)] == [NOW_MS, NOW_MS]
