"""`holdfast serve` as a process: it starts, holds its directory, and stops cleanly when told."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path
from subprocess import PIPE

import pytest
from confluent_kafka import Producer

from holdfast import config
from holdfast.testing import free_port

COMMAND = Path(sys.executable).parent / "holdfast"


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}


@contextmanager
def serving(data: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """A server that has said it serves."""
    command = [COMMAND, "serve", "--data", data, "--listen", "127.0.0.1:0", *options]
    with subprocess.Popen(command, env=environment(), stdout=PIPE, stderr=PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            said = list(takewhile(lambda line: "holdfast: serving" not in line, server.stderr))
            assert server.poll() is None, "".join(said)
            yield server
        finally:
            server.kill()


@pytest.mark.parametrize("which", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_it_cleanly(tmp_path: Path, which: signal.Signals) -> None:
    with serving(tmp_path / "data") as server:
        server.send_signal(which)
        out, err = server.communicate()
    assert (server.returncode, out) == (0, "")
    assert err.splitlines()[-1].endswith("holdfast: stopped; every record is in the store")


def test_it_opens_its_own_directory_again(tmp_path: Path) -> None:
    for _ in range(2):
        with serving(tmp_path) as server:
            server.terminate()
            assert server.wait() == 0


def test_a_second_server_on_the_directory_is_told_who_holds_it(tmp_path: Path) -> None:
    """W1: the holder is named, in one sentence."""
    with serving(tmp_path) as first:
        second = subprocess.run(
            [COMMAND, "serve", "--data", tmp_path, "--listen", "127.0.0.1:0"],
            env=environment(),
            capture_output=True,
            text=True,
        )
    assert second.returncode == 1
    assert len(second.stderr.splitlines()) == 1
    assert f"is in use by process {first.pid}" in second.stderr


@pytest.mark.parametrize("option", ["--listen", "--metrics"])
def test_whoever_finds_a_port_taken_is_told_how_to_choose_another(tmp_path: Path, option: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = f"127.0.0.1:{other.getsockname()[1]}"
        options = ["--data", tmp_path / "data", "--listen", "127.0.0.1:0", option, taken]
        by_make = environment() | {"MAKELEVEL": "1"}
        done = subprocess.run([COMMAND, "serve", *options], env=by_make, capture_output=True, text=True)
    assert done.returncode == 1
    assert ("make run DATA=./another LISTEN=HOST:PORT" in done.stderr) == (option == "--listen")
    assert done.stderr.startswith(f"holdfast: cannot listen on {taken}: Address already in use")
    assert f"choose another with {option} HOST:PORT" in done.stderr
    assert not (tmp_path / "data").exists()


def test_a_killed_server_leaves_no_lock_behind(tmp_path: Path) -> None:
    """W1: the lock goes with the process, however it ends."""
    with serving(tmp_path) as server:
        server.kill()
        server.wait()
    with serving(tmp_path):
        pass


def test_settings_reach_the_parts(tmp_path: Path) -> None:
    done = subprocess.run(
        [COMMAND, "serve", "--data", tmp_path, "--set", "wal.chunk_size_max=1"],
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("holdfast: --set sets wal wrongly: chunk_size_max must be 4096 to")
    assert not (tmp_path / "wal").exists()


def test_help_lists_every_setting() -> None:
    """Whatever --set, a file or a variable can give is in `holdfast serve --help`."""
    done = subprocess.run([COMMAND, "serve", "--help"], env=environment(), capture_output=True, text=True)
    assert done.returncode == 0
    for name in config.known():
        assert f"{name} " in done.stdout
        assert config.variable_of(name) in done.stdout


_STOPPING = """
import asyncio, time
from holdfast.cli.serve.command import stop_signal
from holdfast.io.calls import ThreadCalls

async def main():
    stop = stop_signal()
    print("ready", flush=True)
    await stop.wait()
    print("stopping", flush=True)
    await ThreadCalls().run(time.sleep, 600)  # A store that hangs.

asyncio.run(main())
"""


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("first", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_it_at_once(first: signal.Signals, second: signal.Signals) -> None:
    """O4: whatever the stop still waits for, and whichever signal came first."""
    with subprocess.Popen([sys.executable, "-c", _STOPPING], stdout=PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            process.send_signal(first)
            assert process.stdout.readline() == "stopping\n"
            process.send_signal(second)
            assert process.wait(60) == -second
        finally:
            process.kill()


_HANGING = """
import sys, threading
from pathlib import Path
from holdfast.io.objects import open as door
from holdfast.io.objects.faulty import Delay, FaultyObjects

sign, open_objects = Path(sys.argv.pop()), door.open_objects
hang = Delay(threading.Event().wait)
door.open_objects = lambda *a, **k: FaultyObjects(open_objects(*a, **k), lambda _: hang if sign.exists() else None)

