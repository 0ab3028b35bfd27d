"""How far syncs have come that write to a cluster: they leave it in a compacted topic there, for themselves and for us.

`sync.state.checkpoint` writes and reads all of it; this is what others need to know.
"""

from __future__ import annotations

import json
from typing import Final, NamedTuple

CHECKPOINTS: Final = "__holdfast_sync"  # Its one partition holds a record for each partition that is copied.


class SyncedPartition(NamedTuple):
    """One partition, as its sync has last saved it."""

    source: str  # The cluster that it comes from.
    topic: str
    partition: int
    position: int  # All records of the source below it are here.
    lag: int | None  # Offsets that were left then; None: an older release wrote it.
    saved_at_ms: int


def decode_sync_point(key: bytes | None, value: bytes | None) -> SyncedPartition | None:
    """None for what is no checkpoint of a partition."""
    try:
        of, said = json.loads(key or b""), json.loads(value or b"")
        lag = said.get("lag")
        found = SyncedPartition(
            str(of["from"]),
            str(of["topic"]),
            int(of["partition"]),
            int(said["position"]),
            None if lag is None else int(lag),
            int(said["saved_at_ms"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return found if found.partition >= 0 else None  # -1 speaks of a topic's configs.
