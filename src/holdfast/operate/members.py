"""Who is in a cluster, told from its store alone: also when no broker is left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from holdfast.cluster.identity import read_cluster
from holdfast.cluster.lease import Lease, read_lease
from holdfast.cluster.lives import BrokerLife
from holdfast.cluster.metadata_log import MetadataLog
from holdfast.io.chance import SystemChance
from holdfast.io.clock import SystemClock
from holdfast.io.objects import Objects
from holdfast.io.versions import VersionRetries
from holdfast.log.rounds.series import all_series

LOOK_S = 2.5  # Between two looks at the leases: a broker that lives has said so twice.


def look_at_members(objects: Objects, wait: Callable[[float], None]) -> dict[str, Any]:
    """The brokers, who leads, and how much is only in rounds. Looks twice, since a beat tells nothing of its time."""
    patience = VersionRetries(SystemClock(), SystemChance(), wait)
    log = MetadataLog(objects, read_cluster(objects), "", patience)
    lives = log.metadata.lives
    before = {each.life: read_lease(objects, each.broker, each.life) for each in lives.by_broker.values()}
    if before:
        wait(LOOK_S)
    metadata = log.refresh()
    lives = metadata.lives
    rows = [_row(each, before.get(each.life), objects, lives.leader) for each in lives.eldest_first]
    series = all_series(objects, patience)
    sizes = [each.size for one in series for each in objects.list(one.id.prefix)]
    return {
        "cluster": metadata.cluster_id,
        "version": metadata.version,
        "leader": lives.leading.broker if lives.leading else None,
        "brokers": rows,
        "partitions": sum(each.partitions for each in metadata.topics.values()),
        "series": len(series),
        "series_size": sum(sizes),
    }


def _row(life: BrokerLife, before: Lease | None, objects: Objects, leader: int) -> dict[str, Any]:
    now = read_lease(objects, life.broker, life.life)
    is_silent = now is None or now == before
    role = "leads" if life.life == leader else "ready"
    return {
        "broker": life.broker,
        "life": life.life,
        "address": ", ".join(map(str, life.listeners.values())),
        "state": "silent" if is_silent else role,
        "leads": life.life == leader,
        "beat": now.beat if now else None,
        "version": now.version if now else None,
        "place": life.name,
    }
