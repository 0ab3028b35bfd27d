"""A start that fails ends at once, whatever the store is still asked and never answers."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from tests.operate.directory import SETTINGS, around, newer_envelope, topic_folder

from holdfast.broker.running import opened
from holdfast.io.objects.faulty import Call, Delay, Fault, FaultyObjects
from holdfast.io.store_errors import NewerFormat
from holdfast.log.settings import LogSettings
from holdfast.segment.manifest import codec as manifest_json

PATIENCE_S = 60.0  # For a machine that is busy; a call that hangs does so for ever, and a clean stop has minutes.

_HANGING = """
import sys, threading
from holdfast.io.objects import open as door
from holdfast.io.objects.faulty import Delay, FaultyObjects

part, open_objects = sys.argv.pop(), door.open_objects
hang = Delay(threading.Event().wait)
plan = lambda call: hang if part in call.name else None
door.open_objects = lambda *given, **options: FaultyObjects(open_objects(*given, **options), plan)

from holdfast.cli.main import main
main()
"""


def start(data: Path, hangs: str, *options: str) -> tuple[int, list[str]]:
    """`holdfast serve` with a store that never answers where a name holds `hangs`: its exit code and its lines."""
    words = [sys.executable, "-c", _HANGING, "serve", "--data", str(data), "--listen", "127.0.0.1:0", *options, hangs]
    done = subprocess.run(words, stderr=subprocess.PIPE, text=True, timeout=PATIENCE_S)
    return done.returncode, done.stderr.splitlines()


@pytest.fixture
def newer(data: Path) -> Path:
    """The directory with one partition that this release cannot open."""
    path = sorted(topic_folder(data, 1, "manifests").glob("0*.json"))[-1]
    path.write_bytes(newer_envelope(path.read_bytes(), manifest_json.KIND))
    return data


def of_third(data: Path) -> str:
    """What is in the names of the third partition's manifests."""
    folder = topic_folder(data, 2, "manifests")
    return f"{folder.parent.name}/{folder.name}/"


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_partition_that_cannot_be_opened_beside_one_that_is_never_read(newer: Path, form: str) -> None:
    """O1, O4: the start has failed, and says so in one sentence; nobody waits for the answer any more."""
    code, said = start(newer, of_third(newer), "--log-format", form)
    assert code == 1
    told = said[-1].removeprefix("holdfast: ") if form == "text" else json.loads(said[-1])["message"]
    assert "has format version 99" in told
    assert not any("Traceback" in line for line in said)


def test_a_start_that_fails_without_an_output(newer: Path) -> None:
    """O1: whoever starts a server may have closed its output. It ends all the same, and does not wait for the store."""
    words = [sys.executable, "-c", _HANGING, "serve", "--data", str(newer), "--listen", "127.0.0.1:0", of_third(newer)]
    closed = ["sh", "-c", 'exec "$@" >&-', "sh", *words]
    done = subprocess.run(closed, stderr=subprocess.PIPE, text=True, timeout=PATIENCE_S)
    assert done.returncode == 1
    assert "has format version 99" in done.stderr.splitlines()[-1]


def test_where_it_failed_is_shown_beside_a_call_that_hangs(newer: Path) -> None:
    """O1: --debug holds its word."""
    words = [sys.executable, "-c", _HANGING, "--debug", "serve", "--data", str(newer), "--listen", "127.0.0.1:0"]
    done = subprocess.run([*words, of_third(newer)], stderr=subprocess.PIPE, text=True, timeout=PATIENCE_S)
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert "has format version 99" in done.stderr.splitlines()[-1]


def test_a_port_that_is_taken_while_the_store_takes_nothing(data: Path) -> None:
    """O1, O4: what is in the log stays there: a start that failed flushes nothing that the store does not take."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = f"127.0.0.1:{taken.getsockname()[1]}"
        options = ["--set", f"subscribe.listen={port}", "--set", "log.close_timeout_ms=600000"]
        code, said = start(data, "segments/", *options)
    assert code == 1
    assert port in said[-1]


def test_a_start_that_failed_flushes_nothing(newer: Path) -> None:
    """O4: the parts that were open are closed, and the directory let go, without a word to a store that hangs."""
    let_go = threading.Event()

    def plan(call: Call) -> Fault | None:
        return Delay(let_go.wait) if call.kind == "put_if_absent" and call.name.startswith("segments/") else None

    async def begin() -> None:
        given = around(newer)
        settings = replace(SETTINGS, log=LogSettings(close_timeout_ms=600_000))
        async with opened(replace(given, objects=FaultyObjects(given.objects, plan)), settings):
            pass

    try:
        with pytest.raises(NewerFormat):
            asyncio.run(asyncio.wait_for(begin(), PATIENCE_S))
    finally:
        let_go.set()
    around(newer).wal_directory.lock("a test").release()
