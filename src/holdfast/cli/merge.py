"""`holdfast merge`: topics, partitions or clusters into one data set, ordered by time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.job.errors import in_one_sentence
from holdfast.cli.job.options import (
    ConfOption,
    DebugOption,
    JsonOption,
    MasterOption,
    PlotOption,
    StoreOption,
    settings_of,
    store_options,
)
from holdfast.cli.job.unreadable import count_unreadable, tell_unreadable
from holdfast.cli.terminal.options import assignments
from holdfast.cli.terminal.table import give_table
from holdfast.cli.terminal.talk import give_json, tell
from holdfast.extras import need
from holdfast.units import counted

if TYPE_CHECKING:
    from holdfast.cli.terminal.progress import JobProgress
    from holdfast.spark.jobs.merge.merge import Merged

SourcesArgument = Annotated[
    list[str], typer.Argument(metavar="SOURCE…", help="TOPIC, TOPIC:PARTITION, or PATH::TOPIC for another cluster.")
]
ToOption = Annotated[str, typer.Option("--to", metavar="DIR|URL", help="An empty place for the result.")]
PathOption = Annotated[
    str | None, typer.Option("--path", metavar="DIR|URL", help="Where sources are that do not say it themselves.")
]
TargetOption = Annotated[
    list[str] | None,
    typer.Option("--target-option", metavar="NAME=VALUE", help="An option of the target's store, such as endpoint=…"),
]


def merge(
    sources: SourcesArgument,
    to: ToOption,
    path: PathOption = None,
    target_option: TargetOption = None,
    store: StoreOption = None,
    master: MasterOption = None,
    conf: ConfOption = None,
    as_json: JsonOption = False,
    plot: PlotOption = None,
    debug: DebugOption = False,  # noqa: ARG001
) -> None:
    """Write the records of all sources in one order: by time, then source, partition and offset.

    The result is Parquet files whose names sort as their records do. Sources count in the order they are named in.

    \b
    Examples:
      holdfast merge orders clicks --path ./data --to ./merged
      holdfast merge orders:0 orders:1 --path s3://bucket/prefix --to s3://lake/orders
      holdfast merge /data/a::orders s3://bucket/b::orders --to ./both --plot merge.png
    """
    need("pyspark")
    from holdfast.cli.terminal.progress import JobProgress
    from holdfast.spark.jobs.archive.parquet import parquet_store
    from holdfast.spark.jobs.merge.merge import check_place
    from holdfast.spark.jobs.merge.merge import merge as run
    from holdfast.spark.jobs.merge.source import open_sources
    from holdfast.spark.session.session import spark_session

    settings = settings_of("merge", master, conf)
    opened = open_sources(sources, path, store_options(store))
    target = parquet_store(to, dict(assignments(target_option, "--target-option")))
    with in_one_sentence():
        check_place(target)
    with (
        in_one_sentence(),
        JobProgress("merge") as progress,
        spark_session(settings) as session,
    ):
        done = run(session, opened, target, on_done=progress)
    _show(done, progress, to, as_json=as_json)
    if plot is not None:
        _plot(plot, done, progress)


def _show(done: Merged, progress: JobProgress, to: str, *, as_json: bool) -> None:
    tell_unreadable(done.unreadable)
    if as_json:
        files = [each._asdict() | {"name": each.name.rpartition("/")[2]} for each in done.files]
        give_json(
            {
                "target": to,
                "rows": done.rows,
                "sources": done.sources,
                "unreadable": count_unreadable(done.unreadable),
                "files": files,
                "was_there": done.was_there,
                "seconds": round(progress.seconds, 3),
            }
        )
        return
    if done.was_there:
        print(f"{to}: a run that was stopped had finished its work; now it is published")
        return
    rows = [{"source": name, "rows": count} for name, count in done.sources.items()]
    give_table(rows, {"source": "source", "rows": "rows"}, as_json=False)
    said = f"{counted(done.rows, 'row')} in {counted(len(done.files), 'file')}"
    print(f"{to}: {said}, in order, in {progress.seconds:.1f} s")


def _plot(path: Path, done: Merged, progress: JobProgress) -> None:
    from holdfast.cli.terminal.plot import write_plot

    bars = {name: {"rows": float(count)} for name, count in done.sources.items()}
    write_plot(path, "merge", progress.timeline, bars, "rows")
    tell(f"plot: {path}")
