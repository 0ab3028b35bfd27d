"""Origin marks: what the loops write and read is what the format says, record by record."""

from __future__ import annotations

import random
from uuid import UUID

import pytest

from holdfast.record.build import build
from holdfast.record.columnar.columns import Columns
from holdfast.record.columnar.decode import decode
from holdfast.record.records import Record
from holdfast.sync.origin.mark import MARK_KEY, PATH_SIZE_MAX, BadMark, Hop, beginning, hop_beginning, read_mark
from holdfast.sync.origin.marking import NONE, OriginMarks
from holdfast.types import ClusterPartition

HERE = ClusterPartition("cluster-a", UUID(int=7), 3)
THERE = ClusterPartition("b", UUID(int=8), 3)
ELSEWHERE = ClusterPartition("cluster-with-a-longer-name", UUID(int=9), 3)


def mark_of(*hops: tuple[ClusterPartition, int]) -> bytes:
    """A mark written by hand, the newest hop first."""
    return b"\x01" + b"".join(hop_beginning(home) + offset.to_bytes(8, "big") for home, offset in hops)


def headers_of(columns: Columns, row: int) -> list[tuple[bytes, bytes | None]]:
    assert columns.headers is not None
    headers = columns.headers
    return [(headers.keys[each], headers.values[each]) for each in range(headers.ends[row], headers.ends[row + 1])]


def some_headers(chance: random.Random) -> list[tuple[str, bytes | None]]:
    """Headers of any kind, with marks that are right, broken, doubled, or not there."""
    paths = [((THERE, 5),), ((ELSEWHERE, 2**40), (THERE, 6)), ((HERE, 1), (ELSEWHERE, 0))]
    marks = [mark_of(*each) for each in paths] + [b"", b"\x01", b"\x02rest", mark_of((THERE, 1))[:-3], None]
    made: list[tuple[str, bytes | None]] = [
        ("plain", b"x" * chance.randrange(4)),
        ("none", None),
        ("holdfast.origin2", b"no"),
    ]
    made = chance.sample(made, chance.randrange(4))
    for _ in range(chance.choice([0, 1, 1, 2])):
        made.insert(chance.randrange(len(made) + 1), (MARK_KEY, chance.choice(marks)))
    return made


@pytest.mark.parametrize("seed", range(20))
def test_one_mark_with_one_more_hop(seed: int) -> None:
    """S8: every record gets exactly one mark, behind its other headers, which stay as they are, and in order."""
    chance = random.Random(seed)
    records = [Record(b"k", b"v", 1, tuple(some_headers(chance))) for _ in range(50)]
    columns = decode([build(records, base_offset=1000 + seed)])
    marked = OriginMarks.of(columns).with_hop(HERE)
    for row, record in enumerate(records):
        others = [(key.encode(), value) for key, value in record.headers if key != MARK_KEY]
        before = [value for key, value in record.headers if key == MARK_KEY]
        old = (before[-1] or b"")[1:] if before else b""
        new = beginning(HERE) + (1000 + seed + row).to_bytes(8, "big") + old
        assert headers_of(marked, row) == [*others, (MARK_KEY.encode(), new)]


@pytest.mark.parametrize("seed", range(20))
def test_marks_are_read_as_they_are_written(seed: int) -> None:
    """S8: the newest hop, earlier ones and the last one are found; what is broken is no hop."""
    chance = random.Random(seed)
    records = [Record(b"k", b"v", 1, tuple(some_headers(chance))) for _ in range(50)]
    marks = OriginMarks.of(decode([build(records)]))
    newest, (older, _) = marks.offsets_from(THERE), marks.came_through(THERE)
    for row, record in enumerate(records):
        values = [value for key, value in record.headers if key == MARK_KEY]
        hops = whole_hops(values[-1] or b"") if values else []
        at_there = [(each.cluster_id, each.topic_id, each.partition) == THERE for each in hops]
        assert newest[row] == (hops[0].offset if at_there[:1] == [True] else NONE)
        assert older[row] == any(at_there[1:])


def whole_hops(value: bytes) -> list[Hop]:
    try:
        return read_mark(value)
    except BadMark:
        return []


def test_a_path_that_grows_without_end_is_cut() -> None:
    """S8: a mark has a bound, whatever applications write."""
    long = mark_of(*[(ELSEWHERE, 1)] * 100)
    assert len(long) > PATH_SIZE_MAX
    marked = OriginMarks.of(decode([build([Record(b"k", b"v", 1, ((MARK_KEY, long),))])])).with_hop(HERE)
    [(_, value)] = headers_of(marked, 0)
    assert read_mark(value or b"") == [Hop(*HERE, 0)]
