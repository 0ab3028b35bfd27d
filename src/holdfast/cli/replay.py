"""`holdfast replay`: an archive back into a topic."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.job.errors import in_one_sentence
from holdfast.cli.job.options import (
    CatalogOption,
    ConfOption,
    DebugOption,
    JsonOption,
    MasterOption,
    PlotOption,
    settings_of,
)
from holdfast.cli.terminal.options import BootstrapOption, CommandConfigOption, assignments
from holdfast.cli.terminal.table import give_table
from holdfast.cli.terminal.talk import give_json, tell
from holdfast.extras import need
from holdfast.units import counted

if TYPE_CHECKING:
    from holdfast.cli.terminal.progress import JobProgress
    from holdfast.spark.jobs.replay.replay import Replayed

ArchiveArgument = Annotated[
    str, typer.Argument(metavar="ARCHIVE", help="A directory or bucket that `holdfast archive` has written.")
]
TopicOption = Annotated[str, typer.Option("--topic", metavar="TOPIC", help="The topic to write to. It must be there.")]
FromOption = Annotated[
    str | None, typer.Option("--from", metavar="TOPIC", help="The archived topic, where there are several.")
]
IdOption = Annotated[
    str | None,
    typer.Option("--id", metavar="TEXT", help="A name of this replay: under another one, records are written again."),
]
StagingOption = Annotated[
    str | None,
    typer.Option(
        "--staging", metavar="DIR|URL", help="Where batches wait for their commit; by default, in the archive."
    ),
]
ArchiveStoreOption = Annotated[
    list[str] | None,
    typer.Option("--store-option", metavar="NAME=VALUE", help="An option of the archive's store, such as endpoint=…"),
]
SizeOption = Annotated[
    int, typer.Option("--transaction-bytes", metavar="N", min=1, help="Bytes of one transaction, before compression.")
]
CodecOption = Annotated[str, typer.Option("--codec", metavar="NAME", help="none, gzip, snappy, lz4 or zstd.")]


def replay(
    archive: ArchiveArgument,
    topic: TopicOption,
    source: FromOption = None,
    bootstrap: BootstrapOption = None,
    config: CommandConfigOption = None,
    name: IdOption = None,
    staging: StagingOption = None,
    store: ArchiveStoreOption = None,
    catalog: CatalogOption = None,
    codec: CodecOption = "lz4",
    round_size: SizeOption = 512 << 20,
    master: MasterOption = None,
    conf: ConfOption = None,
    as_json: JsonOption = False,
    plot: PlotOption = None,
    debug: DebugOption = False,  # noqa: ARG001
) -> None:
    """Write an archived topic back into a topic, exactly once.

    Records keep partition, order, key, headers and time. A run that is killed is gone on with by the next one; a
    replay that is done does nothing more, unless it gets another --id.

    \b
    Examples:
      holdfast replay ./archive --topic orders-again
      holdfast replay s3://lake/raw --from orders --topic orders --bootstrap broker:9092
      holdfast replay ./archive --topic orders --command-config client.properties
      holdfast replay ./ice --topic orders --catalog uri=sqlite:////c.db
      holdfast replay ./archive --topic orders --id second-time --master spark://host:7077
    """
    need("pyspark")
    from holdfast.cli.terminal.broker import broker_at
    from holdfast.cli.terminal.progress import JobProgress
    from holdfast.spark.jobs.archive.access import catalog_properties, delta_options
    from holdfast.spark.jobs.replay.archive import Access, archive_store
    from holdfast.spark.jobs.replay.replay import plan_replay
    from holdfast.spark.jobs.replay.replay import replay as run
    from holdfast.spark.session.session import spark_session
    from holdfast.spark.sink.options import read_options

    settings = settings_of("replay", master, conf)
    given = dict(assignments(store, "--store-option"))
    place = archive_store(archive, given)
    options = read_options(
        {
            "kafka.compression.type": codec,
            "topic": topic,
            "includeTimestamp": "true",
            "staging": staging or f"{place.url}/_replay",  # Readers of Parquet ignore names with `_`.
            **{f"store.{key}": value for key, value in given.items()},
        },
        broker_at(bootstrap, config),
    )
    properties = catalog_properties(archive, place.url, given) | dict(assignments(catalog, "--catalog"))
    planned = plan_replay(place, options, source, name, Access(delta_options(archive, given), properties))
    with (
        in_one_sentence(),
        JobProgress("replay") as progress,
        spark_session(settings) as session,
    ):
        done = run(session, planned, round_size=round_size, on_done=progress)
    _show(done, progress, topic, as_json=as_json)
    if plot is not None:
        _plot(plot, done, progress)


def _show(done: Replayed, progress: JobProgress, topic: str, *, as_json: bool) -> None:
    rows = [
        {"partition": f"{done.source}-{number}", "from": start, "to": end}
        for number, (start, end) in done.ranges.items()
    ]
    if as_json:
        give_json(
            {
                "topic": topic,
                "source": done.source,
                "records": done.records,
                "bytes": done.size,
                "transactions": done.transactions,
                "seconds": round(progress.seconds, 3),
                "partitions": rows,
            }
        )
        return
    if rows:
        give_table(rows, {"partition": "archived", "from": "from", "to": "to"}, as_json=False)
    print(
        f"{topic}: {counted(done.records, 'record')} written in {counted(done.transactions, 'transaction')}, "
        f"{done.size} bytes, in {progress.seconds:.1f} s"
    )


def _plot(path: Path, done: Replayed, progress: JobProgress) -> None:
    from holdfast.cli.terminal.plot import write_plot

    bars = {f"{done.source}-{number}": {"offsets": float(end - start)} for number, (start, end) in done.ranges.items()}
    write_plot(path, "replay", progress.timeline, bars, "archived offsets")
    tell(f"plot: {path}")
