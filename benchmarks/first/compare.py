"""One run from start to end: arguments, measurements, tables, files."""

from __future__ import annotations

from collections import defaultdict
from statistics import median

from benchmarks import machine
from benchmarks.arguments import fresh, parser_of, stored_as
from benchmarks.first import measure
from benchmarks.results import new_run, publish
from benchmarks.tables import Table
from rich.console import Console

TITLE = "The first ten minutes"
METHOD = """\
What somebody waits for who has just heard of Holdfast. A checkout is cloned from this one; packages come from the
caches of the machine, so that no network is measured. A start is timed from the process to the line that says it
serves; the first ack from the process to the answer to one record, asked for again every 5 ms. The fixture is timed in
a Python that has imported it. Sizes are those on the disk, without bytecode."""


def main() -> int:
    parser = parser_of("Measure what a newcomer waits for.", less="no set-up from nothing, no demo, no sizes")
    parser.add_argument("--rounds", type=int, default=5, help="of what takes seconds (default 5)")
    asked = parser.parse_args()
    talk = Console(stderr=True)
    figures: list[dict[str, object]] = []

    def keep(what: str, unit: str, value: float) -> None:
        talk.print(f"{what}: {value:.3g} {unit}", markup=False, highlight=False)
        figures.append({"what": what, "unit": unit, "value": value, **machine.around()})

    with fresh(asked.dir / "first") as folder:
        if not asked.quick:
            for what, seconds in measure.set_up(folder / "set-up"):
                keep(what, "s", seconds)
        for number in range(2 if asked.quick else asked.rounds):
            for what, seconds in measure.starts(folder / f"round-{number}"):
                keep(what, "s", seconds)
        if not asked.quick:
            keep("`holdfast demo`: a million events, kills, and all of them checked", "s", measure.demo(folder))
            for what, mib in measure.sizes(folder):
                keep(what, "MiB", mib)
    run = new_run({"rounds": asked.rounds, "quick": asked.quick}, asked.dir, machine.versions(), figures)
    publish(run, TITLE, METHOD, _tables(figures), stored_as(asked, "first"))
    return 0


def _tables(figures: list[dict[str, object]]) -> list[Table]:
    values: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for each in figures:
        values[str(each["what"]), str(each["unit"])].append(float(str(each["value"])))
    waits = [
        [what, str(len(found)), f"{median(found):,.2f}", f"{min(found):,.2f} to {max(found):,.2f}"]
        for (what, unit), found in values.items()
        if unit == "s"
    ]
    sizes = [[what, f"{found[0]:,.1f}"] for (what, unit), found in values.items() if unit == "MiB"]
    tables = [Table("How long it takes", ["", "times", "median, s", "from and to, s"], waits)]
    return [*tables, Table("How large it is", ["", "MiB"], sizes)] if sizes else tables
