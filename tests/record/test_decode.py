"""P1: many batches become columns."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from tests.record.samples import CODECS, NOW, SAMPLES, rows, with_offsets

from holdfast.record.batch import read_header, stamp_log_append_time
from holdfast.record.build import Envelope, Extent, build, seal
from holdfast.record.columnar.columns import Column
from holdfast.record.columnar.decode import Decoder, decode
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
