"""P1: many batches become columns; whatever is wrong with the bytes is Corrupt, with its place."""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable

import numpy as np
import pytest
from crc32c import crc32c
from tests.record.bombs import BOMBS
from tests.record.samples import CODECS, NOW, SAMPLES, rows, with_offsets

from holdfast.errors import Corrupt
from holdfast.record.batch import read_header, stamp_log_append_time
from holdfast.record.build import Envelope, Extent, build, seal
from holdfast.record.columns import Column
from holdfast.record.decode import Decoder, decode
from holdfast.record.errors import (
    CorruptBatch,
    ExpandsTooFar,
    InvalidRecord,
    Truncated,
    Undecodable,
    UnknownCodec,
    WrongCount,
    WrongCrc,
)
from holdfast.record.layout import Codec
from holdfast.record.marker import Marker, MarkerKind, build_marker
from holdfast.record.records import Record, read_records

MARKER = Marker(MarkerKind.COMMIT, 7, 3, 9, NOW)


def mixed() -> tuple[list[bytearray], list[Record]]:
    """Batches of all samples in all codecs, in the order of their offsets, and their records."""
    batches, records, offset = [], [], 0
    for codec in CODECS:
        for sample in SAMPLES.values():
            batches.append(build(sample, base_offset=offset, codec=codec))
            records += with_offsets(sample, offset)
            offset += len(sample)
    return batches, records


