"""The ratios of a run as bars: one panel against the peer, one against the bare disk."""

from __future__ import annotations

from pathlib import Path

from benchmarks.bars import Bars, write_bars
from benchmarks.figures import Figures, ratio, spread
from benchmarks.wal.tables import lines


def write_plot(figures: Figures, path: Path) -> None:
    panels: dict[str, Bars] = {"raft-log": [], "the raw limit of the disk": []}
    for line in lines(figures):
        for bars, other in zip(panels.values(), (line.peer, line.raw), strict=True):
            value = spread(ratio(line.ours, other))
            if value:
                bars.append((f"{line.title}, {line.size} B", value))
    write_bars(panels, path)
