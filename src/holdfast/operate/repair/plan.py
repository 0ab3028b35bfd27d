"""All that is wrong with a data directory and its store, as one plan. Looking changes nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

from holdfast.cluster.auth import Auth
from holdfast.cluster.auth_log import AUTH
from holdfast.cluster.identity import read_cluster
from holdfast.errors import Corrupt, Rejected
from holdfast.io.disk import Directory, RealDirectory
from holdfast.io.objects import Objects
from holdfast.log import entry
from holdfast.log.metadata import QuarantinedTail
from holdfast.log.recovery.quarantine import read_tail_file
from holdfast.operate.place import open_place
from holdfast.operate.repair.finish import finish_interrupted
from holdfast.operate.repair.item import Item, token_of
from holdfast.operate.repair.metadata import FoundMetadata, find_metadata
from holdfast.operate.repair.partition import Batch, PartitionPlan, survey
from holdfast.operate.repair.shared import FoundShared, find_shared
from holdfast.operate.repair.wal import Salvaged, read_entries, salvage
from holdfast.record.batch import split
from holdfast.record.errors import InvalidBatch
from holdfast.types import PartitionId


@dataclass
class Plan:
    """What a repair would do."""

    data: Path
    objects: Objects
    wal: Directory
    cluster: str
    salvaged: Salvaged
    items: list[Item] = field(default_factory=list)
    deleted: set[UUID] = field(default_factory=set)
    payloads: dict[PartitionId, list[memoryview]] = field(default_factory=dict)  # Entries, as they were.
    partitions: list[PartitionPlan] = field(default_factory=list)  # Those that are not sound.
    dropped: set[PartitionId] = field(default_factory=set)  # Those that the store knows nothing of.
    metadata: FoundMetadata | None = None
    auth: FoundShared[Auth] | None = None

    @property
    def token(self) -> str:
        return token_of(self.items)


def open_data(data: str, store: str | None) -> tuple[Path, Objects, RealDirectory]:
    """A data directory that a broker has written; a store alone has no write-ahead log to repair."""
    path = Path(data)
    finish_interrupted(path)
    place = open_place(data, store)
    if place.wal is None:
        raise Rejected(f"{data} has no write-ahead log: name the data directory, and its store with --store")
    return path, place.objects, place.wal


def look(data: Path, objects: Objects, wal: Directory) -> Plan:
    """Read everything. The caller holds the lock."""
    plan = Plan(data, objects, wal, read_cluster(objects), salvage(wal))
    plan.items += plan.salvaged.items
    kept = plan.salvaged.kept
    if kept is not None and kept.identity.cluster != plan.cluster:
        raise Rejected(
            f"the write-ahead log belongs to cluster {kept.identity.cluster}, the store to cluster {plan.cluster}: "
            "this is another cluster's store, and nothing that can be repaired"
        )
    _sort(plan)
    plan.deleted |= kept.deleted if kept is not None else set()
    marks, quarantined = (kept.flushed, kept.quarantined) if kept is not None else ({}, {})
    in_log = {*plan.payloads, *marks, *quarantined}
    plan.metadata = find_metadata(objects, plan.cluster, plan.deleted, in_log)
    plan.items += plan.metadata.items
    plan.auth = find_shared(AUTH, objects, plan.cluster, "users and rules are as they were before it: look at them")
    plan.items += plan.auth.items
    metadata = plan.metadata.value
    names = {each.topic_id: each.name for each in metadata.topics.values()}
    known = {PartitionId(each.topic_id, n) for each in metadata.topics.values() for n in range(each.partitions)}
    for home in sorted(known | in_log):
        if home.topic_id in plan.deleted:
            continue
        if home not in known:
            _drop(plan, home, quarantined.get(home))
            continue
        tail = quarantined.get(home)
        restored = _from_quarantine(plan, tail)
        name = f"{names[home.topic_id]}-{home.partition}"
        found = survey(
            objects,
            home,
            name,
            _batches(plan.payloads.get(home, ())),
            marks.get(home, 0),
            restored,
            tail.end if tail and restored else 0,
        )
        if found.items or home in quarantined:
            plan.partitions.append(found)
            plan.items += found.items
    return plan


def _sort(plan: Plan) -> None:
    for payload in read_entries(plan.wal, plan.salvaged):
        found = entry.decode(payload)
        if found.kind == entry.DELETE_TOPIC:
            plan.deleted.add(found.home.topic_id)
        elif found.kind == entry.BATCHES:
            plan.payloads.setdefault(found.home, []).append(memoryview(bytes(payload)))


def _batches(payloads: Iterable[memoryview]) -> list[Batch]:
    found: list[Batch] = []
    for payload in payloads:
        try:
            found += split(payload[entry.CONTENT_START :])
        except InvalidBatch:  # Its frame was whole, so this was written so: no partition can hold it.
            continue
    return found


def _drop(plan: Plan, home: PartitionId, tail: QuarantinedTail | None) -> None:
    batches = _batches(plan.payloads.get(home, ()))
    spans = [(header.base_offset, header.end_offset) for header, _ in batches]
    spans += [(tail.start, tail.end)] if tail else []
    start, end = min((each[0] for each in spans), default=0), max((each[1] for each in spans), default=0)
    what = "the store's metadata has no such topic; what the log has of it is kept in quarantine"
    plan.items.append(Item("topic", home.path, what, start, end))
    plan.dropped.add(home)


def _from_quarantine(plan: Plan, tail: QuarantinedTail | None) -> list[Batch]:
    if tail is None:
        return []
    file = plan.data / "quarantine" / tail.file
    try:
        return list(split(read_tail_file(tail.file, file.read_bytes())[1]))
    except (OSError, Corrupt, InvalidBatch) as failure:
        plan.items.append(Item("offsets", str(file), f"its records cannot be read: {failure}", tail.start, tail.end))
        return []