class TestMany:
    """P1: many batches in one call."""

    def test_batches_of_all_codecs_in_one_call(self) -> None:
        batches, records = mixed()
        assert rows(decode(batches)) == records

    def test_buffers_may_hold_several_batches_or_none(self) -> None:
        batches, records = mixed()
        block = b"".join(batches[:20])
        columns = decode([b"", block, b"", *batches[20:]])
        assert rows(columns) == records
        assert len(columns.batches) == len(batches)
        starts = [columns.offset[row] for row in columns.starts[:-1]]
        assert starts == [header.base_offset for header in columns.batches]
        assert columns.starts[-1] == len(columns) == len(records)

    def test_nothing_gives_no_rows(self) -> None:
        columns = decode([])
        assert len(columns) == 0
        assert rows(columns) == []
        assert columns.starts.tolist() == [0]

    @pytest.mark.parametrize("record_count", [1, 700, 1000, 10**9])
    def test_groups_hold_whole_batches_and_lose_nothing(self, record_count: int) -> None:
        batches, records = mixed()
        groups = list(Decoder().groups([b"".join(batches[:9]), *batches[9:]], record_count=record_count))
        assert [record for group in groups for record in rows(group)] == records
        assert [header for group in groups for header in group.batches] == [read_header(batch) for batch in batches]
        for group in groups[:-1]:
            assert len(group) >= record_count > len(group) - group.batches[-1].record_count

    def test_groups_end_by_size_too(self) -> None:
        batches = [build(SAMPLES["many"], codec=codec) for codec in CODECS * 3]
        size = len(build(SAMPLES["many"])) - 61
        assert [len(group.batches) for group in Decoder().groups(batches, size=2 * size - 1)] == [2] * 7 + [1]

    def test_groups_outlive_the_buffers_they_came_from(self) -> None:
        """The memory for decompression is used again for the next group; columns must not point into it."""
        source = (bytes(build(SAMPLES["many"], codec=codec, base_offset=n)) for n, codec in enumerate(CODECS * 4))
        groups = list(Decoder().groups(source, record_count=1))
        for number, group in enumerate(groups):
            assert rows(group) == with_offsets(SAMPLES["many"], number)

    def test_buffers_that_nobody_else_holds_stay_alive(self) -> None:
        """Each would otherwise make room for the next one, and be read again in its place."""
        source = (bytes(build([Record(b"%08d" % n, bytes(5000), NOW)], base_offset=n)) for n in range(50))
        assert [record.key for record in rows(decode(source))] == [b"%08d" % n for n in range(50)]

    def test_threads_decode_side_by_side(self) -> None:
        batches, records = mixed()
        decoder = Decoder()
        found: dict[int, list[Record]] = {}
        threads = [
            threading.Thread(target=lambda n=n: found.update({n: rows(decoder.decode(batches))})) for n in range(3)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [found[n] == records for n in range(3)] == [True] * 3


class TestColumns:
    """P1: only what was asked for."""

    @pytest.mark.parametrize("number", range(8))
    def test_every_choice_of_columns(self, number: int) -> None:
        chosen = Column(number)
        batches, records = mixed()
        columns = decode(batches, chosen)
        assert (columns.key is not None) == (Column.KEY in chosen)
        assert (columns.value is not None) == (Column.VALUE in chosen)
        assert (columns.headers is not None) == (Column.HEADERS in chosen)
        assert rows(columns) == [
            Record(
                record.key if Column.KEY in chosen else None,
                record.value if Column.VALUE in chosen else None,
                record.timestamp,
                record.headers if Column.HEADERS in chosen else (),
                record.offset,
            )
            for record in records
        ]

    def test_wide_ends(self) -> None:
        batches, records = mixed()
        columns = Decoder(wide=True).decode(batches)
        assert columns.key is not None
        assert columns.headers is not None
        assert columns.key.ends.dtype == columns.headers.ends.dtype == np.int64
        assert rows(columns) == records

    def test_validity_is_left_out_where_nothing_is_null(self) -> None:
        columns = decode([build(SAMPLES["null key"])])
        assert columns.key is not None
        assert columns.value is not None
        assert columns.key.validity is not None
        assert columns.value.validity is None

    @pytest.mark.parametrize("codec", CODECS)
    def test_log_append_time_is_every_records_time(self, codec: int) -> None:
        batch = build(SAMPLES["timestamps going back"], codec=codec)
        stamp_log_append_time(memoryview(batch), NOW + 9)
        assert set(decode([batch], Column.NONE).timestamp.tolist()) == {NOW + 9}
        assert {record.timestamp for record in read_records(memoryview(batch))} == {NOW + 9}

    def test_control_batches_are_left_out_unless_asked_for(self) -> None:
        """K4: a marker is no record of a user's."""
        batches = [build(SAMPLES["one"]), build_marker(MARKER, base_offset=1), build(SAMPLES["one"], base_offset=2)]
        for block in (batches, [b"".join(batches)]):
            assert decode(block).offset.tolist() == [0, 2]
            columns = Decoder(control=True).decode(block)
            assert columns.offset.tolist() == [0, 1, 2]
            assert [header.is_control for header in columns.batches] == [False, True, False]
            assert rows(columns)[1].key == b"\0\0\0\1"

    def test_offsets_without_records(self) -> None:
        """K6: compacted batches have holes, and may be empty."""
        holes = [Record(b"k", b"v", NOW, (), offset) for offset in (105, 107, 1_000_000)]
        empty = seal(bytearray(61), Extent(0, 9, NOW, NOW), Envelope(base_offset=2_000_000, attributes=Codec.ZSTD))
        columns = decode([build(holes, base_offset=100), empty])
        assert columns.offset.tolist() == [105, 107, 1_000_000]
        assert columns.starts.tolist() == [0, 3, 3]


def malformed(records: str, count: int = 1, last_offset_delta: int = 0) -> bytearray:
    """A batch with a right header and crc around any bytes."""
    return seal(bytearray(61) + bytes.fromhex(records), Extent(count, last_offset_delta, 0, 0), Envelope())


NEVER_ENDS = "ff" * 11
BAD: dict[str, tuple[bytearray, int, int, str]] = {  # Batch, index, position, reason.
    "no bytes": (malformed(""), 1, 0, "do not fit"),
    "more records than bytes could hold": (malformed("00" * 13, 2, 1), 2, 13, "do not fit"),
    "record size past the end": (malformed("10 00 00 00 01 01 00"), 0, 0, "size"),
    "record size negative": (malformed("01 00 00 00 01 01 00"), 0, 0, "size"),
    "record size zero": (malformed("00 00 00 00 01 01 00"), 0, 0, "size"),
    "record size never ends": (malformed(NEVER_ENDS), 0, 0, "size"),
    "record size of 64 bits": (malformed("fe ff ff ff ff ff ff ff ff 01"), 0, 0, "size"),
    "record size smallest": (malformed("ff ff ff ff ff ff ff ff ff 01"), 0, 0, "size"),
    "timestamp never ends": (malformed("18 00" + NEVER_ENDS), 0, 0, "timestamp"),
    "timestamp of eleven bytes": (malformed("20 00" + "80" * 10 + "00 00 01 01 00"), 0, 0, "timestamp"),
    "timestamp past the record": (malformed("04 00 80 00 01 01 00 00"), 0, 0, "timestamp"),
    "offset past the record": (malformed("04 00 00 00 01 01 00"), 0, 0, "timestamp or offset"),
    "offset never ends": (malformed("1a 00 00" + NEVER_ENDS), 0, 0, "timestamp or offset"),
    "offset after the last": (malformed("0c 00 00 02 01 01 00"), 0, 0, "offset"),
    "offset negative": (malformed("0c 00 00 01 01 01 00"), 0, 0, "offset"),
    "offset twice": (malformed("0c 00 00 00 01 01 00" * 2, 2, 1), 1, 7, "offset"),
    "offset going back": (malformed("0c 00 00 02 01 01 00 0c 00 00 00 01 01 00", 2, 1), 1, 7, "offset"),
    "key size below -1": (malformed("0c 00 00 00 03 01 00"), 0, 0, "key"),
    "key past the record": (malformed("0c 00 00 00 06 01 00 00 00"), 0, 0, "key"),
    "key size missing": (malformed("06 00 00 00 00 00 00"), 0, 0, "key"),
    "key size never ends": (malformed("1c 00 00 00" + NEVER_ENDS), 0, 0, "key"),
    "value size below -1": (malformed("0c 00 00 00 01 05 00"), 0, 0, "value"),
    "value past the record": (malformed("0c 00 00 00 01 04 00"), 0, 0, "value"),
    "header count negative": (malformed("0c 00 00 00 01 01 01"), 0, 0, "headers"),
    "header count past the record": (malformed("0c 00 00 00 01 01 7e"), 0, 0, "headers"),
    "header count of 64 bits": (malformed("1e 00 00 00 01 01 fe ff ff ff ff ff ff ff ff 01"), 0, 0, "headers"),
    "header key null": (malformed("10 00 00 00 01 01 02 01 01"), 0, 0, "headers"),
    "header key past the record": (malformed("10 00 00 00 01 01 02 04 00"), 0, 0, "headers"),
    "header value below -1": (malformed("10 00 00 00 01 01 02 00 03"), 0, 0, "headers"),
    "header value past the record": (malformed("10 00 00 00 01 01 02 00 02"), 0, 0, "headers"),
    "header missing": (malformed("0e 00 00 00 01 01 02 00"), 0, 0, "headers"),
    "bytes left in a record": (malformed("0e 00 00 00 01 01 00 00"), 0, 0, "left"),
    "bytes left after the records": (malformed("0c 00 00 00 01 01 00 00"), 1, 7, "left"),
    "records left": (malformed("0c 00 00 00 01 01 00 0c 00 00 02 01 01 00", 1, 1), 1, 7, "left"),
}


class TestMalformed:
    """K7: malformed records are refused by both readers, with the position, and nothing outside is read."""

    @pytest.mark.parametrize("name", BAD)
    def test_malformed_records_are_corrupt(self, name: str) -> None:
        batch, index, position, reason = BAD[name]
        with pytest.raises(CorruptBatch, match="segment 9") as raised:
            Decoder(place="segment 9").decode([build(SAMPLES["many"], base_offset=5), batch])
        assert isinstance(raised.value, Corrupt)
        violation = raised.value.violation
        assert isinstance(violation, InvalidRecord)
        assert (violation.base_offset, violation.index, violation.position) == (0, index, position)
        assert reason in violation.reason

    @pytest.mark.parametrize("name", BAD)
    def test_the_plain_reader_refuses_them_too(self, name: str) -> None:
        with pytest.raises(InvalidRecord):
            list(read_records(memoryview(BAD[name][0])))

    def test_a_record_of_the_least_size_is_right(self) -> None:
        """The samples above differ from this one by what they are named after."""
        assert rows(decode([malformed("0c 00 00 00 01 01 00")])) == [Record(offset=0)]

    @pytest.mark.parametrize(
        ("change", "violation"),
        [
            (lambda batch: batch.__setitem__(70, batch[70] ^ 1), WrongCrc),
            (lambda batch: batch.pop(), Truncated),
            (lambda batch: struct.pack_into(">h", batch, 21, 6), UnknownCodec),
            (lambda batch: struct.pack_into(">h", batch, 21, Codec.ZSTD), Undecodable),
            (lambda batch: struct.pack_into(">i", batch, 57, -5), WrongCount),
            (lambda batch: struct.pack_into(">i", batch, 57, 2**31 - 1), WrongCount),
        ],
    )
    def test_malformed_batches_are_corrupt(
        self, change: Callable[[bytearray], object], violation: type[Exception]
    ) -> None:
        batch = build(SAMPLES["many"])
        change(batch)
        if violation is not WrongCrc:
            struct.pack_into(">I", batch, 17, crc32c(memoryview(batch)[21:]))
        with pytest.raises(CorruptBatch) as raised:
            decode([batch])
        assert isinstance(raised.value.violation, violation)

    def test_a_claim_of_two_billion_records_allocates_nothing(self) -> None:
        batch = malformed("0c 00 00 00 01 01 00", 2**31 - 1, 2**31 - 2)
        with pytest.raises(CorruptBatch, match="do not fit"):
            decode([batch])

    def test_without_verifying_a_wrong_crc_is_not_noticed(self) -> None:
        batch = build(SAMPLES["many"])
        batch[17] ^= 1
        assert rows(Decoder(verify_crc=False).decode([batch])) == with_offsets(SAMPLES["many"])

    @pytest.mark.parametrize("name", BOMBS)
    def test_a_bomb_is_refused(self, name: str) -> None:
        codec, bomb = BOMBS[name]()
        batch = seal(bytearray(61) + bomb, Extent(1, 0, 0, 0), Envelope())
        struct.pack_into(">h", batch, 21, codec)
        struct.pack_into(">I", batch, 17, crc32c(memoryview(batch)[21:]))
        with pytest.raises(CorruptBatch) as raised:
            Decoder(expanded_size_max=8 << 20).decode([batch])
        assert isinstance(raised.value.violation, ExpandsTooFar)

    def test_the_limit_is_for_all_batches_of_an_output_together(self) -> None:
        batches = [build(SAMPLES["many"], codec=Codec.ZSTD)] * 3
        size = len(build(SAMPLES["many"])) - 61
        assert len(Decoder(expanded_size_max=3 * size).decode(batches)) == 2100
        with pytest.raises(CorruptBatch):
            Decoder(expanded_size_max=3 * size - 1).decode(batches)
        assert len(list(Decoder(expanded_size_max=size).groups(batches, record_count=1))) == 3
