"""Real kill -9: a process appends and reports acknowledgements, and dies at any moment, fifty times in a row."""

from __future__ import annotations

import os
import random
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.wal import appender
from tests.wal.appender import FACES, SETTINGS, payload

from holdfast.io.disk import RealDirectory
from holdfast.wal import Wal
from holdfast.wal.inspect import verify

Acked = tuple[int, int]  # From this index on, up to that one.


class Victim:
    """The appender, and what it reported."""

    def __init__(self) -> None:
        path = str(Path(__file__).parents[2])
        self._process = subprocess.Popen(
            [sys.executable, str(appender.__file__)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
        )
        self._buffer = b""

    def live(self, directory: Path, face: str, life: int, seconds: float) -> list[Acked]:
        """One life of at most that long; all acknowledgements that it reported."""
        self._tell(f"start {directory} {face} {life}")
        pid = self._read_pid()
        deadline = time.monotonic() + seconds
        acked: list[bytes] = []
        while (left := deadline - time.monotonic()) > 0:
            acked += self._read(left)
        os.kill(pid, signal.SIGKILL)
        self._tell("reap")
        while not acked or acked[-1] != b"gone":
            acked += self._read(None)
        return [self._parse(line) for line in acked[:-1]]

    def close(self) -> None:
        self._process.communicate()

    @staticmethod
    def _parse(line: bytes) -> Acked:
        word, first, end = line.split()
        assert word == b"acked"
        return int(first), int(end)

    def _tell(self, command: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(command.encode() + b"\n")
        self._process.stdin.flush()

    def _read_pid(self) -> int:
        while b"\n" not in self._buffer:
            self._fill(None)
        line, self._buffer = self._buffer.split(b"\n", 1)
        word, pid = line.split()
        assert word == b"pid"
        return int(pid)

    def _read(self, seconds: float | None) -> list[bytes]:
        """Whole lines, as far as there are any within that time."""
        self._fill(seconds)
        *whole, self._buffer = self._buffer.split(b"\n")
        return whole

    def _fill(self, seconds: float | None) -> None:
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        if select.select([descriptor], [], [], seconds)[0]:
            data = os.read(descriptor, 1 << 16)
            assert data, "the appender itself died"
            self._buffer += data


@pytest.fixture
def victim() -> Iterator[Victim]:
    victim = Victim()
    yield victim
    victim.close()


def check(directory: Path, copy: Path, acked: Acked, lives: range) -> Acked:
    """Open a copy of what the killed process left: everything acknowledged is there, in order, and no ghost."""
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(directory, copy)
    verdict = verify(RealDirectory(directory))
    assert verdict.sound, verdict.damage
    with Wal.open(RealDirectory(copy), SETTINGS) as wal:
        entries = list(wal.read(wal.state.first_index, 1 << 60))
        first, end = wal.state.first_index, wal.state.next_index
    assert end >= acked[1], f"An acknowledged entry was lost: acknowledged up to {acked[1]}, found up to {end}"
    assert first >= acked[0], f"the purge point went back from {acked[0]} to {first}"
    assert [entry.log_id.index for entry in entries] == list(range(first, end)), "the order does not hold"
    epochs = [entry.log_id.epoch for entry in entries]
    assert epochs == sorted(epochs)
    for entry in entries:
        epoch, index = entry.log_id
        assert epoch in lives, f"A ghost came back: {entry.log_id}"
        assert bytes(entry.payload) == payload(epoch, index), f"A ghost came back: {entry.log_id}"
    return first, end


@pytest.mark.slow
@pytest.mark.parametrize(("face", "lives"), [("sync", 50), ("callbacks", 15), ("async", 15), ("purging", 50)])
def test_killed_again_and_again_on_the_same_directory(victim: Victim, tmp_path: Path, face: str, lives: int) -> None:
    """W10: kill -9 at random moments, also in the middle of opens; nothing acknowledged is lost, nothing comes back."""
    assert face in FACES
    directory = tmp_path / "log"
    directory.mkdir()
    chance = random.Random(face)
    acked: Acked = (0, 0)
    reported = 0
    seconds_max = 0.12
    for life in range(1, lives + 1):
        reports = victim.live(directory, face, life, chance.random() ** 2 * seconds_max)
        reported += len(reports)
        if not reports:
            seconds_max *= 1.2  # On a busy machine a life must last longer to get anywhere.
        for first, end in reports:
            acked = max(acked[0], first), max(acked[1], end)
        acked = check(directory, tmp_path / "copy", acked, range(1, life + 1))  # What was found once stays, too.
    assert reported > lives, "it was killed too early to show anything"
