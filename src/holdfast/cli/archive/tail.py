"""What a running broker has acknowledged and not flushed: brought into the store first, or counted."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from holdfast.catalog.catalog import Catalog
from holdfast.cli.terminal.broker import asking
from holdfast.client import ClientSettings
from holdfast.operate.place import log_directory
from holdfast.operate.wal_tails import read_tails


def flush_first(broker: ClientSettings, topics: Iterable[str]) -> None:
    """Ask the broker to put everything into the store that it has acknowledged."""
    with asking(broker) as client:
        for each in topics:
            client.flush_topic(each)


def unflushed(path: str, catalog: Catalog) -> dict[str, int]:
    """By topic, the offsets of its write-ahead log that no segment has; nothing where the log is not at hand."""
    wal = Path(path) / "wal"
    if "://" in path or Path(catalog.store.url) != Path(path).absolute() / "objects" or not wal.is_dir():
        return {}
    tails = read_tails(log_directory(wal))
    counts: dict[str, int] = {}
    for where, manifest in catalog.manifests.items():
        if manifest.home in tails.rows and manifest.home.topic_id not in tails.deleted:
            above = tails.rows[manifest.home].above(manifest.flushed)
            count = sum(each.header.end_offset - max(each.header.base_offset, manifest.flushed) for each in above)
            if count:
                counts[where.topic] = counts.get(where.topic, 0) + count
    return counts
