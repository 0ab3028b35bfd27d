"""`holdfast sync` as somebody sees it who sits at a terminal: the real command, on a terminal of its own."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
import urllib.request

from tests.sync.conftest import Pair
from tests.sync.sides import numbered, write

from holdfast.testing import free_port

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_WAIT_S = 120.0


class Terminal:
    """A terminal of 140 columns, and what was drawn on it."""

    def __init__(self) -> None:
        self._ours, self.theirs = pty.openpty()
        self.text = ""

    def read_until(self, wanted: str) -> None:
        deadline = time.monotonic() + _WAIT_S
        while not re.search(wanted, self.text):
            assert time.monotonic() < deadline, self.text
            if select.select([self._ours], [], [], 1.0)[0]:
                self.text += _ESCAPES.sub("", os.read(self._ours, 65536).decode())


def test_a_live_table_and_metrics(pair: Pair, topic: str) -> None:
    """S9: a table that is drawn again on a terminal, the same figures for machines, and a last sentence at the end."""
    pair.at_a.create_topics({topic: 1})
    write(pair.at_a, topic, 0, numbered("x", 1500))
    terminal, port = Terminal(), free_port()
    command = [sys.executable, "-m", "holdfast.cli", "sync", *pair.addresses, "--topics", topic]
    process = subprocess.Popen(
        [*command, "--metrics", f"127.0.0.1:{port}"],
        stdout=subprocess.PIPE,
        stderr=terminal.theirs,
        env={**os.environ, "COLUMNS": "140", "TERM": "xterm"},
    )
    os.close(terminal.theirs)
    try:
        terminal.read_until(r"direction +topic +records +records/s +lag +lag in time +errors")
        terminal.read_until(rf"{re.escape(topic)} +1,500 +[\d,]+ +0 +0\.0 s +0")
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
            assert re.search(rf'holdfast_sync_records_total{{.*topic="{topic}"}} 1500\.0', answer.read().decode())
        process.send_signal(signal.SIGTERM)
        terminal.read_until("1,500 records copied, 0 to go, 0 errors")
        assert process.wait(_WAIT_S) == 0
        assert process.stdout is not None
        assert process.stdout.read() == b"", "the table is talk, and no data"
    finally:
        process.kill()
        process.wait()
