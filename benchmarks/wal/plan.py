"""What is measured: for each round the groups of steps, and for each step who runs which workload with which values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.rounds import Group, Step

MIB = 1 << 20
SIZES = (100, 1024)
BATCH = 1000
APPENDERS = 64

# Both logs get the same limits. Those for a steady state and for memory are small.
LIMITS = {"chunk_size": 64 * MIB, "chunk_entries": 1 << 20, "cache_size": 64 * MIB, "cache_entries": 1 << 17}
SHARED = {"shared_frame_size": 4096}  # Ours alone, as it comes …
WIDELY_SHARED = {"shared_frame_size": 64 << 10}  # … and for whoever reads entries by the thousand.
STEADY = {"chunk_size": 8 * MIB, "cache_size": 8 * MIB}
SMALL = {"chunk_size": 16 * MIB, "cache_size": 16 * MIB}
MEMORY_ALLOWANCE = 16 * MIB  # For the index, the frames in flight and the allocator, on top of cache and open chunk.

# What a record costs on top of its payloads: a frame header, an append header, and a size for each entry.
RECORD_OVERHEAD = 24 + 20
ENTRY_OVERHEAD = 4


@dataclass(frozen=True)
class Scale:
    """How long and how much."""

    rounds: int
    turns: int  # In each round, for those who take turns.
    seconds: float  # In each round, for workloads that are limited by time.
    entries: dict[int, int]  # By entry size, for workloads that are limited by count.
    memory_entries: int


FULL = Scale(rounds=5, turns=8, seconds=0.8, entries={100: 200_000, 1024: 100_000}, memory_entries=200_000)
QUICK = Scale(rounds=2, turns=4, seconds=0.25, entries={100: 50_000, 1024: 30_000}, memory_entries=100_000)


def groups(scale: Scale) -> list[Group]:
    """The groups of one round."""
    of_sizes = [group for size in SIZES for group in _groups_of_size(size, scale)]
    return [*of_sizes, Group(_steady(scale), scale.turns), Group(_memory(scale))]


def _groups_of_size(size: int, scale: Scale) -> list[Group]:
    return [
        Group(_each(size, scale) + _appenders(size, scale), scale.turns),
        Group(_thousand(size, scale), scale.turns),
        Group(_replay(size)),
        Group(_read(size, scale)),
    ]


def _each(size: int, scale: Scale) -> list[Step]:
    timed = {"seconds": scale.seconds}

    def raw(program: str, language: str, file: str) -> Step:
        frame = {"batch": 1, "frame_size": size + RECORD_OVERHEAD + ENTRY_OVERHEAD}
        values: Mapping[str, float | str] = {**timed, **frame, "file": file}
        return Step(f"raw.{language}.{file}", program, "raw", size, arguments=values)

    return [
        raw("raw", "python", "growing"),
        raw("peer", "rust", "growing"),
        Step("peer.each", "peer", "each", size, arguments=timed),
        Step("ours.each_sync", "ours", "each_sync", size, arguments=timed),
        raw("peer", "rust", "written"),
        Step("ours.each_async", "ours", "each_async", size, arguments=timed),
        raw("raw", "python", "written"),
    ]


def _appenders(size: int, scale: Scale) -> list[Step]:
    timed = {"seconds": scale.seconds, "appenders": APPENDERS}
    return [
        Step("peer.appenders", "peer", "appenders", size, arguments=timed),
        Step("ours.appenders", "ours", "appenders", size, arguments=timed),
        # Without a wait the peer makes one fsync for each flush; its default wait of 1 ms is what groups them.
        Step("peer.appenders_1ms", "peer", "appenders", size, arguments=timed | {"wait_us": 1000}),
    ]


def _thousand(size: int, scale: Scale) -> list[Step]:
    counted = {"entries": scale.entries[size], "batch": BATCH}
    raw = {"seconds": scale.seconds, "batch": BATCH, "frame_size": size + ENTRY_OVERHEAD}
    return [
        Step("raw.rust.growing_1000", "peer", "raw", size, arguments=raw | {"file": "growing"}),
        Step("peer.single", "peer", "single", size, arguments=counted),
        Step("ours.single", "ours", "single", size, keep="ours-single", arguments=counted),
        Step("ours.one_by_one", "ours", "one_by_one", size, keep="ours-one", arguments=counted),
        Step("ours.one_by_one_64k", "ours", "one_by_one", size, arguments=counted | WIDELY_SHARED),
        Step("peer.batch", "peer", "batch", size, keep="peer-batch", arguments=counted),
        Step("ours.batch", "ours", "batch", size, keep="ours-batch", arguments=counted),
        Step("raw.rust.written_1000", "peer", "raw", size, arguments=raw | {"file": "written"}),
    ]


def _replay(size: int) -> list[Step]:
    return [
        Step("ours.replay_single", "ours", "replay", size, directory="ours-single"),
        Step("ours.replay_one", "ours", "replay", size, directory="ours-one"),
        Step("peer.replay", "peer", "replay", size, directory="peer-batch"),
        Step("ours.replay_batch", "ours", "replay", size, directory="ours-batch"),
    ]


def _read(size: int, scale: Scale) -> list[Step]:
    counted = {"entries": scale.entries[size]}
    huge = {"cache_size": 1 << 40, "cache_entries": 1 << 40}
    return [
        Step("ours.read_disk", "ours", "read_disk", size, directory="ours-batch"),
        Step("peer.read_disk", "peer", "read_disk", size, directory="peer-batch"),
        Step("ours.read_disk_single", "ours", "read_disk", size, directory="ours-single"),
        Step("ours.read_disk_one", "ours", "read_disk", size, directory="ours-one"),
        Step("ours.read_disk_blocks", "ours", "read_disk_blocks", size, directory="ours-batch"),
        Step("ours.read_disk_blocks_one", "ours", "read_disk_blocks", size, directory="ours-one"),
        Step("ours.read_cache_blocks", "ours", "read_cache_blocks", size, arguments=counted | huge),
        Step("ours.read_cache", "ours", "read_cache", size, arguments=counted | huge),
        Step("peer.read_cache", "peer", "read_cache", size, arguments=counted | huge),
    ]


def _steady(scale: Scale) -> list[Step]:
    values = {"entries": scale.entries[1024], "batch": BATCH} | STEADY
    return [Step(f"{who}.steady", who, "steady", 1024, arguments=values) for who in ("ours", "peer")]


def _memory(scale: Scale) -> list[Step]:
    values = {"entries": scale.memory_entries, "batch": BATCH} | SMALL
    return [Step(f"{who}.memory", who, "memory", 1024, arguments=values) for who in ("ours", "peer")]
