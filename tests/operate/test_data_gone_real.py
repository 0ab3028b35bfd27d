"""A data directory that is removed under a running broker, for real."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.broker.wire import Wire, batch, create_topic, produce, wait_for

from holdfast.testing.process import RunningBroker

STORAGE_ERROR = 56


def count_of_lines(broker: RunningBroker) -> int:
    return sum("cannot be looked at" in line for line in broker.said)


def test_producers_of_a_data_directory_that_is_gone_are_told(tmp_path: Path) -> None:
    """O3: what is written into files that have no name any more would be acknowledged, and gone with the process.
    Producers are refused, on a connection that stays, and the log says why, once."""
    data = tmp_path / "data"
    with RunningBroker(data) as broker, Wire(broker.port) as wire:
        create_topic(wire, "orders")
        assert produce(wire, "orders", batch(b"kept")).error_code == 0
        data.rename(tmp_path / "moved")
        refused = [produce(wire, "orders", batch(b"lost")) for _ in range(20)]
        assert refused[-1].error_code == STORAGE_ERROR
        assert "put it back, and start again" in refused[-1].error_message
        (tmp_path / "moved").rename(data)
        wait_for(lambda: not produce(wire, "orders", batch(b"kept, too")).error_code, 60)
        shutil.rmtree(data)
        wait_for(lambda: bool(produce(wire, "orders", batch(b"lost")).error_code), 60)
        wait_for(lambda: count_of_lines(broker) == 2)  # What a broker says comes through a pipe.
