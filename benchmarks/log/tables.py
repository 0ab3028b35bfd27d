"""The figures of a run as tables of text, and as ratios for the plot."""

from __future__ import annotations

from benchmarks.figures import Figures, Measurement, Series, ratio, spread
from benchmarks.log.plan import APPEND_SIZES, CODECS, FLUSHED_SIZE, READ_SIZES, SEGMENT_COUNTS
from benchmarks.tables import Table, median_text, spread_text

# Title, our label, the raw limit's label.
APPENDS = [("one appender", "ours.append_one", "raw.each"), ("64 appenders", "ours.append_many", "raw.group")]
READS = [
    ("hot: the tail in memory", "ours.read_hot", "raw.read_paged"),
    ("cached: the block cache", "ours.read_cached", "raw.read_paged"),
    ("files in the page cache", "ours.read_paged", "raw.read_paged"),
    ("cold: the disk", "ours.read_cold", "raw.read_cold"),
]


def megabytes(measurement: Measurement) -> float:
    """Per second."""
    return measurement["bytes"] / measurement["seconds"] / 1e6


def records(measurement: Measurement) -> float:
    """Per second."""
    return measurement["records"] / measurement["seconds"]


def size_text(size: int) -> str:
    return f"{size >> 20} MiB" if size >= 1 << 20 else f"{size >> 10} KiB"


def append_lines(figures: Figures) -> list[tuple[str, int, str, Series, Series]]:
    """Title, size, our label, ours and the raw limit in MB/s."""
    chosen = [(title, size, ours, raw) for size in APPEND_SIZES for title, ours, raw in APPENDS]
    chosen.append(("64 appenders, until flushed", FLUSHED_SIZE, "ours.append_flushed", "raw.flushed"))
    return [
        (title, size, ours, figures.series(ours, size, megabytes), figures.series(raw, size, megabytes))
        for title, size, ours, raw in chosen
    ]


def append_table(figures: Figures) -> Table:
    rows = []
    for title, size, label, ours, raw in append_lines(figures):
        p50, p99 = (figures.series(label, size, lambda m, key=key: m[key] / 1000) for key in ("p50_us", "p99_us"))  # type: ignore[misc]
        rate = figures.series(label, size, records)
        cells = [median_text(spread(ours), 1), median_text(spread(rate)), median_text(spread(raw), 1)]
        waits = [median_text(spread(series), 2) for series in (p50, p99)]
        rows.append([title, size_text(size), *cells, spread_text(spread(ratio(ours, raw))), *waits])
    columns = ["who appends", "batch", "MB/s", "records/s", "raw MB/s", "ours ÷ raw", "ack p50 ms", "ack p99 ms"]
    return Table("Appends: median over the rounds; ratios with lowest and highest", columns, rows)


def read_lines(figures: Figures) -> list[tuple[str, int, Series, Series]]:
    return [
        (title, size, figures.series(ours, size, megabytes), figures.series(raw, size, megabytes))
        for title, ours, raw in READS
        for size in READ_SIZES
    ]


def read_table(figures: Figures) -> Table:
    rows = []
    for title, size, ours, raw in read_lines(figures):
        rates = [median_text(spread(series)) for series in (ours, raw)]
        rows.append([title, size_text(size), *rates, spread_text(spread(ratio(ours, raw)))])
    columns = ["where the data is", "batch", "MB/s", "raw MB/s", "ours ÷ raw"]
    return Table("Sequential reads of 1 MiB each", columns, rows)


def open_table(figures: Figures) -> Table:
    rows = []
    for count in SEGMENT_COUNTS:
        took = figures.series("ours.open", count, lambda m: m["p50_us"] / 1000)
        requests, size = (
            figures.series("ours.open", count, lambda m, key=key: m[key])  # type: ignore[misc]
            for key in ("requests", "bytes_got")
        )
        cells = [spread_text(spread(took)), median_text(spread(requests)), median_text(spread(size))]
        rows.append([f"{count:,}", *cells])
    return Table("Opening a partition", ["segments", "ms", "store requests", "bytes read"], rows)


def decode_series(figures: Figures, codec: int, way: str) -> Series:
    """Million records per second."""
    return figures.series("decode", codec, lambda m: m[way] / 1e6)


def decode_table(figures: Figures) -> Table:
    rows = []
    for codec, name in CODECS.items():
        ours, narrow, parquet, parquet_narrow, plain, limit = (
            decode_series(figures, codec, way)
            for way in ("ours_all", "ours_narrow", "parquet_all", "parquet_narrow", "plain", "limit")
        )
        cells = [median_text(spread(each), 2) for each in (ours, parquet, plain)]
        ratios = [spread_text(spread(ratio(ours, parquet))), spread_text(spread(ratio(ours, plain)), 0)]
        narrow_cells = [median_text(spread(each), 2) for each in (narrow, parquet_narrow)]
        narrow_cells.append(spread_text(spread(ratio(narrow, parquet_narrow))))
        limits = [median_text(spread(limit), 2), spread_text(spread(ratio(narrow, limit)))]
        rows.append([name, *cells, *ratios, *narrow_cells, *limits])
    columns = ["codec", "ours", "Parquet", "plain Python", "÷ Parquet", "÷ plain Python"]
    columns += ["ours, narrow", "Parquet, narrow", "÷ Parquet", "crc and codec alone", "÷ raw"]
    title = "Decoding to Arrow: million records per second and core; narrow: only offset and timestamp"
    return Table(title, columns, rows)


def all_tables(figures: Figures) -> list[Table]:
    return [append_table(figures), read_table(figures), open_table(figures), decode_table(figures)]
