"""The console of a broker whose store is away at its start: it says so, and shows everything when it is back."""

from __future__ import annotations

from pathlib import Path

from tests.broker.wire import wait_for
from tests.console.asking import Asked

from holdfast.testing import RunningBroker, free_port


def test_a_start_that_waits_for_its_store_is_seen_in_the_console(tmp_path: Path) -> None:
    """V1, V6: what it waits for, as a page that loads itself again and as JSON; to no other name than ours."""
    port, store = free_port(), tmp_path / "store"
    options = ["--store", str(store), "--console", f"127.0.0.1:{port}"]
    asked = Asked(port)
    with RunningBroker(tmp_path / "data", options=options) as broker:
        assert asked.ask("/").status == 200
        assert broker.stop() == 0
        store.rename(tmp_path / "away")
        broker.start()
        told = asked.ask("/topics")
        assert told.status == 503
        assert told.json["error"].startswith("The broker waits for its store: ")
        assert str(store) in told.json["error"]
        page = asked.ask("/", Accept="text/html")
        assert (page.status, "waits for its store" in page.text) == (503, True)
        assert 'http-equiv="refresh"' in page.text
        assert asked.ask("/", Host="evil.example").status == 421
        (tmp_path / "away").rename(store)
        wait_for(lambda: asked.ask("/").status == 200, 60)
        assert asked.page("/")["findings"][0]["level"] == "ok"
