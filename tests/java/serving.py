"""A broker for Java clients: their sessions may be short, and nobody waits for more members."""

from __future__ import annotations

from pathlib import Path

from tests.support.broker_process import BrokerProcess

SETTINGS = (
    "group.initial.rebalance.delay.ms=0",
    "group.min.session.timeout.ms=1000",
    "group.consumer.min.heartbeat.interval.ms=50",
    "group.consumer.heartbeat.interval.ms=50",
    "group.consumer.min.session.timeout.ms=6000",
    "group.consumer.session.timeout.ms=6000",
)


class Serving(BrokerProcess):
    """A broker for as long as a `with` block lasts. `address` is where it serves Kafka clients."""

    def __init__(self, data: Path, *settings: str, port: int = 0) -> None:
        super().__init__(data, port=port, settings=[*SETTINGS, *settings])
