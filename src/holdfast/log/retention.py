"""How far retention has come: a pure function of the manifest, the settings and the time."""

from __future__ import annotations

from holdfast.log.settings import PartitionSettings
from holdfast.segment.manifest import Manifest
from holdfast.types import Offset


def new_log_start(manifest: Manifest, settings: PartitionSettings, now_ms: int) -> Offset:
    """Where the log should start: behind every leading segment that is too old, or too much. Whole segments only."""
    log_start = manifest.log_start
    if "delete" not in settings.cleanup:
        return log_start
    size = sum(segment.size for segment in manifest.segments)
    for segment in manifest.segments:
        too_old = 0 <= settings.retention_ms < now_ms - segment.max_timestamp
        too_much = 0 <= settings.retention_size < size
        if not (too_old or too_much):
            break
        log_start = segment.end
        size -= segment.size
    return log_start
