"""Ctrl-C in the commands that follow: nothing is cut off half done, and nobody waits for it.

Each case is a process of its own: a Ctrl-C that is not taken as it should be ends that one, and not the tests' own.
"""

from __future__ import annotations

import subprocess
import sys

BEGINNING = """
import os, signal
from holdfast.cli.terminal.interrupt import CtrlC
signal.signal(signal.SIGINT, signal.default_int_handler)

def interrupt():
    os.kill(os.getpid(), signal.SIGINT)

def is_cut_off(work):
    try:
        work()
    except KeyboardInterrupt:
        return True
    return False
"""


def run(program: str) -> list[str]:
    """What a program says, line by line."""
    done = subprocess.run([sys.executable, "-c", BEGINNING + program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_wait_ends_at_once() -> None:
    assert run("""
with CtrlC() as ctrl_c:
    print(is_cut_off(lambda: ctrl_c.wait(interrupt)))
""") == ["True"]


def test_what_is_no_wait_is_finished_first() -> None:
    """A1: a record that was printed is counted; the next wait does not begin."""
    assert run("""
with CtrlC() as ctrl_c:
    print("cut off" if is_cut_off(interrupt) else "counted")
    print(is_cut_off(lambda: ctrl_c.wait(lambda: print("waited"))))
""") == ["counted", "True"]


def test_a_second_one_ends_everything() -> None:
    """Of a reader that takes no more lines nobody waits for ever."""
    assert run("""
with CtrlC():
    print(is_cut_off(interrupt), is_cut_off(interrupt))
""") == ["False True"]


def test_afterwards_all_is_as_before() -> None:
    """Whoever ignores Ctrl-C, as under nohup, goes on ignoring it."""
    assert run("""
with CtrlC():
    pass
print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)
signal.signal(signal.SIGINT, signal.SIG_IGN)
with CtrlC() as ctrl_c:
    ctrl_c.wait(interrupt)
    print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)
print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)
""") == ["True", "True", "True"]
