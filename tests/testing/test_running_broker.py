"""`holdfast.testing`: a real broker for a `with` block, which leaves nothing behind."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO

import pytest
from confluent_kafka import Producer
from tests.broker.wire import Wire, batch, create_topic, fetch, produce, values, wait_for

from holdfast.errors import Rejected
from holdfast.testing import RunningBroker, free_port, running_broker
from holdfast.testing.folders import sweep, temporary_folder


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_client_is_served_and_nothing_is_left_behind() -> None:
    with running_broker() as broker:
        acked: list[object] = []
        producer = Producer({"bootstrap.servers": broker.bootstrap})
        producer.produce("orders", b"one", on_delivery=lambda error, _: acked.append(error))
        assert producer.flush(60) == 0
        assert acked == [None]
        assert broker.port != 0
        assert (broker.data / "wal").is_dir()
    assert not broker.data.exists()
    assert not is_there(broker.pid)


def test_after_a_kill_and_a_restart_the_port_and_the_records_are_the_same(tmp_path: Path) -> None:
    """A8: what was acknowledged is there when a killed broker is started again."""
    with running_broker(tmp_path) as broker:
        with Wire(broker.port) as wire:
            create_topic(wire, "kept")
            produce(wire, "kept", batch(b"acked"))
        before = broker.bootstrap, broker.pid
        broker.kill()
        assert not broker.is_running
        broker.restart()
        assert broker.bootstrap == before[0]
        assert broker.pid != before[1]
        with Wire(broker.port) as wire:
            assert values(fetch(wire, "kept").records) == [b"acked"]
        broker.restart()
        with Wire(broker.port) as wire:
            assert values(fetch(wire, "kept").records) == [b"acked"]
    assert (tmp_path / "wal").is_dir(), "a directory that was given is kept"


def test_a_client_that_calls_a_broker_which_is_away_is_never_given_its_port(tmp_path: Path) -> None:
    """A8: a killed broker can be started again at once, also while clients call it."""
    lowest, highest = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
    assert all(not lowest <= free_port() <= highest for _ in range(50))
    with socket.socket() as kernels:
        kernels.bind(("127.0.0.1", 0))
        assert lowest <= kernels.getsockname()[1] <= highest, "what it chooses it also gives to clients"
    assert not lowest <= RunningBroker(tmp_path).port <= highest


def test_settings_are_given_by_their_names(tmp_path: Path) -> None:
    with running_broker(num_partitions=3, log_retention_check_ms=250, delete_topic_enable=False) as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap})
        assert len(producer.list_topics("made-by-asking", timeout=60).topics["made-by-asking"].partitions) == 3


def test_a_setting_that_is_none_is_an_error_that_says_so() -> None:
    with pytest.raises(Rejected, match="keyword argument sets num_partitons, which is no setting, did you mean num_p"):
        running_broker(num_partitons=3).__enter__()


def test_a_broker_that_would_not_say_its_port_is_refused_at_once() -> None:
    with pytest.raises(Rejected, match="take info or debug"):
        running_broker(serve_log_level="error").__enter__()


def test_a_clean_stop_has_exit_code_0_and_a_signal_is_handed_on(tmp_path: Path) -> None:
    with RunningBroker(tmp_path) as broker:
        assert broker.stop() == 0
        broker.start()
        broker.signal(signal.SIGKILL)
        assert broker.wait() == -signal.SIGKILL


KILLED = """
import os, signal, sys
from pathlib import Path
from holdfast.testing import running_broker
with running_broker() as broker:
    print(broker.pid, broker.data, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_broker_ends_with_a_test_run_that_is_killed_and_the_next_one_sweeps_up(tmp_path: Path) -> None:
    """Nothing runs on, and nothing stays on the disk."""
    away = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", KILLED], env=away, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    pid, data = done.stdout.split()
    wait_for(lambda: not is_there(int(pid)))
    assert Path(data).is_dir()
    sweep(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_used_is_not_swept() -> None:
    with running_broker() as broker:
        sweep(broker.data.parents[1])
        assert (broker.data / "wal").is_dir()


def test_a_folder_that_is_just_made_is_not_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another run begins when the folder is there, and not locked yet."""
    locked = fcntl.flock

    def lock(file: IO[bytes], how: int) -> None:
        if how == fcntl.LOCK_EX:
            sweep(tmp_path)
        locked(file, how)

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(fcntl, "flock", lock)
    with temporary_folder() as folder:
        assert folder.is_dir()
        sweep(tmp_path)
        assert folder.is_dir()


def test_a_broker_of_a_test_takes_little_room() -> None:
    """It holds no reserve for a disk that is full."""
    with running_broker() as broker:
        assert sum(each.stat().st_blocks * 512 for each in broker.data.rglob("*") if each.is_file()) < 20 << 20
