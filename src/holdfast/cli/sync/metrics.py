"""The figures of a sync for Prometheus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from holdfast.cli.terminal.talk import tell
from holdfast.errors import Rejected
from holdfast.io.address import parse_address

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

    from holdfast.cli.sync.show import SyncShow

_LABELS = ["direction", "topic"]
_COUNTERS = {
    "records": "records applied at the target",
    "bytes": "bytes of batches applied at the target",
    "echoes": "records not sent back to where they came from",
    "lost": "records not applied, since a later write of their key was there",
    "again": "records of the target written once more behind earlier writes of their keys",
    "expired": "offsets gone at the source before they were copied",
    "set_aside": "records that the target has refused, written to a topic of their own",
    "unreadable": "offsets of the source that nobody can read, and that were left out",
}


class SyncMetrics:
    """What Prometheus's library calls a collector."""

    def __init__(self, show: SyncShow) -> None:
        self._show = show

    def collect(self) -> Iterable[Metric]:
        from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily

        looks = self._show.looks
        for name, meaning in _COUNTERS.items():
            counter = CounterMetricFamily(f"holdfast_sync_{name}", meaning, labels=_LABELS)
            for look in looks:
                for each in look.topics:
                    counter.add_metric([look.direction, each.topic], getattr(each.counts, name))
            yield counter
        lag = GaugeMetricFamily("holdfast_sync_lag_records", "offsets still to be read", labels=_LABELS)
        age = GaugeMetricFamily("holdfast_sync_lag_seconds", "age of the last record read, if behind", labels=_LABELS)
        held = GaugeMetricFamily("holdfast_sync_held_partitions", "partitions that wait for a limit", labels=_LABELS)
        for look in looks:
            for each in look.topics:
                held.add_metric([look.direction, each.topic], len(each.held))
                lag.add_metric([look.direction, each.topic], each.lag_records)
                age.add_metric([look.direction, each.topic], each.lag_ms / 1000)
        errors = CounterMetricFamily("holdfast_sync_errors", "failures that were tried again", labels=["direction"])
        saves = CounterMetricFamily(
            "holdfast_sync_checkpoints", "times that checkpoints were saved", labels=["direction"]
        )
        saved_at = GaugeMetricFamily(
            "holdfast_sync_last_checkpoint_timestamp_seconds",
            "when checkpoints were saved last, since 1970",
            labels=["direction"],
        )
        for look in looks:
            if look.saved_at_ms >= 0:
                saved_at.add_metric([look.direction], look.saved_at_ms / 1000)
            errors.add_metric([look.direction], look.errors)
            saves.add_metric([look.direction], look.saves)
        yield from (lag, age, held, errors, saves, saved_at)


@contextmanager
def scraped(show: SyncShow, listen: str | None) -> Iterator[None]:
    """Metrics at an address, for as long as the block lasts."""
    if listen is None:
        yield
        return
    from prometheus_client import CollectorRegistry, start_http_server

    address = parse_address(listen)
    registry = CollectorRegistry()
    registry.register(SyncMetrics(show))
    try:
        server, thread = start_http_server(address.port, address.host, registry)
    except OSError as failure:
        why = failure.strerror or failure
        raise Rejected(f"cannot listen on {address}: {why}; choose another with --metrics HOST:PORT") from None
    tell(f"metrics at http://{address.host}:{server.server_port}/metrics")
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
