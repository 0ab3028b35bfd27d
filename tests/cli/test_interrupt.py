"""Ctrl-C in the commands that follow: nothing is cut off half done, and nobody waits for it."""

from __future__ import annotations

import os
import signal

import pytest

from holdfast.cli.terminal.interrupt import CtrlC


def interrupt() -> None:
    """What a terminal does."""
    os.kill(os.getpid(), signal.SIGINT)


def test_a_wait_ends_at_once() -> None:
    with CtrlC() as ctrl_c, pytest.raises(KeyboardInterrupt):
        ctrl_c.wait(interrupt)


def test_what_is_no_wait_is_finished_first() -> None:
    """A1: a record that was printed is counted; the next wait does not begin."""
    done: list[str] = []
    with CtrlC() as ctrl_c:
        try:
            interrupt()
        except KeyboardInterrupt:
            pytest.fail("it was cut off")
        done.append("counted")
        with pytest.raises(KeyboardInterrupt):
            ctrl_c.wait(lambda: done.append("waited"))
    assert done == ["counted"]


def test_a_second_one_ends_everything() -> None:
    """Of a reader that takes no more lines nobody waits for ever."""
    with CtrlC():
        interrupt()
        with pytest.raises(KeyboardInterrupt):
            interrupt()


def test_afterwards_all_is_as_before() -> None:
    """Whoever ignores Ctrl-C, as under nohup, goes on ignoring it."""
    with CtrlC():
        pass
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with CtrlC() as ctrl_c:
            ctrl_c.wait(interrupt)
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
