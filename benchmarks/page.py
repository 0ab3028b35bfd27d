"""The page of all benchmarks, and the table of the README. Both are made from the stored results alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.ratios import Ratio, all_ratios, first_ratios
from benchmarks.results import BUSY_PERCENT_MAX
from benchmarks.stored import NAMES, Stored
from benchmarks.tables import Table

NOTICE = (
    "<!-- Written by docs/tools/bench_page.py from benchmarks/results. Do not edit: `make bench`, or `make docs`. -->"
)
INTRO = """\
`make bench` runs everything on this page again, and writes it. Ours and the peer's run on the same machine, in the same
run, in turns; a ratio is taken within a round, and given as the median with the lowest and the highest round. Trust
ratios; absolute figures are those of one machine. `make bench BENCH=quick` takes minutes, and leaves this page alone.

Remarks are written by hand, in `benchmarks/results/*.remarks.md`; everything else comes from the runs."""

LOSSES = """\
Every ratio to a peer on this page that is against us. The remarks say why, where it is known. Ratios to the bare disk,
which is a limit and no peer, are in the tables further down."""


def page(every: Sequence[Stored], plots: str) -> str:
    """The whole page; `plots` is the way from it to the folder with the plots."""
    return "\n".join([*_lines(every, plots), ""])


def _lines(every: Sequence[Stored], plots: str) -> Iterator[str]:
    yield from [NOTICE, "# Benchmarks", "", INTRO, "", "## In short", "", headline(every), ""]
    yield from _behind(every)
    for stored in every:
        yield from _section(stored, plots)
    absent = [name for name in NAMES if name not in {each.name for each in every}]
    if absent:
        yield from ["## Not measured yet", "", f"No results are stored of: {', '.join(absent)}."]


def headline(every: Sequence[Stored]) -> str:
    """The few ratios that a reader wants first, and what they are worth."""
    rows = [[each.what, each.peer, each.text, each.benchmark] for each in first_ratios(every)]
    told = Table("", ["ours ÷ theirs, more is better", "theirs", "median (lowest to highest)", "benchmark"], rows)
    doubts = [f"{each.name}: {'; '.join(_doubts(each))}" for each in every if _doubts(each)]
    caution = f"\n\nWith caution, and to be measured again: {'. '.join(doubts)}." if doubts else ""
    return told.to_markdown() + caution


def _doubts(stored: Stored) -> list[str]:
    """Why a run is not to be trusted much."""
    found = []
    if stored.rounds == 1:
        found.append("one round only" + (", with fewer records" if stored.is_quick else ""))
    if stored.run["busy_percent"][0] > BUSY_PERCENT_MAX:
        found.append(f"others used {stored.run['busy_percent'][0]:.0f} % of the cores")
    return found


def _behind(every: Sequence[Stored]) -> Iterator[str]:
    """Nothing in which we lose is left out: the list is made from the same tables."""
    lost = [each for stored in every for each in all_ratios(stored) if each.is_lost]
    yield from ["## Where we lose", ""]
    yield from [LOSSES, ""]
    yield from [
        Table("", ["what", "theirs", "ours ÷ theirs", "benchmark"], [_row(each) for each in lost]).to_markdown()
    ]
    yield ""


def _row(ratio: Ratio) -> list[str]:
    less = " (CPU, less is better)" if ratio.less_is_better else ""
    return [ratio.what + less, ratio.peer, ratio.text, ratio.benchmark]


def _section(stored: Stored, plots: str) -> Iterator[str]:
    run = stored.run
    yield from [f"## {stored.title}", ""]
    machine = ", ".join(f"{name} {value}" for name, value in run["machine"].items())
    versions = ", ".join(f"{name} {value}" for name, value in run["versions"].items())
    yield from [f"{run['date']}, rounds: {stored.rounds}. {stored.around}. {machine}. {versions}.", ""]
    yield from [f"{each[0].upper()}{each[1:]}.\n" for each in run["notes"]]
    if stored.remarks:
        yield from ["### Remarks", "", stored.remarks, ""]
    yield from ["### How", "", stored.method, ""]
    if stored.has_plot:
        yield from [f"![ratios]({plots}/{stored.name}.png)", ""]
    for table in stored.tables:
        yield from [f"### {table.title}", "", table.to_markdown(), ""]
