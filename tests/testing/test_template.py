"""Brokers that are forked out of a process which has loaded everything: quick to start, else like any other."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from holdfast.errors import Rejected
from holdfast.testing import running_broker
from holdfast.testing.template import TEMPLATE

KILLED = """
import os, sys
from holdfast.testing import running_broker
with running_broker() as broker:
    print(broker.pid, TEMPLATE_PID, flush=True)
    os.kill(os.getpid(), 9)
"""


def processor_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def is_there(pid: int) -> bool:
    state = Path(f"/proc/{pid}/stat")
    return state.exists() and state.read_text().rpartition(")")[2].split()[0] != "Z"


def test_a_start_takes_less_than_two_fifths_of_a_second_of_a_processor() -> None:
    """Counted as time of a processor, which a busy machine does not change: it was 0.6 without the template."""
    TEMPLATE.begin()
    with running_broker() as first, running_broker() as second:
        assert max(processor_s(first.pid), processor_s(second.pid)) < 0.4
        assert first.pid != second.pid


def test_a_forked_broker_has_its_own_settings_lines_and_exit_code() -> None:
    with running_broker(num_partitions=2) as one, running_broker(num_partitions=3) as other:
        assert len({one.port, other.port}) == 2
        for broker, count in ((one, 2), (other, 3)):
            broker.topic("t", partitions=-1)
            assert any(f"topic t made: {count} partitions" in line for line in broker.said)
        assert one.stop() == 0
        other.kill()
        assert not other.is_running
        assert other.wait() == -signal.SIGKILL
        other.restart()
        assert other.read("t") == []


def test_a_setting_that_is_wrong_is_told_as_ever() -> None:
    with (
        pytest.raises(Rejected, match=r"num_partitions sets num\.partitions to 'many'"),
        running_broker(num_partitions="many"),
    ):
        pass


def test_everything_ends_with_the_process_that_started_it() -> None:
    """Also when that is killed: neither the template nor its brokers stay."""
    code = KILLED.replace(
        "TEMPLATE_PID", "__import__('holdfast.testing.template', fromlist=['x']).TEMPLATE._process.pid"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    left = [int(word) for word in done.stdout.split()]
    assert len(left) == 2
    until = time.monotonic() + 30
    while any(map(is_there, left)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(map(is_there, left))


def test_where_the_template_was_killed_another_is_made() -> None:
    with running_broker() as broker:
        assert TEMPLATE._process is not None
        TEMPLATE._process.kill()
        TEMPLATE._process.wait()
        with running_broker() as other:
            assert other.topic("t", "one") == "t"
        assert broker.topic("t", "one") == "t"  # Its life is its own.