from holdfast.cli.main import main
main()
"""


def test_a_store_that_hangs_does_not_keep_the_process(tmp_path: Path) -> None:
    """O4: what was acknowledged is in the log; nobody waits for a request that is never answered."""
    sign, options = tmp_path / "hangs", ["--listen", "127.0.0.1:0", "--set", "log.close_timeout_ms=200"]
    command = [sys.executable, "-c", _HANGING, "serve", "--data", tmp_path / "data", *options, sign]
    with subprocess.Popen(command, env=environment(), stderr=PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            address = next(line for line in server.stderr if "Kafka clients at" in line).split()[-1]
            producer = Producer({"bootstrap.servers": address})
            producer.produce("t", b"one")
            assert producer.flush(60) == 0
            sign.touch()
            server.send_signal(signal.SIGTERM)
            assert server.wait(60) == 0
            assert "holdfast: stopped" in server.stderr.read()
        finally:
            server.kill()


def said_until(server: subprocess.Popen[str], words: str) -> str:
    """The line with these words."""
    assert server.stderr is not None
    return next(line for line in server.stderr if words in line)


def test_a_hangup_reloads_and_ends_nothing(tmp_path: Path) -> None:
    """The log level is read again, also without any certificate; what cannot be read changes nothing."""
    file = tmp_path / "holdfast.toml"
    file.write_text('[serve]\nlog_level = "info"\n')
    with serving(tmp_path / "data", "--config", str(file)) as server:
        file.write_text('[serve]\nlog_level = "warning"\n')
        server.send_signal(signal.SIGHUP)
        said_until(server, "the log level is warning now")
        file.write_text("[serve")
        server.send_signal(signal.SIGHUP)
        assert "the log level stays" in said_until(server, "cannot be read again")
        server.terminate()
        assert server.wait() == 0


def test_a_stop_says_what_only_the_log_has(tmp_path: Path) -> None:
    """With the store away nothing can be flushed: how much is told, so that nobody throws the log away."""
    store = tmp_path / "store"
    port = free_port()
    given = ["--store", str(store), "--set", "log.close_timeout_ms=200ms", "--listen", f"127.0.0.1:{port}"]
    with serving(tmp_path / "data", *given) as server:
        producer = Producer({"bootstrap.servers": f"127.0.0.1:{port}"})
        producer.produce("t", b"one")
        producer.produce("t", b"two")
        assert producer.flush(60) == 0
        store.rename(tmp_path / "away")
        server.terminate()
        line = said_until(server, "stopped;")
    assert re.search(r"stopped; 2 records \(\d+ bytes\) are only in the write-ahead log: keep it", line), line


def test_it_ends_with_whoever_started_it(tmp_path: Path) -> None:
    """When its stdin is closed, and only where it was asked to."""
    command = [COMMAND, "serve", "--data", tmp_path, "--listen", "127.0.0.1:0"]
    for asked in ("true", "false"):
        settings = ["--set", f"serve.ends_with_stdin={asked}"]
        with subprocess.Popen([*command, *settings], env=environment(), stdin=PIPE, stderr=PIPE, text=True) as server:
            said_until(server, "holdfast: serving")
            assert server.stdin is not None
            server.stdin.close()
            if asked == "true":
                assert server.wait(20) == 0
            else:
                with pytest.raises(subprocess.TimeoutExpired):
                    server.wait(1)
                server.kill()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--listen", "0.0.0.0:0"], "clients cannot be told 0.0.0.0: say where they reach this broker, as --advertise"),
        (["--store", "s3:/bucket"], "s3:/bucket names no object store"),
        (["--data", ""], "data_path must name a directory"),
        (["--set", "serve.ends_with_stdin=true"], "stdin is no pipe"),
    ],
)
def test_what_is_meant_otherwise_is_refused(tmp_path: Path, options: list[str], sentence: str) -> None:
    """No client is sent to 0.0.0.0, and no directory called `s3:` is made."""
    command = [COMMAND, "serve", "--data", str(tmp_path / "data"), "--listen", "127.0.0.1:0", *options]
    done = subprocess.run(
        command, env=environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=tmp_path
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert sentence in done.stderr
    assert not (tmp_path / "s3:").exists()


def test_nobody_else_may_look_into_the_data(tmp_path: Path) -> None:
    """What the broker makes is its own, whatever the mask says."""
    with serving(tmp_path / "new" / "data", "--store", str(tmp_path / "store")):
        assert (tmp_path / "new" / "data").stat().st_mode & 0o777 == 0o700
        assert (tmp_path / "store" / "auth").stat().st_mode & 0o777 == 0o700


def test_the_package_is_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "holdfast", "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout.split()[0]) == (0, "holdfast")
