"""Whose write-ahead log and whose store it is: both carry the cluster's id, and must carry the same one."""

from __future__ import annotations

import logging
from dataclasses import replace

from holdfast.cluster.identity import claim_store, read_cluster
from holdfast.io.chance import Chance
from holdfast.io.objects import NotFound, Objects
from holdfast.log.errors import NewLog, StoreUnknown, WrongStore
from holdfast.log.metadata import Identity, KeepingLog, LogMetadata, read_kept, save_kept
from holdfast.types import MANIFESTS
from holdfast.wal import Wal

log = logging.getLogger(__name__)

FIRST_GENERATION = 0  # The first leader epoch of a new broker's topics, as Kafka's is.


def begin_generation(wal: Wal) -> None:
    """After an unclean stop a new generation begins. To be called in one step with the opening of the log.

    Durable before anything else can fail, or a start be broken off: the next open may find the log closed, and see
    nothing unclean.
    """
    kept = read_kept(wal)
    if kept is not None and not wal.opened.clean:
        save_kept(wal, replace(kept.of_generation(kept.identity.generation + 1), unclean=True))


def identify(wal: KeepingLog, objects: Objects, chance: Chance, *, take_over: bool = True) -> Identity:
    """Whose log this is; the store must be of the same cluster.

    A new log on a store that holds partitions is said: the broker that wrote them had a log, with what it acknowledged
    last. Without `take_over` it is refused.
    """
    kept = read_kept(wal)
    cluster = claim_store(objects, f"{chance.bits(128):032x}") if kept is None else _known_cluster(objects)
    if kept is None:
        check_new(objects, cluster, take_over=take_over)
        return save_kept(wal, LogMetadata(Identity(cluster, f"{chance.bits(128):032x}", FIRST_GENERATION))).identity
    if kept.identity.cluster != cluster:
        raise WrongStore(kept.identity.cluster, cluster, objects.url)
    return kept.identity


def check_new(objects: Objects, cluster: str, *, take_over: bool) -> None:
    """Refuse a log without any past on a store that has one, or say so."""
    if next(iter(objects.list(MANIFESTS)), None) is None:
        return
    if not take_over:
        raise NewLog(objects.url, cluster)
    log.warning(
        "the write-ahead log is new, and goes on with the store %s of cluster %s: what its last broker acknowledged "
        "and did not flush is in that one's own log, and not here",
        objects.url,
        cluster,
    )


def _known_cluster(objects: Objects) -> str:
    """The cluster's id in a store that this log was used with: it had one before the log had.

    It is never written a second time. Where it is missing, this is not the store, but perhaps its bare mount point.
    """
    try:
        return read_cluster(objects)
    except NotFound:
        raise StoreUnknown(objects.url) from None
