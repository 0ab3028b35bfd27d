"""A segment's tail, opened: its footer, its index, its snapshots. Pure functions over bytes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from crc32c import crc32c

from holdfast.segment.errors import Damaged
from holdfast.segment.format import (
    ABORTED_ENTRY,
    COMPACTED,
    FOOTER_SIZE,
    INDEX_ENTRY,
    Footer,
    decode_footer,
)
from holdfast.segment.manifest.info import Aborted, SegmentInfo
from holdfast.segment.producers import ProducerState, from_rows
from holdfast.types import Buffer, Offset


class Interval(NamedTuple):
    """Some whole batches that stand one after the other, `[start, end)` in the segment's bytes, and their crc."""

    start: int
    end: int
    crc: int


@dataclass(frozen=True)
class Segment:
    """An open segment: where its batches are. Holds the bytes of its tail and nothing else."""

    name: str
    footer: Footer
    index: npt.NDArray[Any]
    producers_json: bytes
    aborted: tuple[Aborted, ...]

    def info(self) -> SegmentInfo:
        """The segment's row, as its writer gave it to the manifest."""
        footer = self.footer
        return SegmentInfo(
            self.name,
            Offset(footer.base),
            Offset(footer.end),
            footer.size,
            footer.tail_size,
            footer.min_timestamp,
            footer.max_timestamp,
            footer.record_count,
            footer.flags & COMPACTED != 0,
            self.aborted,
        )

    def producers(self) -> dict[int, ProducerState]:
        """The states, after the segment's last batch, of the producers that wrote in it."""
        return from_rows(json.loads(self.producers_json)) if self.producers_json else {}

    def interval(self, number: int) -> Interval:
        entry = self.index[number]
        last = number + 1 == len(self.index)
        end = self.footer.index_position if last else int(self.index[number + 1]["position"])
        return Interval(int(entry["position"]), end, int(entry["crc"]))

    def intervals(self, first: int, stop: int) -> list[Interval]:
        """Those from `first` to before `stop`: all at once this costs a tenth."""
        starts = [*self.index["position"][first : stop + 1].tolist(), self.footer.index_position]
        return [
            Interval(*each) for each in zip(starts, starts[1:], self.index["crc"][first:stop].tolist(), strict=False)
        ]

    def offset_of(self, number: int) -> int:
        """The first offset of an interval; behind the last one, the segment's end."""
        return self.footer.end if number == len(self.index) else int(self.index[number]["base_offset"])

    def interval_of_offset(self, offset: int) -> int:
        """The number of the interval that holds the batch with this offset, if there is one."""
        return max(0, int(np.searchsorted(self.index["base_offset"], offset, side="right")) - 1)

    def interval_of_timestamp(self, timestamp: int) -> int:
        """The number of the first interval with a timestamp this late; their count if there is none."""
        return int(np.searchsorted(self.index["max_timestamp"], timestamp, side="left"))


def decode_tail(name: str, tail: Buffer, size: int) -> Segment:
    """Open a segment of `size` bytes from its last ones; `tail` is all of index, snapshots and footer, or more."""
    view = memoryview(tail).toreadonly()
    footer = decode_footer(name, view)
    if footer.size != size:
        raise Damaged(name, f"it has {size} bytes, its footer says {footer.size}")
    if footer.tail_size > len(view):
        raise Damaged(name, f"its tail has {footer.tail_size} bytes, not {len(view)}")
    sections = view[len(view) - footer.tail_size : len(view) - FOOTER_SIZE]
    if crc32c(sections) != footer.sections_crc:
        raise Damaged(name, "the crc of its index is wrong")
    producers_at = footer.index_size
    aborted_at = producers_at + footer.producers_size
    index = np.frombuffer(sections[:producers_at], dtype=INDEX_ENTRY)
    aborted = np.frombuffer(sections[aborted_at:], dtype=ABORTED_ENTRY)
    rows = tuple(Aborted(*each) for each in aborted.tolist())
    return Segment(name, footer, index, bytes(sections[producers_at:aborted_at]), rows)


def check_is(segment: Segment, info: SegmentInfo) -> None:
    """Raise unless the opened segment is the one the manifest means."""
    if segment.info() != info:
        raise Damaged(info.name, "its footer describes another segment than the manifest does")


def open_tail(info: SegmentInfo, tail: Buffer) -> Segment:
    """Open the segment that a manifest means."""
    segment = decode_tail(info.name, tail, info.size)
    check_is(segment, info)
    return segment


def interval_damage(name: str, interval: Interval, pieces: Iterable[Buffer]) -> Damaged | None:
    """None if these bytes, one after the other, are the ones that the index summed up."""
    crc = 0
    for piece in pieces:
        crc = crc32c(piece, crc)
    if crc == interval.crc:
        return None
    return Damaged(name, f"the crc of bytes {interval.start} to {interval.end} is wrong")


def check_interval(name: str, interval: Interval, pieces: Iterable[Buffer]) -> None:
    """Raise unless they are: what stands in an interval was changed behind our back."""
    damage = interval_damage(name, interval, pieces)
    if damage is not None:
        raise damage
