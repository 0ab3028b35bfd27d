"""Names of objects, read back, and ranges of offsets, joined."""

from __future__ import annotations

from uuid import UUID

import pytest

from holdfast.segment.names import parse_manifest_name, parse_segment_name, segment_name
from holdfast.types import Epoch, Offset, OffsetRange, PartitionId

HOME = PartitionId(UUID(int=7), 12)


def test_a_segment_name_says_what_it_was_made_of() -> None:
    name = segment_name(HOME, Offset(5), Offset(2**63 - 1), Epoch(3), "00ff")
    assert parse_segment_name(name) == (HOME, (5, 2**63 - 1), 3)


@pytest.mark.parametrize("change", [("segments/", "manifests/"), (".seg", ".seg~"), ("-3-", "-x-"), ("/12/", "/")])
def test_another_name_is_no_segment(change: tuple[str, str]) -> None:
    name = segment_name(HOME, Offset(5), Offset(9), Epoch(3), "00ff")
    assert change[0] in name
    assert parse_segment_name(name.replace(*change)) is None


def test_a_manifest_name_says_whose_it_is() -> None:
    for name in (f"{3:020}.json", "newest.json"):
        assert parse_manifest_name(HOME.manifests + name) == HOME
        assert parse_manifest_name(HOME.segments + name) is None
    assert parse_manifest_name("manifests/7/12/newest.json") is None


def test_ranges_that_touch_are_one() -> None:
    ranges = [(7, 9), (0, 3), (3, 5), (1, 2), (6, 6), (8, 12)]
    assert OffsetRange.joined(ranges) == [(0, 5), (7, 12)]
