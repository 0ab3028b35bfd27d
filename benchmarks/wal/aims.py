"""What the write-ahead log aims at, and whether a run met it. The median over the rounds decides."""

from __future__ import annotations

from typing import NamedTuple

from benchmarks.figures import Figures, Series, Spread, memory_growth, ratio, spread
from benchmarks.wal.plan import MEMORY_ALLOWANCE, MIB, SIZES, SMALL


class Aim(NamedTuple):
    """A figure, and the bound it should keep."""

    title: str
    wanted: float
    measured: Spread | None
    at_most: bool = False  # Otherwise at least.

    @property
    def met(self) -> bool | None:
        if self.measured is None:
            return None
        return self.measured.median <= self.wanted if self.at_most else self.measured.median >= self.wanted

    @property
    def verdict(self) -> str:
        if self.measured is None:
            return "not measured"
        if self.met:
            return "met"
        return f"missed by {abs(self.measured.median / self.wanted - 1):.0%}"


def raw_limit(figures: Figures, size: int, suffix: str = "") -> Series:
    """The disk's own limit: a loop in Rust over a written file, or in Python when there is no cargo."""
    return figures.series(f"raw.rust.written{suffix}", size) or figures.series(f"raw.python.written{suffix}", size)


def aims(figures: Figures) -> list[Aim]:
    bulk = [*_bulk_aims(figures), *_face_aims(figures), *_replay_aims(figures)]
    return [*_flush_aims(figures), *bulk, _memory_aim(figures)]


def _flush_aims(figures: Figures) -> list[Aim]:
    found = []
    for size in SIZES:
        sync, peer = figures.series("ours.each_sync", size), figures.series("peer.each", size)
        one, many = figures.series("ours.each_async", size), figures.series("ours.appenders", size)
        limit = raw_limit(figures, size)
        found += [
            Aim(f"flush each {size} B, synchronous ÷ raft-log", 1.0, spread(ratio(sync, peer))),
            Aim(f"flush each {size} B, synchronous ÷ raw limit", 0.8, spread(ratio(sync, limit))),
            Aim(f"flush each {size} B, asynchronous ÷ raw limit", 0.5, spread(ratio(one, limit))),
            Aim(f"64 appenders ÷ one, {size} B", 10.0, spread(ratio(many, one))),
        ]
    return found


def _bulk_aims(figures: Figures) -> list[Aim]:
    ours, peer = figures.series("ours.batch", 1024), figures.series("peer.batch", 1024)
    return [Aim("1,000 per flush, 1024 B ÷ raft-log", 0.8, spread(ratio(ours, peer)))]


def _face_aims(figures: Figures) -> list[Aim]:
    faces = [
        ("1,000 per flush, append_one 1,000 times", "ours.one_by_one", "peer.single"),
        ("read from cache in blocks", "ours.read_cache_blocks", "peer.read_cache"),
        ("read from disk in blocks, after append_one", "ours.read_disk_blocks_one", "peer.read_disk"),
    ]
    return [
        Aim(f"{title}, {size} B ÷ raft-log", 0.5, spread(ratio(figures.series(ours, size), figures.series(peer, size))))
        for title, ours, peer in faces
        for size in SIZES
    ]


def _replay_aims(figures: Figures) -> list[Aim]:
    found = []
    for size in SIZES:
        peer = figures.series("peer.replay", size)
        for kind, text in (("batch", "1,000 per append"), ("one", "append_one")):
            ours = figures.series(f"ours.replay_{kind}", size)
            found.append(Aim(f"replay {size} B, {text} ÷ raft-log", 0.5, spread(ratio(ours, peer))))
    return found


def _memory_aim(figures: Figures) -> Aim:
    wanted = (SMALL["cache_size"] + SMALL["chunk_size"] + MEMORY_ALLOWANCE) / MIB
    growth = figures.series("ours.memory", 1024, lambda measurement: memory_growth(measurement) / MIB)
    return Aim("peak memory above idle, MiB (cache, open chunk and 16)", wanted, spread(growth), at_most=True)
