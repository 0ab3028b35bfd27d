"""Which batches of clients a partition takes: the rules of its topic, once the records have been looked at."""

from __future__ import annotations

from holdfast.log.settings import PartitionSettings
from holdfast.record.batch import BatchHeader, stamp_max_timestamp
from holdfast.record.errors import RecordsWithoutKey, TimestampOutOfRange
from holdfast.record.validate import Records, records_without_key

_NO_TIMESTAMP = -1


def admit(
    settings: PartitionSettings, now_ms: int, header: BatchHeader, batch: memoryview, records: Records | None
) -> BatchHeader:
    """Raise unless the topic takes this batch; its header, which is put right where it contradicts the records.

    Without `records` nobody has looked at them: then what the header says of them is held against the rules.
    """
    if records is None:
        low, high = header.base_timestamp, header.max_timestamp
    else:
        low, high = records.timestamp_min, records.timestamp_max
        if records.keyless >= 0 and "compact" in settings.cleanup:
            raise RecordsWithoutKey(records_without_key(header, batch, records.keyless))
    if settings.timestamp_type == "log_append":
        return header
    _check_times(settings, now_ms, low, high)
    if high == header.max_timestamp:
        return header
    stamp_max_timestamp(batch, high)  # As Kafka does: retention and look-ups by time go by it.
    return header._replace(max_timestamp=high)


def _check_times(settings: PartitionSettings, now_ms: int, low: int, high: int) -> None:
    before, after = settings.timestamp_before_ms_max, settings.timestamp_after_ms_max
    oldest = now_ms - before if before >= 0 else None
    newest = now_ms + after if after >= 0 else None
    if newest is not None and high > newest:
        raise TimestampOutOfRange(high, oldest, newest)
    if oldest is not None and _NO_TIMESTAMP < low < oldest:
        raise TimestampOutOfRange(low, oldest, newest)
