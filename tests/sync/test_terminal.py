"""`holdfast sync` as somebody sees it who sits at a terminal: the real command, on a terminal of its own."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import urllib.request

from tests.support.terminal import PATIENCE_S, Terminal
from tests.sync.conftest import Pair
from tests.sync.sides import numbered, write

from holdfast.testing import free_port


def test_a_live_table_and_metrics(pair: Pair, topic: str) -> None:
    """S9: a table that is drawn again on a terminal, the same figures for machines, and a last sentence at the end.
    The test of S9."""
    pair.at_a.create_topics({topic: 1})
    write(pair.at_a, topic, 0, numbered("x", 1500))
    terminal, port = Terminal(), free_port()
    command = [sys.executable, "-m", "holdfast.cli", "sync", *pair.addresses, "--topics", topic]
    process = subprocess.Popen(
        [*command, "--metrics", f"127.0.0.1:{port}"],
        stdout=subprocess.PIPE,
        stderr=terminal.theirs,
        env=terminal.environment,
    )
    terminal.handed_over()
    try:
        terminal.read_until(r"direction +topic +records +records/s +lag +lag in time +errors")
        terminal.read_until(rf"{re.escape(topic)} +1,500 +[\d,]+ +0 +0\.0 s +0")
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
            assert re.search(rf'holdfast_sync_records_total{{.*topic="{topic}"}} 1500\.0', answer.read().decode())
        process.send_signal(signal.SIGTERM)
        terminal.read_until("1,500 records copied, 0 to go, 0 errors")
        assert process.wait(PATIENCE_S) == 0
        assert process.stdout is not None
        assert process.stdout.read() == b"", "the table is talk, and no data"
    finally:
        process.kill()
        process.wait()
