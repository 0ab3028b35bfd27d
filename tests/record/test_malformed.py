"""K7: malformed batches and records are Corrupt, with their place, to every reader."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest
from crc32c import crc32c
from tests.record.bombs import BOMBS
from tests.record.samples import SAMPLES, rows, with_offsets

from holdfast.errors import Corrupt
from holdfast.record.build import Envelope, Extent, build, seal
from holdfast.record.columnar.decode import Decoder, decode
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
from holdfast.record.records import Record, read_records


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
