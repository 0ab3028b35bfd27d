"""New producers while the store is away."""

from __future__ import annotations

import time
from pathlib import Path

from confluent_kafka import Producer

from holdfast.testing.process import RunningBroker


def has_taken_ids(store: Path) -> bool:
    return any(b"producer_ids" in each.read_bytes() for each in (store / "meta").rglob("*") if each.is_file())


def test_a_new_idempotent_producer_does_not_wait_for_a_store_that_is_away(tmp_path: Path) -> None:
    """A3, K4: a broker that nobody has asked for an id since its start has a block of them all the same."""
    store, away = tmp_path / "store", tmp_path / "away"
    with RunningBroker(tmp_path / "data", options=["--store", str(store)]) as broker:
        plain = Producer({"bootstrap.servers": broker.bootstrap})
        plain.produce("orders", b"first")
        assert plain.flush(60) == 0
        end = time.monotonic() + 30
        while not has_taken_ids(store):
            assert time.monotonic() < end, "No block of producer ids was taken."
            time.sleep(0.02)
        store.rename(away)
        for number in range(3):
            fresh = Producer({"bootstrap.servers": broker.bootstrap, "enable.idempotence": True})
            fresh.produce("orders", b"%d" % number)
            assert fresh.flush(20) == 0, "A new producer waits for the store."
        away.rename(store)
