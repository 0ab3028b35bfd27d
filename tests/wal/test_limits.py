"""Everything has a limit, and hitting it is an error the caller understands; the log is as it was."""

from __future__ import annotations

import array
import struct
from pathlib import Path

import pytest
from tests.wal.logs import append, held, new_disk, open_log, reopened, writer_held

from holdfast.errors import Rejected, Unavailable
from holdfast.io.disk import RealDirectory
from holdfast.wal import USER_DATA_SIZE_MAX, EntryTooLarge, LogId, Overloaded, Wal, WalSettings


def test_an_entry_may_be_as_large_as_the_limit_and_no_larger() -> None:
    """W3: the error carries the limit and the size; one byte less is taken."""
    disk = new_disk()
    wal = open_log(disk, payload_size_max=5000)
    with pytest.raises(EntryTooLarge) as refused:
        wal.append(LogId(1, 0), [b"x", b"x" * 5001])
    assert (refused.value.current, refused.value.attempted) == (5000, 5001)
    assert isinstance(refused.value, Rejected)
    assert wal.state.last is None
    wal.append(LogId(1, 0), [b"x" * 5000])
    wal.flush()
    assert held(reopened(disk)) == [(LogId(1, 0), b"x" * 5000)]


def test_user_data_has_a_limit_of_its_own() -> None:
    """W2, W3: it is in every chunk's head. Where it is larger than a chunk should be, chunks are larger, so that it is
    never most of the log."""
    disk = new_disk()
    wal = open_log(disk)
    with pytest.raises(EntryTooLarge) as refused:
        wal.save_user_data(bytes(USER_DATA_SIZE_MAX + 1))
    assert (refused.value.current, refused.value.attempted) == (USER_DATA_SIZE_MAX, USER_DATA_SIZE_MAX + 1)
    wal.save_user_data(b"u" * 50_000)
    append(wal, 4000, size=100)
    wal.flush()
    assert wal.stat().on_disk_size < 1_000_000
    wal = reopened(disk)
    assert wal.state.user_data == b"u" * 50_000
    assert len(held(wal)) == 4000
    wal.save_user_data(b"u" * 10)
    append(wal, 4000, size=100)
    wal.flush()
    assert wal.stat().open_chunk_size < 8192, "Chunks stay large for user data that is small again."


def test_a_full_queue_is_said_and_a_flush_makes_room() -> None:
    """W4: Overloaded says how much waits and what the limit is; nothing of the append was taken."""
    wal = open_log(new_disk(), queue_size_max=1000)
    append(wal, 5, size=100)
    with pytest.raises(Overloaded) as refused:
        wal.append(LogId(1, 5), [bytes(600)])
    assert isinstance(refused.value, Unavailable)
    assert refused.value.limit_bytes == 1000
    assert refused.value.waiting_bytes == wal.stat().queued_size > 500
    assert wal.state.last == LogId(1, 4)
    wal.flush()
    assert wal.stat().queued_size == 0
    wal.append(LogId(1, 5), [bytes(600)])


def test_an_entry_larger_than_the_queue_is_taken_when_nothing_waits() -> None:
    """W4: otherwise it could never be written."""
    wal = open_log(new_disk(), queue_size_max=1000)
    wal.append(LogId(1, 0), [bytes(2000)])
    with pytest.raises(Overloaded):
        wal.append(LogId(1, 1), [b""])
    wal.flush()
    assert wal.state.last == LogId(1, 0)


def test_a_queue_that_fills_up_is_written_before_anybody_waits(tmp_path: Path) -> None:
    """W4: with a writer thread, a caller who never flushes is still not overloaded for ever."""
    with Wal.open(RealDirectory(tmp_path), WalSettings(queue_size_max=10_000)) as wal:
        with writer_held(wal):
            append(wal, 50, size=100)
        with writer_held(wal):  # Reached only after the rounds before it.
            assert wal.stat().queued_size == 0


@pytest.mark.parametrize("size", [10, 10_000])
def test_a_view_of_larger_items_than_bytes_is_refused(size: int) -> None:
    """W10: its length counts items; taken by that length, everything behind it would be unreadable."""
    disk = new_disk()
    wal = open_log(disk)
    entries = append(wal, 2)
    with pytest.raises(ValueError, match="single bytes"):
        wal.append(LogId(1, 2), [memoryview(array.array("I", [7] * size))])
    with pytest.raises(ValueError, match="single bytes"):
        wal.append(LogId(1, 2), [b"fine", (b"pieces", memoryview(array.array("I", [7] * size)))])
    entries += append(wal, 2)
    wal.flush()
    wal.mark()
    assert held(reopened(disk)) == entries


@pytest.mark.parametrize("size", [10, 10_000])
def test_a_payload_of_pieces_and_of_views(size: int) -> None:
    """W2: bytes, a bytearray, a view, and several of them as one payload read back as the same bytes."""
    disk = new_disk()
    wal = open_log(disk, cache_size_max=0, cache_open_chunk=False)
    data = b"0123456789" * (size // 10)
    wal.append(LogId(1, 0), [data, bytearray(data), memoryview(data), (data, b"", memoryview(data)[1:]), b""])
    wal.flush()
    expected = [data, data, data, data + data[1:], b""]
    assert [found for _, found in held(wal)] == expected
    assert [found for _, found in held(reopened(disk))] == expected


def test_what_is_no_bytes_at_all_is_refused_and_changes_nothing() -> None:
    """W10: a caller's mistake in the middle of a large append leaves the log as it was."""
    disk = new_disk()
    wal = open_log(disk)
    for wrong in (["text"], [bytes(9000), "text" * 4000]):
        with pytest.raises(TypeError):
            wal.append(LogId(1, 0), wrong)  # type: ignore[arg-type]
    entries = append(wal, 2)
    wal.flush()
    assert held(reopened(disk)) == entries


def test_an_epoch_or_index_that_could_not_be_replayed_is_refused() -> None:
    """W10: numbers end at 2^63 - 1; what is taken can be read again."""
    disk = new_disk()
    wal = open_log(disk)
    with pytest.raises(struct.error):
        wal.append(LogId(1 << 63, 0), [b"x"])
    wal.append(LogId((1 << 63) - 1, 0), [b"x"])
    wal.flush()
    wal.mark()
    assert held(reopened(disk)) == [(LogId((1 << 63) - 1, 0), b"x")]


def test_an_append_of_nothing_is_refused() -> None:
    """W3: it would have no log id."""
    with pytest.raises(ValueError, match="at least one"):
        open_log(new_disk()).append(LogId(1, 0), [])


@pytest.mark.parametrize(
    "wrong",
    [
        {"chunk_size_max": 4095},
        {"chunk_size_max": (1 << 30) + 1},
        {"chunk_entries_max": 0},
        {"payload_size_max": 0},
        {"payload_size_max": (1 << 29) + 1},
        {"spares_max": -1},
        {"zero_ahead_size": -1},
        {"queue_size_max": 0},
    ],
)
def test_settings_without_sense_are_refused(wrong: dict[str, int]) -> None:
    """W5, W8: by name, before anything is opened."""
    with pytest.raises(ValueError, match=next(iter(wrong))):
        WalSettings(**wrong)  # type: ignore[arg-type]
