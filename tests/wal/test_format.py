"""The format is what its page says: the page's example, and a second reader written from the page alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.wal.foreign_reader import crc32c, read_chunk, read_log
from tests.wal.logs import SMALL, append, append_batch, held

from holdfast.io.clock import ManualClock
from holdfast.io.disk import RealDirectory
from holdfast.wal import LogId, Vote, Wal, WalSettings

PAGE = Path(__file__).parents[2] / "docs" / "formats" / "wal.md"
SALT = 0x0123456789ABCDEF


class FixedChance:
    """The same salt every time."""

    def bits(self, count: int) -> int:
        return SALT

    def fraction(self) -> float:
        return 0.0


def example(directory: Path) -> bytes:
    """The file of the page's example, up to its last frame."""
    settings = WalSettings(zero_ahead_size=0)
    wal = Wal.open(RealDirectory(directory), settings, clock=ManualClock(), chance=FixedChance(), threaded=False)
    wal.append(LogId(1, 0), [b"hello"])
    wal.close()
    return (directory / "00000000000000000001-0123456789abcdef.wal").read_bytes()


def test_the_example_on_the_page(tmp_path: Path) -> None:
    """W2, W9: byte by byte what the code writes; a line of one asterisk stands for zeros."""
    shown = bytearray()
    lines = re.findall(
        r"^(?:([0-9a-f]{4})  ((?:[0-9a-f]{2} ?)+)|(\*)$)", PAGE.read_text(encoding="utf-8"), re.MULTILINE
    )
    for number, (place, data, _) in enumerate(lines):
        if place:
            if lines[number - 1][2]:
                shown += bytes(int(place, 16) - len(shown))
            assert len(shown) == int(place, 16)
            shown += bytes.fromhex(data)
    assert bytes(shown) == example(tmp_path)


def test_the_crc_is_castagnoli() -> None:
    """W7: the known value for the nine digits."""
    assert crc32c(b"123456789") == 0xE3069283


@pytest.mark.parametrize("closed", [True, False])
def test_a_reader_written_from_the_page_reads_the_same(tmp_path: Path, closed: bool) -> None:
    """W2, W5, W7: all kinds, several chunks, two opens, a purge with recycled files, closed or not."""
    directory = RealDirectory(tmp_path)
    settings = WalSettings(**{**SMALL, "chunk_entries_max": 7})
    wal = Wal.open(directory, settings)
    wal.save_vote(Vote(1, 9))
    append(wal, 30, size=600)
    wal.purge(LogId(1, 12))
    wal.sync()
    append_batch(wal, 20, epoch=2)
    wal.close()
    wal = Wal.open(directory, settings)
    wal.truncate(45)
    append(wal, 5, epoch=4, size=100)
    wal.commit(LogId(2, 40))
    wal.save_user_data(b"mine")
    wal.sync()
    if closed:
        wal.close()
    found = read_log(tmp_path)
    state = wal.state
    if closed:
        wal = Wal.open(directory, settings)
    entries = [(LogId(epoch, index), data) for index, (epoch, data) in sorted(found.entries.items())]
    assert entries == held(wal)
    assert (found.vote, found.last, found.committed) == (state.vote, state.last, state.committed)
    assert (found.purged, found.user_data) == (state.purged, state.user_data)
    wal.close()


def test_a_reader_written_from_the_page_finds_the_same_frames(tmp_path: Path) -> None:
    """W7: kinds, round starts and rounds of the example."""
    chunk = read_chunk("00000000000000000001-0123456789abcdef.wal", example(tmp_path))
    assert [(kind, round_start, round_) for kind, round_start, round_, _ in chunk.frames] == [
        (1, 0, 1),
        (3, 123, 2),
        (8, 176, 3),
        (8, 176, 3),
    ]
