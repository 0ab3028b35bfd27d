"""The layout of a batch: one fixed header, then records, compressed or not. All numbers are big-endian.

    | base_offset i64 | length i32 | leader_epoch i32 | magic i8 | crc32c u32 |
    | attributes i16 | last_offset_delta i32 | base_timestamp i64 | max_timestamp i64 |
    | producer_id i64 | producer_epoch i16 | base_sequence i32 | record_count i32 | records … |

`length` counts what follows it; the crc covers all that follows it, so base offset and leader epoch can be changed
without computing it again.
"""

from __future__ import annotations

import enum
import struct
from typing import Final

HEADER: Final = struct.Struct(">qiibIhiqqqhii")
HEADER_SIZE: Final = HEADER.size
assert HEADER_SIZE == 61  # Kafka's own: every client in the world reads it.

MAGIC: Final = 2
LENGTH_END: Final = 12  # `length` counts the bytes from here on.
LEADER_EPOCH_AT: Final = 12
MAGIC_AT: Final = 16
CRC_AT: Final = 17
ATTRIBUTES_AT: Final = 21  # The crc covers the bytes from here on.
MAX_TIMESTAMP_AT: Final = 35

CODEC_MASK: Final = 0x07
LOG_APPEND_TIME: Final = 0x08
TRANSACTIONAL: Final = 0x10
CONTROL: Final = 0x20

NO_PRODUCER: Final = -1
SEQUENCE_MASK: Final = 0x7FFFFFFF  # After 2^31 - 1 a producer's sequence goes on at 0.


class Codec(enum.IntEnum):
    """How the records of a batch are compressed: the lowest three attribute bits."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


class TimestampType(enum.IntEnum):
    """Whose clock a batch's timestamps come from."""

    CREATE = 0  # The producer's, one per record.
    LOG_APPEND = 1  # The broker's, one for the whole batch.
