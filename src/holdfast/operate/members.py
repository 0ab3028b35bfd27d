"""Who is in a cluster, told from its store alone, also when no broker is left; and who should lead a partition."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from holdfast.cluster.identity import read_cluster
from holdfast.cluster.leads import wish
from holdfast.cluster.lease import Lease, read_lease
from holdfast.cluster.lives import BrokerLife, Lives, leave
from holdfast.cluster.metadata_log import MetadataLog
from holdfast.errors import Rejected, Unavailable
from holdfast.io.chance import SystemChance
from holdfast.io.clock import SystemClock
from holdfast.io.objects import Objects
from holdfast.io.versions import VersionRetries
from holdfast.log.rounds.series import all_series
from holdfast.types import PartitionId

_DRAIN_LOOK_S = 0.5
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
    leads, counts = metadata.leads, metadata.leads.counts()
    leading = {each.life for each in lives.eldest_first} if leads.is_spread else {lives.leader}
    partitions = sum(each.partitions for each in metadata.topics.values())
    rows = [
        _row(each, before.get(each.life), objects, leading, lives.leaving)
        | ({"partitions": counts.get(each.life, 0)} if leads.is_spread else {})
        for each in lives.eldest_first
    ]
    led = sum(counts.get(each.life, 0) for each in lives.eldest_first) if leads.is_spread else partitions
    series = all_series(objects, patience)
    sizes = [each.size for one in series for each in objects.list(one.id.prefix)]
    return {
        "cluster": metadata.cluster_id,
        "version": metadata.version,
        "level": metadata.level,
        "leader": lives.leading.broker if lives.leading else None,
        "brokers": rows,
        "partitions": partitions,
        "is_spread": leads.is_spread,
        "without_leader": partitions - led if leads.is_spread else 0,
        "to_settle": len(lives.over),
        "wishes": len(leads.wishes),
        "series": len(series),
        "series_size": sum(sizes),
    }


def operators_log(objects: Objects, wait: Callable[[float], None]) -> MetadataLog:
    """The metadata of a cluster, for who changes it without being one of its brokers."""
    patience = VersionRetries(SystemClock(), SystemChance(), wait)
    return MetadataLog(objects, read_cluster(objects), "", patience, "operator")


def _life_of(lives: Lives, broker: int) -> BrokerLife:
    life = lives.by_broker.get(broker)
    if life is None:
        there = ", ".join(str(each.broker) for each in lives.eldest_first) or "none"
        raise Rejected(f"broker {broker} is not in the cluster: there are {there}")
    return life


def wish_for(objects: Objects, wait: Callable[[float], None], topic: str, partition: int, broker: int) -> None:
    """Let a broker lead a partition: whoever does hands it over. Raises Rejected if there is no such one."""
    log = operators_log(objects, wait)
    metadata = log.metadata
    found = metadata.topic(topic)
    if not metadata.leads.is_spread:
        raise Rejected("one broker leads everything here: there is nothing to move (cluster.leaders=many)")
    if not 0 <= partition < found.partitions:
        raise Rejected(f"there is no partition {topic}:{partition}: it has {found.partitions}")
    life = _life_of(metadata.lives, broker)
    home = PartitionId(found.topic_id, partition)
    if metadata.leads.of(home).life != life.life:
        log.commit(wish({home: broker}))


def drain(objects: Objects, wait: Callable[[float], None], broker: int, seconds: float) -> int:
    """Let a broker hand over all that it leads, and be given nothing any more; how many partitions have moved.

    Raises Rejected if nobody else could lead, and Unavailable if it takes longer: it goes on, and may be asked again.
    """
    clock = SystemClock()
    log = operators_log(objects, wait)
    lives = log.metadata.lives
    if not log.metadata.leads.is_spread:
        raise Rejected("one broker leads everything here: stop it, and another takes over (cluster.leaders=many)")
    life = _life_of(lives, broker)
    if all(each.life == life.life or each.life in lives.leaving for each in lives.eldest_first):
        raise Rejected(f"nobody else is there to lead what broker {broker} leads: start another first")
    if life.life not in lives.leaving:
        log.commit(leave(broker, life.life))
    count = log.metadata.leads.counts().get(life.life, 0)
    deadline = clock.monotonic() + seconds
    while left := log.metadata.leads.counts().get(life.life, 0):
        if clock.monotonic() > deadline:
            raise Unavailable(f"broker {broker} still leads {left} of {count} partitions: look at its log, and again")
        wait(_DRAIN_LOOK_S)
        log.refresh()
    return count


def _row(
    life: BrokerLife, before: Lease | None, objects: Objects, leading: Collection[int], leaving: Collection[int]
) -> dict[str, Any]:
    now = read_lease(objects, life.broker, life.life)
    is_silent = now is None or now == before
    role = "leads" if life.life in leading else "ready"
    if life.life in leaving:
        role = "leaves"
    return {
        "broker": life.broker,
        "life": life.life,
        "address": ", ".join(map(str, life.listeners.values())),
        "rack": life.rack,
        "state": "silent" if is_silent else role,
        "leads": life.life in leading,
        "beat": now.beat if now else None,
        "version": now.version if now else None,
        "unreachable": list(now.unreachable) if now else [],
        "level": life.level,
        "release": now.release if now else None,
        "place": life.name,
    }
