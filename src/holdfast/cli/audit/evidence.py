"""What an audit knows besides the store: the broker's marks, its unflushed tails, a producer's list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from holdfast.catalog.store import Store
from holdfast.cli.terminal.broker import asking
from holdfast.client import EARLIEST, LATEST, Client, ClientSettings
from holdfast.errors import Corrupt
from holdfast.io.disk import RealDirectory
from holdfast.log.rounds.series import PREFIX as ROUNDS
from holdfast.operate.findings import said
from holdfast.operate.place import wal_beside
from holdfast.operate.wal_tails import WalTails, read_round_tails, read_tails
from holdfast.record.batch import is_crc_right, split
from holdfast.spark.jobs.audit.audit import Evidence
from holdfast.spark.jobs.audit.expect import read_expected
from holdfast.spark.jobs.audit.sum import AuditedBatch, BrokerMarks
from holdfast.types import PartitionId, TopicPartition


def evidence_of(path: str, store: Store, broker: ClientSettings | None, expect: Path | None) -> Evidence:
    """Everything that was given, or lies beside the store."""
    wal = _wal_beside(path, store)
    is_in_store = wal is None and next(iter(store.open().list(ROUNDS)), None) is not None
    return Evidence(
        read_tails=partial(_tails, wal, store) if wal is not None or is_in_store else None,
        ask_broker=None if broker is None else partial(_marks, broker),
        fetch_tail=None if broker is None else partial(_fetch_tail, broker),
        acked={} if expect is None else read_expected(expect),
    )


def _wal_beside(path: str, store: Store) -> RealDirectory | None:
    """The write-ahead log of a data directory whose own objects are audited."""
    if "://" in path or Path(store.url) != Path(path).absolute() / "objects":
        return None
    return wal_beside(Path(path), store.open())


def _tails(wal: RealDirectory | None, store: Store) -> Mapping[PartitionId, Sequence[AuditedBatch]]:
    tails = (read_round_tails(store.open()) if wal is None else read_tails(wal)) or WalTails()
    if tails.problems:
        raise Corrupt(f"{said(tails.problems[0])}: `holdfast wal verify` says more")
    return {
        home: [AuditedBatch(each.header, each.crc_ok) for each in rows.above(0)]
        for home, rows in tails.rows.items()
        if home.topic_id not in tails.deleted
    }


def _fetch_tail(broker: ClientSettings, where: TopicPartition, start: int, end: int) -> list[AuditedBatch]:
    """The batches of `[start, end)` from the broker, as it would send them to a consumer that reads everything."""
    found: list[AuditedBatch] = []
    with Client(broker, "holdfast-audit") as client:
        while start < end:
            fetched = client.fetch({where: start})[where]
            if fetched.error is not None:
                raise fetched.error
            batches = [AuditedBatch(header, is_crc_right(header, batch)) for header, batch in split(fetched.records)]
            if not batches:
                break  # What is missing is counted as missing.
            found += batches
            start = batches[-1].header.end_offset
    return found


def _marks(broker: ClientSettings, topics: Sequence[str]) -> dict[TopicPartition, BrokerMarks]:
    with asking(broker) as client:
        found = client.metadata(topics or None).topics.values()
        wanted = [(topic.name, number) for topic in found for number in topic.numbers]
        starts = client.list_offsets(dict.fromkeys(wanted, EARLIEST))
        ends = client.list_offsets(dict.fromkeys(wanted, LATEST))
    return {where: BrokerMarks(start.offset, ends[where].offset) for where, start in starts.items()}
