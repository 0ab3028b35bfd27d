"""What `holdfast serve` runs on: its disk, its store, and the clock."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.broker.running import BrokerEnvironment
from holdfast.cli.serve.here import here
from holdfast.cluster.served_store import chosen_store
from holdfast.io.disk import RealDirectory
from holdfast.io.objects import Objects
from holdfast.io.objects.open import is_remote, open_objects

if TYPE_CHECKING:
    from holdfast import config
    from holdfast.cli.serve.timings import Timings


def surroundings(data: Path, settings: config.Settings, timings: Timings | None) -> BrokerEnvironment:
    """All that a broker gets from outside; its store is the one that its data directory belongs to."""
    url = chosen_store(data, settings.serve.store)
    is_known = any((data / "wal").glob("*.wal"))  # The store is made before the log, and never a second time.
    objects = open_objects(url, asdict(settings.store) if is_remote(url) else None, is_known=is_known)
    rounds = None
    if settings.wal.store:
        near = settings.wal.store
        rounds = open_objects(near, asdict(settings.store) if is_remote(near) else None)
        rounds = timings.objects(rounds) if timings else rounds
    return BrokerEnvironment.real(
        timings.directory(data / "wal") if timings else RealDirectory(data / "wal"),
        timings.objects(objects) if timings else objects,
        lambda: RealDirectory(data / "quarantine"),
        settings.serve.disk_reserve_size,
        here(data),
        rounds,
    )


def impatient_store(settings: config.Settings, timings: Timings | None) -> Objects:
    """The store of a cluster, with calls that are given up before a lease ends."""
    url, limit_ms = settings.serve.store, settings.cluster.lease_ms
    store = replace(
        settings.store,
        connect_timeout_ms=min(settings.store.connect_timeout_ms, limit_ms),
        request_timeout_ms=min(settings.store.request_timeout_ms, limit_ms),
        retries=0,
    )
    objects = open_objects(url, asdict(store) if is_remote(url) else None)
    return timings.objects(objects) if timings else objects
