"""What is measured: for each round the groups of steps, and for each step who runs which workload with which values."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.rounds import Group, Step

KIB, MIB = 1 << 10, 1 << 20
APPEND_SIZES = (KIB, 64 * KIB, MIB)
MANY = 64  # Appenders.
FLUSHED_SIZE = 64 * KIB
READ_SIZES = (KIB, 64 * KIB)
SEGMENT_COUNTS = (10, 1_000, 10_000)
CODECS = {0: "none", 1: "gzip", 2: "snappy", 3: "lz4", 4: "zstd"}
ENTRY_OVERHEAD = 22 + 24 + 20 + 4  # What the write-ahead log adds to a batch: see its entry, frame and append record.
SYNC_SIZE_MAX = 16 * MIB  # Of the raw limit for many appenders.


@dataclass(frozen=True)
class Scale:
    """How long and how much."""

    rounds: int
    turns: int  # In each round, for those who append.
    raw_seconds: float  # In each round.
    one: dict[int, int]  # Batches in each round that one appender appends, by their size …
    many: dict[int, int]  # … and many appenders together.
    flushed_batches: int
    data_sizes: dict[int, int]  # Of what is read, by the size of its batches.
    hot_size: int
    opens: int
    records: int  # That are decoded.


FULL = Scale(
    rounds=5,
    turns=2,
    raw_seconds=0.5,
    one={KIB: 1500, 64 * KIB: 1000, MIB: 128},
    many={KIB: 16_000, 64 * KIB: 3072, MIB: 256},
    flushed_batches=6144,
    data_sizes={KIB: 64 * MIB, 64 * KIB: 256 * MIB},
    hot_size=32 * MIB,
    opens=5,
    records=100_000,
)
QUICK = Scale(
    rounds=1,
    turns=1,
    raw_seconds=0.2,
    one={KIB: 400, 64 * KIB: 300, MIB: 48},
    many={KIB: 5000, 64 * KIB: 1024, MIB: 96},
    flushed_batches=2048,
    data_sizes={KIB: 16 * MIB, 64 * KIB: 128 * MIB},
    hot_size=8 * MIB,
    opens=2,
    records=40_000,
)


def groups(scale: Scale, data: Path) -> list[Group]:
    """The groups of one round. `data` holds what is read, made before the first round."""
    return [
        *(Group(_append(size, scale), scale.turns) for size in APPEND_SIZES),
        Group(_until_flushed(scale), 1),
        *(Group(_read(size, scale, data), 1) for size in READ_SIZES),
        Group([Step("ours.open", "ours", "open", n, arguments={"opens": scale.opens}) for n in SEGMENT_COUNTS], 1),
        Group([Step("decode", "ours", "decode", n, arguments={"records": scale.records}) for n in CODECS], 1),
    ]


def _append(size: int, scale: Scale) -> list[Step]:
    return [
        _raw_write("raw.each", size, 1, scale),
        _ours("ours.append_one", size, 1, scale.one[size]),
        _raw_write("raw.group", size, MANY, scale),
        _ours("ours.append_many", size, MANY, scale.many[size]),
    ]


def _until_flushed(scale: Scale) -> list[Step]:
    counted = {"appenders": MANY, "batches": scale.flushed_batches}
    return [
        _raw_write("raw.flushed", FLUSHED_SIZE, MANY, scale),
        Step("ours.append_flushed", "ours", "append_until_flushed", FLUSHED_SIZE, arguments=counted),
    ]


def _ours(label: str, size: int, appenders: int, batches: int) -> Step:
    return Step(label, "ours", "append", size, arguments={"appenders": appenders, "batches": batches})


def _raw_write(label: str, size: int, batches: int, scale: Scale) -> Step:
    sync_size = min(batches * (size + ENTRY_OVERHEAD), SYNC_SIZE_MAX)
    return Step(label, "raw", "write", size, arguments={"sync_size": sync_size, "seconds": scale.raw_seconds})


def _read(size: int, scale: Scale, data: Path) -> list[Step]:
    stored = {"data": str(data / str(size))}
    return [
        Step("ours.read_hot", "ours", "read_hot", size, arguments={"data_size": scale.hot_size}),
        Step("ours.read_cached", "ours", "read_cached", size, arguments=stored),
        Step("raw.read_paged", "raw", "read_paged", size, arguments=stored),
        Step("ours.read_paged", "ours", "read_paged", size, arguments=stored),
        Step("raw.read_cold", "raw", "read_cold", size, arguments=stored),
        Step("ours.read_cold", "ours", "read_cold", size, arguments=stored),
    ]
