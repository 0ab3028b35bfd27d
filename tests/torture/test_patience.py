"""Whoever waits gives up after a silence, not after a time."""

from __future__ import annotations

from tests.torture.patience import Patience


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
