"""`holdfast sync` on the command line, and what it shows."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import urllib.request

from rich.console import Console
from tests.sync.conftest import Pair
from tests.sync.sides import numbered, write

from holdfast.cli.sync.metrics import scraped
from holdfast.cli.sync.show import SyncShow
from holdfast.io.clock import ManualClock
from holdfast.sync.progress import SyncCounts, SyncLook, TopicLook
from holdfast.sync.run import Sync
from holdfast.sync.settings import SyncSettings
from holdfast.testing import free_port


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "holdfast.cli", "sync", *arguments], capture_output=True, text=True, timeout=120
    )


def look(records: int, lag: int = 5) -> SyncLook:
    topic = TopicLook("orders", 3, SyncCounts(records=records, echoes=2), lag, 1500)
    return SyncLook("a → b", "running", [topic], 1, "the broker is gone", 4, 0)


def test_a_dry_run_and_a_run(pair: Pair, topic: str) -> None:
    """S8: what --dry-run says is what --once copies; a pattern that matches nothing is one sentence and exit code 1."""
    pair.at_a.create_topics({topic: 2})
    write(pair.at_a, topic, 0, numbered("x", 123))
    dry = command(*pair.addresses, "--topics", topic, "--dry-run", "--json")
    assert json.loads(dry.stdout)["offsets"] == 123
    done = command(*pair.addresses, "--topics", topic, "--once", "--json")
    last = json.loads(done.stdout.splitlines()[-1])
    assert (done.returncode, last["records"], last["lag_records"], last["state"]) == (0, 123, 0, "stopped")
    refused = command(*pair.addresses, "--topics", "no-such-*")
    assert refused.returncode == 1
    assert refused.stderr.startswith("holdfast: no topic at")
    assert len(refused.stderr.splitlines()) == 1


def test_rates_are_of_late() -> None:
    """S9: records a second are a mean over the last seconds."""
    clock = ManualClock()
    show = SyncShow(clock)
    for second in range(10):
        rate = show.facts(look(second * 100))["records_per_s"]
        clock.advance(1)
    assert rate == 100
    clock.advance(60)
    show.facts(look(900))
    clock.advance(5)
    assert show.facts(look(900))["records_per_s"] == 0


def test_the_table_reads_without_colour() -> None:
    """S9: topic, records, rate, lag in records and in time, and errors."""
    console = Console(width=120, no_color=True)
    with console.capture() as captured:
        console.print(SyncShow()._table([look(1234)]))
    header, row = captured.get().splitlines()
    assert header.split() == ["direction", "topic", "records", "records/s", "lag", "lag", "in", "time", "errors"]
    assert row.split() == ["a", "→", "b", "orders", "1,234", "0", "5", "1.5", "s", "1"]


def test_metrics_for_machines() -> None:
    """S9: the same figures on a port for Prometheus."""
    show = SyncShow()
    show.looks = [look(77)]
    port = free_port()
    with scraped(show, f"127.0.0.1:{port}"), urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        text = answer.read().decode()
    labels = '{direction="a → b",topic="orders"}'
    for line in (f"records_total{labels} 77.0", f"lag_records{labels} 5.0", f"lag_seconds{labels} 1.5"):
        assert f"holdfast_sync_{line}" in text
    assert 'holdfast_sync_errors_total{direction="a → b"} 1.0' in text


def test_the_last_look_is_at_the_end(pair: Pair, topic: str) -> None:
    """S9: whoever watches sees the final figures, however quick the end comes after a look."""
    pair.at_a.create_topics({topic: 1})
    write(pair.at_a, topic, 0, numbered("x", 50))
    sync = Sync(*pair.addresses, SyncSettings(patterns=(topic,), once=True))
    states: list[str] = []

    def watch(looks: list[SyncLook]) -> None:
        states.append(looks[0].state)
        while len(states) == 1 and looks[0].state != "stopped":  # The end comes while the first look is shown.
            threading.Event().wait(0.01)
            [looks[0]] = sync.look()

    sync.run(watch, watch_s=0.001)
    assert states[-1] == "stopped"
