"""A repair is carried out: originals are kept, partitions written, and the write-ahead log made anew and put in place.

In this order, so that it can end anywhere and be made again: the old log is there until the new one is whole, and
what was written into the store before is found there.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from holdfast.cluster.auth_log import AUTH
from holdfast.cluster.metadata_log import METADATA
from holdfast.io.chance import Chance, SystemChance
from holdfast.io.disk import RealDirectory
from holdfast.log import entry
from holdfast.log.metadata import Identity, LogMetadata, save_kept
from holdfast.log.ownership.owner import lives_of_owner
from holdfast.operate.repair.finish import BUILT
from holdfast.operate.repair.plan import Plan
from holdfast.operate.repair.shared import write_shared
from holdfast.operate.repair.write import Repairer
from holdfast.types import PartitionId
from holdfast.wal import LogId, Wal

_SYNC_EVERY = 16 << 20


def apply(plan: Plan, chance: Chance | None = None) -> Path:
    """Do it. The caller holds the directory, and the log's lock, which moves away with it. Where the originals are."""
    chance = chance or SystemChance()
    place = plan.data / "quarantine" / f"repair-{plan.token}"
    RealDirectory(place)
    _keep_originals(plan, place)
    identity = _next_identity(plan, chance)
    repairer = Repairer(plan.objects, identity, chance)
    flushed = dict(plan.salvaged.kept.flushed) if plan.salvaged.kept else {}
    if plan.metadata is not None and plan.metadata.items:
        found = plan.metadata
        write_shared(METADATA, plan.objects, found.value, found.newest, identity.broker, chance)
    if plan.auth is not None and plan.auth.items:
        write_shared(AUTH, plan.objects, plan.auth.value, plan.auth.newest, identity.broker, chance)
    for each in plan.partitions:
        flushed[each.home] = repairer.write(each).flushed
    flushed = {home: mark for home, mark in flushed.items() if not _is_gone(plan, home)}
    lives = plan.salvaged.kept.lives if plan.salvaged.kept else lives_of_owner(plan.objects)
    _build_log(plan, LogMetadata(identity, flushed, lives=lives), plan.data / BUILT)
    _put_in_place(plan, place)
    return place


def _keep_originals(plan: Plan, place: Path) -> None:
    names = {name for each in plan.partitions for name in each.originals}
    for found in (plan.metadata, plan.auth):
        names |= set(found.originals) if found is not None else set()
    for name in names:
        target = place / "objects" / name
        RealDirectory(target.parent)
        _write_durably(target, plan.objects.get(name))


def _write_durably(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _next_identity(plan: Plan, chance: Chance) -> Identity:
    """The same broker, in a generation above everything that was ever written in."""
    kept = plan.salvaged.kept
    epochs = [each.manifest.epoch for each in plan.partitions if each.manifest is not None]
    generation = max([kept.identity.generation if kept else 0, *epochs]) + 1
    return Identity(plan.cluster, kept.identity.broker if kept else f"{chance.bits(128):032x}", generation)


def _build_log(plan: Plan, kept: LogMetadata, path: Path) -> None:
    """A log with the entries of all partitions that stay as they are; those of the others are in segments now."""
    if path.exists():
        shutil.rmtree(path)  # Left over by a repair that did not end.
    written = {each.home for each in plan.partitions}
    with Wal.open(RealDirectory(path)) as wal:
        save_kept(wal, kept)
        index = size = 0
        for payload in _entries(plan, written):
            wal.append(LogId(kept.identity.generation, index), [bytes(payload)])
            index, size = index + 1, size + len(payload)
            if size > _SYNC_EVERY:
                wal.sync()
                size = 0
        wal.sync()


def _entries(plan: Plan, written: set[PartitionId]) -> list[bytes | memoryview]:
    entries: list[bytes | memoryview] = []
    for home, payloads in plan.payloads.items():
        if home not in written and not _is_gone(plan, home):
            entries += payloads
    return entries + [entry.encode_prefix(entry.DELETE_TOPIC, PartitionId(each, 0)) for each in sorted(plan.deleted)]


def _is_gone(plan: Plan, home: PartitionId) -> bool:
    return home in plan.dropped or home.topic_id in plan.deleted


def _put_in_place(plan: Plan, place: Path) -> None:
    quarantine = plan.data / "quarantine"
    (plan.data / "wal").rename(place / "wal")
    (plan.data / BUILT).rename(plan.data / "wal")
    kept = plan.salvaged.kept
    for tail in kept.quarantined.values() if kept else ():
        if (quarantine / tail.file).exists():
            (quarantine / tail.file).rename(place / tail.file)
    for path in (place, quarantine, plan.data):
        RealDirectory(path).sync_names()
