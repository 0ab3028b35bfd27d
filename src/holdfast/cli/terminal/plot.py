"""A small picture of a job: how far it was at which time, and what came out, part by part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from holdfast.errors import Rejected
from holdfast.extras import how_to_get

_BARS_MAX = 40
_COLOURS = ("#2a7f62", "#4c72b0", "#c98b2b", "#8172b3", "#937860", "#c0392b")


def write_plot(
    path: Path,
    title: str,
    timeline: Sequence[tuple[float, int]],
    bars: Mapping[str, Mapping[str, float]],
    unit: str,
) -> None:
    """Two panels as PNG: bytes over time, and stacked bars; of very many bars, the largest."""
    try:
        import matplotlib
    except ImportError:
        raise Rejected(f"--plot needs matplotlib: {how_to_get('spark')}") from None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    shown = dict(sorted(bars.items(), key=lambda bar: -sum(bar[1].values()))[:_BARS_MAX])
    shown = {name: shown[name] for name in bars if name in shown}
    figure, (left, right) = pyplot.subplots(
        1, 2, figsize=(11, max(3.0, 0.28 * len(shown) + 1.5)), layout="constrained", width_ratios=[2, 3]
    )
    left.plot([second for second, _ in timeline], [size / 1e6 for _, size in timeline], color=_COLOURS[0])
    left.set_xlabel("seconds")
    left.set_ylabel("MB read")
    left.set_title(title, loc="left", fontsize=10)
    names = list(shown)[::-1]
    kinds = list(dict.fromkeys(kind for each in shown.values() for kind, value in each.items() if value))
    so_far = [0.0] * len(names)
    for kind, colour in zip(kinds, [*_COLOURS] * (1 + len(kinds) // len(_COLOURS)), strict=False):
        values = [shown[name].get(kind, 0.0) for name in names]
        right.barh(names, values, left=so_far, label=kind, color=colour, height=0.7)
        so_far = [a + b for a, b in zip(so_far, values, strict=True)]
    if len(kinds) > 1:
        figure.legend(fontsize=8, loc="outside lower right", ncols=len(kinds))
    right.set_xlabel(unit)
    figure.savefig(path, dpi=110, metadata={"Software": None})
    pyplot.close(figure)
