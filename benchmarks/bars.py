"""Ratios as bars, one panel for each thing that ours is compared with."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from benchmarks.figures import Spread
from matplotlib import pyplot
from matplotlib.axes import Axes

Bars = list[tuple[str, Spread]]
_TITLE_WIDTH = 100  # Characters of a line, as many as fit.


def write_bars(panels: Mapping[str, Bars], path: Path) -> None:
    """One panel for each that has bars, by its title; nothing is written without any."""
    shown = {title: bars for title, bars in panels.items() if bars}
    if not shown:
        return
    heights = [len(bars) + 2 for bars in shown.values()]
    figure, all_axes = pyplot.subplots(
        len(shown), figsize=(9, 0.3 * sum(heights)), height_ratios=heights, squeeze=False, layout="constrained"
    )
    for axes, (title, bars) in zip(all_axes[:, 0], shown.items(), strict=True):
        _draw(axes, title, bars)
    figure.supxlabel("right is better; whiskers: lowest and highest round", fontsize=8)
    figure.savefig(path, dpi=110, metadata={"Software": None})
    pyplot.close(figure)


def _draw(axes: Axes, title: str, bars: Bars) -> None:
    names = [name for name, _ in reversed(bars)]
    values = [value for _, value in reversed(bars)]
    medians = [value.median for value in values]
    whiskers = [[value.median - value.low for value in values], [value.high - value.median for value in values]]
    colours = ["#2a7f62" if median >= 1 else "#c98b2b" for median in medians]
    axes.barh(names, medians, xerr=whiskers, color=colours, ecolor="#555555", height=0.7)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(_plain)
    axes.xaxis.set_minor_formatter(_plain if max(medians) < 5 * min(medians) else "")
    axes.axvline(1.0, color="black", linewidth=1)
    # From the right edge on, over the names of bars, too: the layout makes room for a title's height, not its width.
    axes.set_title(textwrap.fill(f"ours ÷ {title}", _TITLE_WIDTH), loc="right", fontsize=9)
    axes.tick_params(which="both", labelsize=7)


def _plain(value: float, _: int) -> str:
    """Numbers as people write them: 0.5, not a power of ten."""
    return f"{value:g}"
