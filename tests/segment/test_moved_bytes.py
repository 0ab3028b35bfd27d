"""Batches that are moved into a segment, by a flush, a merge or compaction, are held against their own crc."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from crc32c import crc32c
from tests.segment.conftest import WatchedObjects, build_batch

from holdfast.errors import Corrupt
from holdfast.io.chance import SeededChance
from holdfast.io.clock import ManualClock
from holdfast.io.objects.faulty import FaultyObjects, WrongByte, once
from holdfast.record.errors import CorruptBatch, WrongCrc
from holdfast.record.layout import HEADER_SIZE
from holdfast.segment.compaction.merge import merge
from holdfast.segment.compaction.rewrite import RewriteContext
from holdfast.segment.errors import Damaged
from holdfast.segment.format import FOOTER_SIZE, encode_footer
from holdfast.segment.index import decode_tail
from holdfast.segment.manifest.info import SegmentInfo
from holdfast.segment.scan import open_segment, pieces
from holdfast.segment.verify import verify
from holdfast.segment.writer import encode_segment
from holdfast.types import Epoch, PartitionId


@pytest.fixture
def put(store: WatchedObjects, home: PartitionId) -> Callable[..., SegmentInfo]:
    def put_it(base: int, count: int, *, change: Callable[[bytearray, str], bytearray] | None = None) -> SegmentInfo:
        batches = [build_batch(offset) for offset in range(base, base + count)]
        buffers, info = encode_segment(batches, home=home, epoch=Epoch(1), tag=f"{base:016x}")
        data = bytearray(b"".join(buffers))
        store.inner.put(info.name, [bytes(change(data, info.name) if change else data)])
        return info

    return put_it


@pytest.fixture
def shop(store: WatchedObjects, home: PartitionId, clock: ManualClock) -> RewriteContext:
    return RewriteContext(store, home, Epoch(1), clock, SeededChance(1), 1 << 20)


def wrong_since_ever(data: bytearray, name: str) -> bytearray:
    """A segment that was written with a byte of a batch wrong, as a flush that trusts memory would do: all of its own
    crcs are right."""
    segment = decode_tail(name, bytes(data), len(data))
    interval = segment.interval(0)
    data[interval.start + HEADER_SIZE + 3] ^= 1
    index = segment.index.copy()
    index[0]["crc"] = crc32c(data[interval.start : interval.end])
    at = segment.footer.index_position
    data[at : at + len(index.tobytes())] = index.tobytes()
    footer = replace_crc(segment.footer, crc32c(bytes(data[at : len(data) - FOOTER_SIZE])))
    data[len(data) - FOOTER_SIZE :] = encode_footer(footer)
    return data


def replace_crc(footer: Any, crc: int) -> Any:
    return footer._replace(sections_crc=crc) if hasattr(footer, "_replace") else replace(footer, sections_crc=crc)


def test_a_batch_that_does_not_match_its_crc_is_not_written(home: PartitionId) -> None:
    """D9: whoever brings it."""
    for at in (21, HEADER_SIZE, -1):
        wrong = bytearray(build_batch(1))
        wrong[at] ^= 1
        with pytest.raises(WrongCrc):
            encode_segment([build_batch(0), wrong, build_batch(2)], home=home, epoch=Epoch(1), tag="0" * 16)


def test_a_merge_does_not_move_what_is_wrong(
    put: Callable[..., SegmentInfo], shop: RewriteContext, store: WatchedObjects
) -> None:
    """D9: a batch that was stored wrong is damage, and not wrapped into another segment."""
    run = [put(0, 3), put(3, 3, change=wrong_since_ever)]
    with pytest.raises(CorruptBatch, match=run[1].name):
        merge(shop, run)
    assert len(list(store.inner.list(""))) == 2


def test_a_segment_with_a_batch_that_was_wrong_since_ever_is_not_called_sound(
    put: Callable[..., SegmentInfo], store: WatchedObjects
) -> None:
    """D9: by who looks at every byte of it."""
    info = put(0, 3, change=wrong_since_ever)
    with pytest.raises(Damaged, match="the crc of the batch at offset 0 is wrong"):
        verify(info.name, store.inner.get(info.name))


def test_what_is_misread_once_is_read_again(put: Callable[..., SegmentInfo], store: WatchedObjects) -> None:
    """D8: a batch, and the index."""
    info = put(0, 5)
    whole = b"".join(pieces(store, open_segment(store, info)))
    for at in (0, 60, -1):
        faulty = FaultyObjects(store, once("get", info.name, WrongByte(at)))
        assert b"".join(pieces(faulty, open_segment(store, info))) == whole
        faulty = FaultyObjects(store, once("get", info.name, WrongByte(at)))
        assert b"".join(pieces(store, open_segment(faulty, info))) == whole


def test_damage_that_stays_is_damage(put: Callable[..., SegmentInfo], store: WatchedObjects) -> None:
    """D8: one more look is not many."""
    info = put(0, 5)
    data = bytearray(store.inner.get(info.name))
    data[100] ^= 1
    store.inner.put(info.name, [bytes(data)])
    store.requests.clear()
    with pytest.raises(Corrupt):
        list(pieces(store, open_segment(store, info)))
    assert len(store.requests) == 3
