"""How far retention has come: a pure function of the manifest, the settings and the time."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.log.settings import PartitionSettings
from holdfast.segment.manifest.manifest import Manifest
from holdfast.types import Offset


def new_log_start(
    manifest: Manifest, settings: PartitionSettings, now_ms: int, stored_ms: Mapping[str, int] | None = None
) -> Offset:
    """Where the log should start: behind every leading segment that is too old, or too much. Whole segments only.

    Too much is a segment without which the others still have the size that is to be kept. One whose records have no
    timestamps has no age; one that claims to be of the future has it by the time in `stored_ms`, if it is there: or it,
    and all behind it, would stay for ever.
    """
    log_start = manifest.log_start
    if "delete" not in settings.cleanup:
        return log_start
    size = sum(segment.size for segment in manifest.segments)
    for segment in manifest.segments:
        size -= segment.size
        too_much = 0 <= settings.retention_size <= size
        timestamp = segment.max_timestamp
        if timestamp > now_ms and stored_ms is not None:
            timestamp = stored_ms.get(segment.name, timestamp)
        if not (too_much or is_too_old(timestamp, settings, now_ms)):
            break
        log_start = segment.end
    return log_start


def is_too_old(timestamp: int, settings: PartitionSettings, now_ms: int) -> bool:
    return timestamp >= 0 and 0 <= settings.retention_ms < now_ms - timestamp
