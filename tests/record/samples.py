"""Records to try everything with, and columns turned back into records."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any

from hypothesis import strategies as st

from holdfast.record.columnar.columns import Columns
from holdfast.record.layout import Codec
from holdfast.record.records import Record

CODECS = list(Codec)
NOW = 1_700_000_000_000
LARGE = random.Random(1).randbytes(1_500_000)

SAMPLES: dict[str, list[Record]] = {
    "one": [Record(b"key", b"value", NOW)],
    "empty key and value": [Record(b"", b"", NOW)],
    "null key": [Record(None, b"value", NOW), Record(b"key", b"value", NOW)],
    "null value": [Record(b"key", b"value", NOW), Record(b"key", None, NOW)],
    "all null": [Record(None, None, NOW)] * 9,
    "headers": [
        Record(b"k", b"v", NOW, (("a", b"1"), ("b", None), ("", b""))),
        Record(b"k", b"v", NOW),
        Record(b"k", b"v", NOW, (("ключ", b"\xff\x00"),) * 130),
    ],
    "large values": [Record(b"k", LARGE, NOW), Record(LARGE, b"v" * 3_000_000, NOW)],
    "timestamps going back": [Record(b"k", b"v", NOW + delta) for delta in (0, -1, 5, -(10**12), 2**40, -64, 64)],
    "no timestamps": [Record(b"k", b"v", -1)] * 3,
    "sizes around the steps of varints": [Record(b"k" * n, b"v" * n, NOW) for n in (62, 63, 64, 65, 8190, 8191, 8192)],
    "many": [Record(b"%d" % (n % 17), b"some value %d" % n, NOW + n // 3) for n in range(700)],
}


def with_offsets(records: Iterable[Record], base_offset: int = 0) -> list[Record]:
    """The records with the offsets they get when none are given."""
    return [record._replace(offset=base_offset + index) for index, record in enumerate(records)]


def rows(columns: Columns) -> list[Record]:
    """Columns as records; what was not decoded is null."""
    nothing: Callable[[int], Any] = lambda _: None  # noqa: E731
    key = nothing if columns.key is None else columns.key.__getitem__
    value = nothing if columns.value is None else columns.value.__getitem__
    return [
        Record(key(row), value(row), int(columns.timestamp[row]), _headers(columns, row), int(columns.offset[row]))
        for row in range(len(columns))
    ]


def _headers(columns: Columns, row: int) -> tuple[tuple[str, bytes | None], ...]:
    headers = columns.headers
    if headers is None:
        return ()
    own = range(headers.ends[row], headers.ends[row + 1])
    return tuple((headers.keys[n].decode("utf-8", "replace"), headers.values[n]) for n in own)


def any_records() -> st.SearchStrategy[list[Record]]:
    """Lists of records with growing offsets, some of them missing."""
    optional = st.none() | st.binary(max_size=200)
    header = st.tuples(st.text(max_size=20), st.none() | st.binary(max_size=20))
    record = st.builds(
        Record, optional, optional, st.integers(-(2**61), 2**61), st.lists(header, max_size=3).map(tuple)
    )
    step = st.integers(1, 3) | st.integers(1, 10_000)
    return st.lists(st.tuples(record, step), min_size=1, max_size=40).map(_place)


def _place(stepped: list[tuple[Record, int]]) -> list[Record]:
    offset = -1
    placed = []
    for record, step in stepped:
        offset += step
        placed.append(record._replace(offset=offset))
    return placed
