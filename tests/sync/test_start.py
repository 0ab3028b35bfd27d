"""A sync that starts while a broker is away: a service unit may be quicker than those that it needs."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.sync.conftest import Pair
from tests.sync.sides import assert_equal, numbered, read_topic, write

from holdfast.client import Client
from holdfast.client.errors import BrokerUnreachable
from holdfast.io.clock import SystemClock
from holdfast.sync.run import Sync
from holdfast.sync.settings import SyncSettings
from holdfast.testing import RunningBroker, free_port


class Hasty(SystemClock):
    """A clock by which a second is short."""

    def monotonic(self) -> float:
        return super().monotonic() * 50


def test_a_sync_waits_for_a_broker_that_comes_later(
    pair: Pair, topic: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """S8: a sync that was started before its broker says every few seconds whom it waits for, and then copies."""
    pair.at_a.create_topics({topic: 1})
    write(pair.at_a, topic, 0, numbered("x", 30))
    port = free_port()
    made: list[Sync] = []
    settings = SyncSettings(patterns=(topic,), once=True)
    arguments = pair.a.bootstrap, f"127.0.0.1:{port}", settings
    starting = threading.Thread(target=lambda: made.append(Sync(*arguments, clock=Hasty())), daemon=True)
    starting.start()
    line = f"waiting for both clusters: no broker answers at 127.0.0.1:{port} (connection refused)"
    while caplog.text.count(line) < 3 and starting.is_alive():
        starting.join(0.05)
    assert caplog.text.count(line) >= 3, "it gave up"
    with RunningBroker(tmp_path / "b", port=port) as late, Client(late.bootstrap) as at_late:
        starting.join(60)
        made[0].run()
        assert_equal(read_topic(pair.at_a, topic), read_topic(at_late, topic))


def test_a_wait_at_the_start_has_the_bound_that_was_given(pair: Pair, caplog: pytest.LogCaptureFixture) -> None:
    """S8: with a bound, a broker that does not come is an error when the time is up, whichever side it is."""
    away = f"127.0.0.1:{free_port()}"
    for addresses in ((away, pair.b.bootstrap), (pair.a.bootstrap, away)):
        caplog.clear()
        with pytest.raises(BrokerUnreachable, match=away):
            Sync(*addresses, SyncSettings(start_s=12.0), clock=Hasty())
        assert caplog.messages, "it was not patient at all"


def test_commands_that_end_by_themselves_do_not_wait_long(pair: Pair) -> None:
    """S8: --once, --dry-run and a short --give-up fail within seconds, with one sentence that names the address."""
    away = f"127.0.0.1:{free_port()}"
    command = [sys.executable, "-m", "holdfast.cli", "sync", away, pair.b.bootstrap]
    options = (["--once"], ["--dry-run"], ["--give-up", "0.5"])
    running = [subprocess.Popen([*command, *each], stderr=subprocess.PIPE, text=True) for each in options]
    try:
        for each in running:
            _, said = each.communicate(timeout=60)
            assert each.returncode == 1
            assert said.startswith(f"holdfast: no broker answers at {away} (connection refused)")
            assert len(said.splitlines()) == 1
    finally:
        for each in running:
            each.kill()
