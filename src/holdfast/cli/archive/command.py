"""`holdfast archive`: topics into Parquet files, a Delta table or an Iceberg table; what is new since the last run."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.cli.job.errors import in_one_sentence
from holdfast.cli.job.options import (
    CatalogOption,
    ConfOption,
    DebugOption,
    JsonOption,
    MaybeMasterOption,
    PathOption,
    PlotOption,
    StoreOption,
    settings_of,
    store_options,
    tell_here,
)
from holdfast.cli.job.unreadable import tell_unreadable
from holdfast.cli.terminal.options import BootstrapOption, CommandConfigOption, assignments
from holdfast.cli.terminal.table import give_table
from holdfast.cli.terminal.talk import give_json, tell
from holdfast.errors import Rejected
from holdfast.extras import need

if TYPE_CHECKING:
    from holdfast.cli.terminal.progress import JobProgress
    from holdfast.spark.jobs.archive.archive import Archived
    from holdfast.spark.jobs.archive.values import ValueDecoding


class Format(StrEnum):
    """What a target is."""

    PARQUET = "parquet"
    DELTA = "delta"
    ICEBERG = "iceberg"


class ValueFormat(StrEnum):
    """How values are decoded."""

    JSON = "json"
    AVRO = "avro"
    AVRO_REGISTRY = "avro-registry"


TopicsArgument = Annotated[list[str], typer.Argument(metavar="TOPIC… TARGET", help="Topics, and where they go.")]
FormatOption = Annotated[Format, typer.Option("--to", help="What the target is.")]
ValueFormatOption = Annotated[
    ValueFormat | None, typer.Option("--value-format", help="Decode values to columns; avro-registry skips 5 bytes.")
]
ValueSchemaOption = Annotated[
    Path | None,
    typer.Option("--value-schema", metavar="FILE", exists=True, dir_okay=False, help="An Avro schema, for JSON too."),
]
TargetOption = Annotated[
    list[str] | None,
    typer.Option("--target-option", metavar="NAME=VALUE", help="An option of the target's store, such as endpoint=…"),
]
CompressionOption = Annotated[str, typer.Option("--compression", help="snappy, zstd, lz4, gzip or none.")]
SkipOption = Annotated[
    bool, typer.Option("--skip-expired", help="Go on although records expired before they were archived.")
]


def archive(
    topics: TopicsArgument,
    path: PathOption,
    to: FormatOption = Format.PARQUET,
    value_format: ValueFormatOption = None,
    value_schema: ValueSchemaOption = None,
    catalog: CatalogOption = None,
    target_option: TargetOption = None,
    compression: CompressionOption = "snappy",
    skip_expired: SkipOption = False,
    store: StoreOption = None,
    master: MaybeMasterOption = None,
    conf: ConfOption = None,
    as_json: JsonOption = False,
    plot: PlotOption = None,
    bootstrap: BootstrapOption = None,
    config: CommandConfigOption = None,
    debug: DebugOption = False,  # noqa: ARG001
) -> None:
    """Add what is new in the topics to an archive, exactly once.

    A run that is killed leaves nothing half-visible, and the next one goes on. Rows are partitioned by topic and date.
    Values that cannot be decoded go to a table of dead letters, with their offsets and the reason. Batches that nobody
    can read, from before records were looked at, are left out, named and counted.

    What a running broker has not flushed yet is not in its store. With --bootstrap it is asked to flush first; without,
    the records that are left out are counted, where --path is the broker's data directory.

    \b
    Examples:
      holdfast archive orders ./archive --path ./data
      holdfast archive orders ./archive --path ./data --bootstrap 127.0.0.1:9092
      holdfast archive orders clicks s3://lake/raw --path s3://bucket/prefix
      holdfast archive orders ./lake --path ./data --to delta
      holdfast archive orders ./lake --path ./data --to iceberg --value-format json --value-schema order.avsc
    """
    from holdfast.catalog.catalog import open_catalog
    from holdfast.cli.archive.tail import flush_first, unflushed
    from holdfast.cli.archive.target import open_target
    from holdfast.cli.terminal.broker import broker_at
    from holdfast.cli.terminal.progress import JobProgress
    from holdfast.spark.jobs.archive.archive import archive as run
    from holdfast.spark.session.small import small_first

    *names, place = topics
    if not names:
        raise Rejected(f"say which topics go to {place}: holdfast archive TOPIC… TARGET")
    if to is not Format.PARQUET:
        need("deltalake" if to is Format.DELTA else "pyiceberg")
    decoding = _decoding(value_format, value_schema)
    if bootstrap or config:
        flush_first(broker_at(bootstrap, config), names)
    found = open_catalog(path, store_options(store), topics=names)
    options = dict(assignments(target_option, "--target-option"))
    properties = dict(assignments(catalog, "--catalog"))
    with (
        in_one_sentence(),
        JobProgress("archive") as progress,
        small_first(settings_of("archive", master, conf), tell_here) as session,
    ):
        target = open_target(to.value, place, session, found, options, properties, compression)
        done = run(session, found, target, decoding=decoding, skip_expired=skip_expired, on_done=progress)
    left_out = unflushed(path, found)
    _show(done, progress, place, left_out, as_json=as_json)
    if plot is not None:
        _plot(plot, done, progress)


def _decoding(kind: ValueFormat | None, schema: Path | None) -> ValueDecoding | None:
    import json

    from holdfast.spark.jobs.archive.schema import read_schema
    from holdfast.spark.jobs.archive.values import ValueDecoding

    if kind is None and schema is None:
        return None
    if kind is None or schema is None:
        raise Rejected("--value-format and --value-schema belong together: give both")
    return ValueDecoding(kind.value, json.dumps(read_schema(schema)))


def _facts(done: Archived) -> list[dict[str, Any]]:
    return [
        {
            "partition": str(where),
            "from": each.start,
            "to": each.end,
            "expired": done.skipped.get(where, 0),
            "unreadable": done.unreadable[where].offsets if where in done.unreadable else 0,
        }
        for where, each in done.ranges.items()
    ]


def _show(done: Archived, progress: JobProgress, place: str, left_out: Mapping[str, int], *, as_json: bool) -> None:
    facts = _facts(done)
    tell_unreadable({str(where): each for where, each in done.unreadable.items()})
    if as_json:
        give_json(
            {
                "target": place,
                "rows": done.rows(),
                "dead_letters": done.dead_letters,
                "files": len(done.files),
                "bytes": done.size,
                "seconds": round(progress.seconds, 3),
                "left_out": dict(left_out),
                "partitions": facts,
            }
        )
        return
    if facts:
        names = ["partition", "from", "to", "expired", *(["unreadable"] if done.unreadable else [])]
        give_table(facts, {name: name for name in names}, as_json=False)
    letters = f", {done.dead_letters} dead letters" if done.dead_letters else ""
    print(
        f"{place}: {done.rows()} rows added{letters}, {len(done.files)} files, {done.size} bytes "
        f"in {progress.seconds:.1f} s"
    )
    for topic, count in left_out.items():
        tell(
            f"holdfast: {count} acknowledged records of {topic} are in no segment yet, and not in the archive: "
            f"`holdfast flush {topic}` before, or --bootstrap, brings them in"
        )


def _plot(path: Path, done: Archived, progress: JobProgress) -> None:
    from holdfast.cli.terminal.plot import write_plot

    bars: dict[str, dict[str, float]] = {}
    for each in done.files:
        bar = bars.setdefault(f"{each.topic} {each.date}", {})
        bar[each.table.replace("_", " ")] = bar.get(each.table.replace("_", " "), 0) + each.rows
    write_plot(path, "archive", progress.timeline, dict(sorted(bars.items())), "rows")
    tell(f"plot: {path}")
