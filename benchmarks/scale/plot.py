"""How figures grow, one panel for each thing that there is more of; both axes are logarithmic."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from benchmarks.scale.compare import HEADINGS, slope
from benchmarks.scale.series import SERIES, Figures
from matplotlib import pyplot


def write_plot(figures: Mapping[str, dict[int, Figures]], path: Path) -> None:
    shown = [each for each in SERIES if len(figures[each.name]) > 1]
    if not shown:
        return
    figure, all_axes = pyplot.subplots(len(shown), figsize=(9, 3.2 * len(shown)), squeeze=False, layout="constrained")
    for axes, series in zip(all_axes[:, 0], shown, strict=True):
        found = figures[series.name]
        for name in next(iter(found.values())):
            values = [max(each[name], 1e-3) for each in found.values()]
            axes.loglog(list(found), values, marker="o", label=f"{HEADINGS[name]} (slope {slope(found, name):.2f})")
        axes.set_title(series.title, fontsize=9)
        axes.set_xlabel(series.what, fontsize=8)
        axes.tick_params(labelsize=7)
        axes.grid(visible=True, alpha=0.3)
        axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.savefig(path, dpi=110, metadata={"Software": None})
    pyplot.close(figure)
