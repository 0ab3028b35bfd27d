"""What a replay reads: ranges in order, none left out, none twice."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.spark.jobs.archive.access import catalog_properties
from holdfast.spark.jobs.replay.archive import Access, NoArchive, RowGroup, archive_store, row_groups
from holdfast.spark.jobs.replay.plan import ranges_of, rounds_of


def group(partition: int, first: int, last: int, size: int = 10, partition_max: int | None = None) -> RowGroup:
    return RowGroup("f", first, partition, partition_max or partition, first, last, last - first + 1, size)


groups = st.lists(
    st.builds(
        lambda partition, first, count, size: group(partition, first, first + count, size),
        st.integers(0, 2),
        st.integers(0, 200),
        st.integers(0, 50),
        st.integers(1, 100),
    ),
    max_size=30,
)


@given(groups, st.integers(0, 100), st.integers(1, 150))
def test_ranges_are_one_behind_the_other(some: list[RowGroup], start: int, size: int) -> None:
    """P4: every offset from the start on that a row group may hold is in one range, which names that row group."""
    for partition in range(3):
        ranges = ranges_of(some, partition, start, size)
        mine = [each for each in some if each.partition_min == partition and each.offset_max >= start]
        assert bool(ranges) == bool(mine)
        if not ranges:
            continue
        assert ranges[0].start == start
        assert ranges[-1].end == max(each.offset_max for each in mine) + 1
        assert all(one.end == other.start for one, other in itertools.pairwise(ranges))
        for each in mine:
            for found in ranges:
                overlaps = each.offset_min < found.end and each.offset_max >= found.start
                assert (each in found.groups) == overlaps


@given(groups, st.integers(1, 300))
def test_rounds_keep_the_order(some: list[RowGroup], size: int) -> None:
    """P4: rounds hold every range once, those of a partition in order, and each round moves on."""
    ranges = {partition: ranges_of(some, partition, 0, 50) for partition in range(3)}
    rounds = list(rounds_of(ranges, size))
    assert all(rounds)
    for partition, expected in ranges.items():
        assert [each for chosen in rounds for each in chosen if each.partition == partition] == expected


def test_a_row_group_with_several_partitions() -> None:
    """P4: it is read for each of them."""
    both = group(0, 5, 9, partition_max=2)
    assert [ranges_of([both], partition, 0)[0].groups for partition in range(3)] == [(both,)] * 3


@pytest.mark.parametrize("made", [False, True])
def test_an_iceberg_folder_without_its_catalog(tmp_path: Path, made: bool) -> None:
    """P4: a catalog that is not there, or has no tables, is told as that, and none is made."""
    pytest.importorskip("pyiceberg", reason="the packages of the Spark part are missing")
    (tmp_path / "holdfast/records/metadata").mkdir(parents=True)
    (tmp_path / "holdfast/records/metadata/v1.metadata.json").write_text("{}")
    if made:
        (tmp_path / "catalog.db").touch()
    place = archive_store(str(tmp_path))
    before = sorted((each, each.stat().st_size) for each in tmp_path.rglob("*"))
    with pytest.raises(NoArchive, match="no such table: iceberg_tables" if made else "catalog.db is not there") as told:
        row_groups(place, None, Access(catalog=catalog_properties(str(tmp_path), place.url, {})))
    assert "say with --catalog uri=" in str(told.value) or made
    assert sorted((each, each.stat().st_size) for each in tmp_path.rglob("*")) == before
