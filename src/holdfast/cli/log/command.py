"""`holdfast log`: look at partitions, in a data directory or in a store. Nothing here takes a lock or changes a byte.

The parts are imported where they are used: `--help`, `--version` and completion must not wait for them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.cli.log.lines import DUMP_HEADING, STAT_COLUMNS, dump_line, partition_line, stat_row
from holdfast.cli.terminal.kept import ReportOption, keep_result
from holdfast.cli.terminal.talk import data_console, give_json, tell
from holdfast.units import counted

if TYPE_CHECKING:
    from holdfast.operate.inspect.look import Look
    from holdfast.operate.verify import Checker, Totals

app = typer.Typer(
    no_args_is_help=True,
    help="Look at partitions, in a data directory or in a store, also while they are in use.",
    rich_markup_mode="rich",
)

PlaceArgument = Annotated[
    str, typer.Argument(metavar="PLACE", help="A data directory such as ./data, or a store such as s3://bucket/prefix.")
]
StoreOption = Annotated[
    str | None, typer.Option("--store", metavar="URL", help="Where a data directory's segments are, if not in it.")
]
TopicOption = Annotated[str | None, typer.Option("--topic", metavar="TOPIC", help="Only this topic, by name or id.")]
PartitionOption = Annotated[int | None, typer.Option("--partition", metavar="N", help="Only this partition.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, one object a line.")]
BatchesOption = Annotated[bool, typer.Option("--batches", help="Also every batch: this reads all data.")]

_LOADS_AT_A_TIME = 8
_TABLE_WIDTH = 240


@app.command("stat")
def stat_command(
    place: PlaceArgument,
    store: StoreOption = None,
    topic: TopicOption = None,
    partition: PartitionOption = None,
    as_json: JsonOption = False,
) -> None:
    """What each partition holds: its marks, segments, bytes, records, epochs and times.

    \b
    Examples:
      holdfast log stat ./data
      holdfast log stat s3://bucket/prefix --json
    """
    from rich.table import Table

    from holdfast.operate.inspect.look import Look

    look = Look.at(place, store, topic, partition)
    with ThreadPoolExecutor(_LOADS_AT_A_TIME) as loads:  # A bucket answers slowly, but many at a time.
        facts = [each for each in loads.map(look.facts, look.homes) if each is not None]
    if as_json:
        for each in facts:
            give_json(each)
        return
    table = Table(box=None, pad_edge=False, header_style="")
    for name, title in STAT_COLUMNS.items():
        table.add_column(title, justify="left" if name in ("topic", "topic_id", "epochs") else "right", no_wrap=True)
    for each in facts:
        table.add_row(*stat_row(each))
    console = data_console()
    console.width = max(console.width, _TABLE_WIDTH)  # A cell that is cut tells nothing; a line may wrap.
    console.print(table)
    _tell_deleted(look)


@app.command("dump")
def dump_command(
    place: PlaceArgument,
    batches: BatchesOption = False,
    store: StoreOption = None,
    topic: TopicOption = None,
    partition: PartitionOption = None,
    as_json: JsonOption = False,
) -> None:
    """Every segment and tail, one a line, and with --batches every batch: offsets, size, codec, producer, crc.

    \b
    Examples:
      holdfast log dump ./data
      holdfast log dump ./data --partition 0 --batches
      holdfast log dump s3://bucket/prefix --batches --json | head -n 1
    """
    from holdfast.operate.inspect.look import Look

    look = Look.at(place, store, topic, partition)
    counts = {"segment": 0, "tail": 0, "batch": 0, "problem": 0}
    for home in look.homes:
        for facts in look.dump(home, batches=batches):
            if facts["kind"] in counts:
                counts[facts["kind"]] += 1
            _give(facts, as_json=as_json)
    kinds = ["segment", "tail", "batch", *(["problem"] if counts["problem"] else [])]
    summary = ", ".join(counted(counts[each], each) for each in kinds)
    tell(summary) if as_json else print(summary)
    _tell_deleted(look)


def _give(facts: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        if facts["kind"] != "partition":
            give_json(facts)
    elif facts["kind"] == "partition":
        print(partition_line(facts), DUMP_HEADING, sep="\n")
    elif facts["kind"] == "problem":
        where = "" if facts["position"] is None else f" at {facts['position']}"
        print(f"PROBLEM  {facts['name']}{where}: {facts['what']}")
    else:
        print(dump_line(facts))


@app.command("verify")
def verify_command(
    place: PlaceArgument,
    store: StoreOption = None,
    topic: TopicOption = None,
    partition: PartitionOption = None,
    as_json: JsonOption = False,
    report: ReportOption = False,
) -> None:
    """Read everything and hold it against every crc and rule; exit with 1 when anything is damaged or missing.

    \b
    Examples:
      holdfast log verify ./data
      holdfast log verify ./data --store s3://bucket/prefix
      holdfast log verify s3://bucket/prefix --json
    """
    from holdfast.operate.findings import problem_facts, said
    from holdfast.operate.inspect.look import Look

    look = Look.at(place, store, topic, partition, tolerant=True)
    with _progress(look) as checker:
        totals = checker.check(look.homes)
    if as_json:
        problems = [problem_facts(each) for each in totals.problems]
        give_json({"sound": not problems} | asdict(totals) | {"problems": problems})
    else:
        for each in totals.problems:
            print(f"{each.verdict}: {said(each)}")
        print(_verdict(totals, look))
        _tell_deleted(look)
    if report:
        keep_result(look.objects, "verify", _verdict(totals, look), is_good=not totals.problems)
    sys.stdout.flush()
    if totals.problems:
        raise typer.Exit(1)


@contextmanager
def _progress(look: Look) -> Iterator[Checker]:
    """A checker that shows on a terminal how far it is."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    from holdfast.operate.verify import Checker

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=None)
        done = iter(range(1, len(look.homes) + 1))
        yield Checker(
            look.objects,
            look.tails,
            lambda size: progress.reset(task, total=size, description=f"partition {next(done)} of {len(look.homes)}"),
            lambda size: progress.advance(task, size),
        )


def _verdict(totals: Totals, look: Look) -> str:
    tail = f", {counted(totals.tail_records, 'record')} in the tail" if look.tails is not None else ""
    unlisted = f", {counted(totals.unlisted_segments, 'unlisted segment')}" if totals.unlisted_segments else ""
    what = f"{counted(len(totals.problems), 'problem')}" if totals.problems else "sound"
    return (
        f"{what}: {counted(totals.partitions, 'partition')}, {counted(totals.segments, 'segment')}, "
        f"{counted(totals.batches, 'batch')}, {counted(totals.records, 'record')}, {totals.bytes} bytes{tail}{unlisted}"
    )


def _tell_deleted(look: Look) -> None:
    for topic_id in sorted(look.tails.deleted if look.tails is not None else ()):
        tell(f"topic {topic_id} is deleted, and left out here")
