"""`holdfast compact`: few large segments instead of many small ones, and the last record of each key."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.cli.job.errors import in_one_sentence
from holdfast.cli.job.options import (
    ConfOption,
    DebugOption,
    JsonOption,
    MasterOption,
    PathOption,
    PlotOption,
    StoreOption,
    settings_of,
    store_options,
)
from holdfast.cli.terminal.table import give_table
from holdfast.cli.terminal.talk import give_json, tell
from holdfast.extras import need
from holdfast.units import counted

if TYPE_CHECKING:
    from holdfast.cli.terminal.progress import JobProgress
    from holdfast.spark.jobs.compact import Compacted


class Cleanup(StrEnum):
    """How a topic is compacted."""

    COMPACT = "compact"
    DELETE = "delete"


TopicsArgument = Annotated[list[str], typer.Argument(metavar="TOPIC…", help="The topics to compact.")]
CleanupOption = Annotated[
    Cleanup | None,
    typer.Option(
        "--cleanup", help="By key (compact) or only merging (delete); without it, as the topic's config says."
    ),
]
SegmentOption = Annotated[
    int, typer.Option("--segment-mib", min=1, help="How large segments become, in MiB.", show_default=True)
]

_COLUMNS = {
    "partition": "partition",
    "segments_before": "segments",
    "segments_after": "now",
    "records_before": "records",
    "records_after": "now",
    "bytes_before": "bytes",
    "bytes_after": "now",
    "conflicts": "conflicts",
    "unreadable": "unreadable",
}


def compact(
    topics: TopicsArgument,
    path: PathOption,
    cleanup: CleanupOption = None,
    segment_mib: SegmentOption = 64,
    store: StoreOption = None,
    master: MasterOption = None,
    conf: ConfOption = None,
    as_json: JsonOption = False,
    plot: PlotOption = None,
    debug: DebugOption = False,  # noqa: ARG001
) -> None:
    """Compact topics while their broker serves them.

    Small segments become large ones. Topics with cleanup.policy=compact keep the last record of each key, and
    tombstones as long as delete.retention.ms says; what is younger than min.compaction.lag.ms stays as it is, and so do
    batches that nobody can read, which are counted. Nothing waits for it: a commit that meets another is made again.

    \b
    Examples:
      holdfast compact orders --path ./data
      holdfast compact prices stock --path s3://bucket/prefix --plot compact.png
      holdfast compact prices --path ./data --cleanup compact --json
    """
    need("pyspark")
    from holdfast.catalog.catalog import open_catalog
    from holdfast.cli.terminal.progress import JobProgress
    from holdfast.spark.jobs.compact import compact as run
    from holdfast.spark.session.session import spark_session

    settings = settings_of("compact", master, conf)
    found = open_catalog(path, store_options(store), topics=topics, rounds=False)
    how: Any = None if cleanup is None else cleanup.value
    with (
        in_one_sentence(),
        JobProgress("compact") as progress,
        spark_session(settings) as session,
    ):
        done = run(session, found, cleanup=how, segment_size=segment_mib << 20, on_done=progress)
    _show(done, progress, as_json=as_json)
    if plot is not None:
        _plot(plot, done, progress)


def _facts(each: Compacted) -> dict[str, Any]:
    return vars(each) | {"partition": str(each.where), "where": list(each.where)}


def _show(done: list[Compacted], progress: JobProgress, *, as_json: bool) -> None:
    facts = [_facts(each) for each in done]
    if as_json:
        give_json({"partitions": facts, "seconds": round(progress.seconds, 3)})
        return
    if facts:
        give_table(facts, _COLUMNS, as_json=False)
    before, after = sum(each.segments_before for each in done), sum(each.segments_after for each in done)
    gone = sum(each.records_before - each.records_after for each in done)
    if not before:
        print(f"there was nothing to compact, in {progress.seconds:.1f} s")
        return
    less = f"{counted(gone, 'record')} {'was' if gone == 1 else 'were'} let go"
    print(f"{counted(before, 'segment')} became {after}, {less}, in {progress.seconds:.1f} s")


def _plot(path: Path, done: list[Compacted], progress: JobProgress) -> None:
    from holdfast.cli.terminal.plot import write_plot

    bars = {
        str(each.where): {
            "kept": float(each.bytes_after),
            "let go": float(max(0, each.bytes_before - each.bytes_after)),
        }
        for each in done
    }
    write_plot(path, "compact", progress.timeline, bars, "bytes")
    tell(f"plot: {path}")
