"""After time-outs less is put at a time, and as much as is set when the store is well again."""

from __future__ import annotations

import logging

import pytest

from holdfast.log.background.flush_size import FlushSize
from holdfast.log.settings import MIB, LogSettings


@pytest.fixture
def pace() -> FlushSize:
    return FlushSize(LogSettings(), "s3://bucket")


def now(pace: FlushSize) -> tuple[int, int]:
    return pace.segment_size_max // MIB, pace.flushes_max


def succeed(pace: FlushSize, count: int) -> None:
    for _ in range(count):
        pace.note_success(pace.number)


def test_timeouts_halve_down_to_a_floor(pace: FlushSize, caplog: pytest.LogCaptureFixture) -> None:
    """D4: one line for each step, and none when it is as slow as it gets."""
    seen = []
    for _ in range(9):
        pace.note_timeout(pace.number)
        seen.append(now(pace))
    assert seen == [(32, 2), (16, 1), (8, 1), (4, 1), (2, 1), (1, 1), (1, 1), (1, 1), (1, 1)]
    assert [each.message for each in caplog.records].count(caplog.records[0].message) == 1
    assert len(caplog.records) == 6


def test_puts_that_time_out_together_count_once(pace: FlushSize) -> None:
    """D4: they shared one uplink, at one pace."""
    for _ in range(4):
        pace.note_timeout(0)
    assert now(pace) == (32, 2)


def test_successes_bring_it_back(pace: FlushSize, caplog: pytest.LogCaptureFixture) -> None:
    """D4: step by step, and it is said at the end; what was begun before the change does not count."""
    caplog.set_level(logging.INFO)
    pace.note_timeout(0)
    pace.note_timeout(1)
    pace.note_success(1)
    succeed(pace, 7)
    assert now(pace) == (16, 1)
    succeed(pace, 1)
    assert now(pace) == (32, 2)
    succeed(pace, 8)
    assert now(pace) == (64, 4)
    assert not pace.is_slowed
    assert "store well" in caplog.records[-1].message


def test_a_step_up_that_fails_makes_the_next_one_wait_longer(pace: FlushSize) -> None:
    """D4: an uplink that stays slow is not tried out for ever."""
    needed = []
    for _ in range(8):
        pace.note_timeout(pace.number)
        while pace.segment_size_max > 16 * MIB:
            pace.note_timeout(pace.number)
        count = 0
        while now(pace)[0] < 32:
            succeed(pace, 1)
            count += 1
        needed.append(count)
    assert needed == [8, 16, 32, 64, 128, 256, 256, 256]


def test_small_segments_have_a_floor_of_their_own() -> None:
    pace = FlushSize(LogSettings(segment_size_max=8_000), "s3://bucket")
    for _ in range(9):
        pace.note_timeout(pace.number)
    assert pace.segment_size_max == 2_000
