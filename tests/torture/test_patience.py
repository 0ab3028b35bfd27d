"""Whoever waits gives up after a silence, not after a time."""

from __future__ import annotations

import threading

import pytest
from tests.torture.patience import DoesNotReturn, Patience, within


def test_progress_is_waited_for() -> None:
    """A8: a reader that is slow comes to its end; one that stands still is given up."""
    at = 0.0
    patience = Patience(90, lambda: at)
    for _ in range(5):
        at += 60
        assert not patience.is_over
        patience.moved()
    at += 90
    assert patience.is_over


def test_what_differs_is_progress() -> None:
    """A8: who looks at a state sees whether it moves."""
    at = 0.0
    patience = Patience(90, lambda: at)
    for state in (1, 2, 2):
        patience.look(state)
        at += 50
    assert patience.is_over


def test_a_call_that_does_not_return_is_left() -> None:
    """A8: a client that hangs does not end a run; what others return or raise is theirs."""
    never = threading.Event()
    with pytest.raises(DoesNotReturn):
        within(0.05, never.wait)
    never.set()
    assert within(60.0, never.wait)
    with pytest.raises(ZeroDivisionError):
        within(60.0, lambda: 1 // 0)
    with pytest.raises(TimeoutError, match="its own"):
        within(60.0, _its_own_time_out)


def _its_own_time_out() -> None:
    raise TimeoutError("its own")
