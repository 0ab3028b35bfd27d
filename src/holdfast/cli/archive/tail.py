"""What a running broker has acknowledged and not flushed: brought into the store first, or counted."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from holdfast.catalog.catalog import Catalog
from holdfast.cli.terminal.broker import staying
from holdfast.client import ClientSettings
from holdfast.operate.place import wal_beside
from holdfast.operate.wal_tails import read_tails


def flush_first(broker: ClientSettings, topics: Iterable[str]) -> None:
    """Ask whoever leads to put everything into the store that was acknowledged."""
    with staying(broker) as client:
        for each in topics:
            client.flush_topic(each)


def unflushed(path: str, catalog: Catalog) -> dict[str, int]:
    """By topic, the offsets of its write-ahead log that no segment has; nothing where the log is not at hand.

    Of a log in the store there are none: the archive reads its rounds.
    """
    is_beside = "://" not in path and Path(catalog.store.url) == Path(path).absolute() / "objects"
    wal = wal_beside(Path(path), catalog.store.open()) if is_beside else None
    if wal is None:
        return {}
    tails = read_tails(wal)
    counts: dict[str, int] = {}
    for where, manifest in catalog.manifests.items():
        if manifest.home in tails.rows and manifest.home.topic_id not in tails.deleted:
            above = tails.rows[manifest.home].above(manifest.flushed)
            count = sum(each.header.end_offset - max(each.header.base_offset, manifest.flushed) for each in above)
            if count:
                counts[where.topic] = counts.get(where.topic, 0) + count
    return counts
