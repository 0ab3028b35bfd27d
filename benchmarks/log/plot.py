"""The ratios of a run as bars: appends and reads against the disk, decoding against Parquet and plain Python."""

from __future__ import annotations

from pathlib import Path

from benchmarks.bars import Bars, write_bars
from benchmarks.figures import Figures, Series, ratio, spread
from benchmarks.log.plan import CODECS
from benchmarks.log.tables import append_lines, decode_series, read_lines, size_text


def write_plot(figures: Figures, path: Path) -> None:
    appends = [(f"{title}, {size_text(size)}", ratio(ours, raw)) for title, size, _, ours, raw in append_lines(figures)]
    reads = [(f"{title}, {size_text(size)}", ratio(ours, raw)) for title, size, ours, raw in read_lines(figures)]
    panels = {
        "the raw write limit of the disk, appends": appends,
        "the raw read limit, sequential reads": reads,
        "Parquet through pyarrow, all columns": _decode(figures, "ours_all", "parquet_all"),
        "Parquet through pyarrow, only offset and time": _decode(figures, "ours_narrow", "parquet_narrow"),
        "plain Python, all columns": _decode(figures, "ours_all", "plain"),
    }
    write_bars({title: _bars(lines) for title, lines in panels.items()}, path)


def _decode(figures: Figures, ours: str, other: str) -> list[tuple[str, Series]]:
    return [
        (name, ratio(decode_series(figures, codec, ours), decode_series(figures, codec, other)))
        for codec, name in CODECS.items()
    ]


def _bars(lines: list[tuple[str, Series]]) -> Bars:
    return [(name, value) for name, series in lines if (value := spread(series)) is not None]
