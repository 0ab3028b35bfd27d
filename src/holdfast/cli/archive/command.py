"""`holdfast archive`: topics into Parquet files, a Delta table or an Iceberg table; what is new since the last run."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
from holdfast.cli.terminal.kept import ReportOption
from holdfast.cli.terminal.options import BootstrapOption, CommandConfigOption, assignments
from holdfast.errors import HoldfastError, Rejected
from holdfast.extras import need

if TYPE_CHECKING:
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
    REGISTRY = "registry"


TopicsArgument = Annotated[list[str], typer.Argument(metavar="TOPIC… TARGET", help="Topics, and where they go.")]
FormatOption = Annotated[Format, typer.Option("--to", help="What the target is.")]
ValueFormatOption = Annotated[
    ValueFormat | None,
    typer.Option("--value-format", help="Decode values to columns; avro-registry skips 5 bytes, registry asks."),
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
KeepOption = Annotated[
    bool, typer.Option("--keep-value", help="Keep values as they came beside their columns, so that replay works.")
]
RegistryOption = Annotated[
    str | None,
    typer.Option(
        "--registry", metavar="URL", help="With --value-format registry: where schemas are, http://HOST:PORT."
    ),
]
LoginOption = Annotated[
    Path | None,
    typer.Option(
        "--registry-login",
        metavar="FILE",
        exists=True,
        dir_okay=False,
        help="With --registry: a file of one line, USER:PASSWORD.",
    ),
]
FollowOption = Annotated[
    bool, typer.Option("--follow", help="Go on: add what is new again and again, until SIGTERM or Ctrl-C.")
]
EveryOption = Annotated[
    str | None, typer.Option("--every", metavar="TIME", help="With --follow, between two looks: 10s, 500ms, 5m.")
]


def archive(
    topics: TopicsArgument,
    path: PathOption,
    to: FormatOption = Format.PARQUET,
    value_format: ValueFormatOption = None,
    value_schema: ValueSchemaOption = None,
    keep_value: KeepOption = False,
    registry: RegistryOption = None,
    registry_login: LoginOption = None,
    catalog: CatalogOption = None,
    target_option: TargetOption = None,
    compression: CompressionOption = "snappy",
    skip_expired: SkipOption = False,
    follow: FollowOption = False,
    every: EveryOption = None,
    store: StoreOption = None,
    master: MaybeMasterOption = None,
    conf: ConfOption = None,
    as_json: JsonOption = False,
    plot: PlotOption = None,
    report: ReportOption = False,
    bootstrap: BootstrapOption = None,
    config: CommandConfigOption = None,
    debug: DebugOption = False,  # noqa: ARG001
) -> None:
    """Add what is new in the topics to an archive, exactly once.

    A run that is killed leaves nothing half-visible, and the next one goes on. Rows are partitioned by topic and date.
    Values that cannot be decoded go to a table of dead letters, with their offsets and the reason. Batches that nobody
    can read, from before records were looked at, are left out, named and counted.

    What a running broker has not flushed yet is only in its write-ahead log. Where that is in the store, as that of a
    cluster is, it is read there. Of a log on disk, the broker is asked to flush first with --bootstrap; without, the
    records that are left out are counted, where --path is its data directory.

    With --follow it goes on in one process, with one line for each commit: its rows, and how old the newest of them was
    by then. A store or a broker that is away is waited for. SIGTERM and Ctrl-C end it between two steps.

    \b
    Examples:
      holdfast archive orders ./archive --path ./data
      holdfast archive orders ./archive --path ./data --bootstrap 127.0.0.1:9092
      holdfast archive orders clicks s3://lake/raw --path s3://bucket/prefix
      holdfast archive orders ./lake --path ./data --to delta --report
      holdfast archive orders ./lake --path ./data --bootstrap 127.0.0.1:9092 --follow --every 10s
      holdfast archive orders ./lake --path ./data --to iceberg --value-format json --value-schema order.avsc
    """
    from holdfast.catalog.catalog import open_catalog
    from holdfast.cli.archive.follow import every_s, keep_following
    from holdfast.cli.archive.show import keep_archived, plot_archived, show_archived, sum_of
    from holdfast.cli.archive.tail import flush_first, unflushed
    from holdfast.cli.archive.target import open_target
    from holdfast.cli.terminal.broker import broker_at
    from holdfast.cli.terminal.progress import JobProgress
    from holdfast.spark.jobs.archive.archive import archive as run
    from holdfast.spark.jobs.archive.follow import Follower
    from holdfast.spark.session.small import small_first

    settings = settings_of("archive", master, conf)
    *names, place = topics
    if not names:
        raise Rejected(f"say which topics go to {place}: holdfast archive TOPIC… TARGET")
    if to is not Format.PARQUET:
        need("deltalake" if to is Format.DELTA else "pyiceberg")
    decoding = _decoding(value_format, value_schema, registry, registry_login, keep_value=keep_value)
    pause_s = every_s(every, plot, follow=follow)
    broker = broker_at(bootstrap, config) if bootstrap or config else None
    if broker is not None and not follow:
        flush_first(broker, names)
    found = open_catalog(path, store_options(store), topics=names)
    options = dict(assignments(target_option, "--target-option"))
    properties = dict(assignments(catalog, "--catalog"))
    if follow:
        with small_first(settings, tell_here) as session:
            follower = Follower(
                session,
                found,
                lambda seen: open_target(to.value, place, session, seen, options, properties, compression),
                decoding=lambda: decoding,
                skip_expired=skip_expired,
                broker=broker,
            )
            keep_following(follower, place, pause_s, as_json=as_json, report=report)
        return
    try:
        with (
            in_one_sentence(),
            JobProgress("archive") as progress,
            small_first(settings, tell_here) as session,
        ):
            target = open_target(to.value, place, session, found, options, properties, compression)
            done = run(session, found, target, decoding=decoding, skip_expired=skip_expired, on_done=progress)
    except HoldfastError as failure:
        if report:
            keep_archived(found, place, str(failure), None)
        raise
    if report:
        keep_archived(found, place, sum_of(done, progress.seconds), done)
    left_out = unflushed(path, found)
    show_archived(done, progress, place, left_out, as_json=as_json)
    if plot is not None:
        plot_archived(plot, done, progress)


def check_registry(url: str | None, login: Path | None) -> str:
    """An address of a registry with who asks, or none."""
    from holdfast.client.registry import Registry, with_login

    if not url:
        if login is not None:
            raise Rejected("--registry-login is for --registry: give both, or none")
        return ""
    if "@" in url:
        raise Rejected("--registry says where, not who: others see a command line. Give --registry-login FILE")
    Registry(url, setting="--registry")
    return url if login is None else with_login(url, login.read_text(encoding="utf-8").strip())


def _decoding(
    kind: ValueFormat | None, schema: Path | None, registry: str | None, login: Path | None, *, keep_value: bool
) -> ValueDecoding | None:
    import json

    from holdfast.spark.jobs.archive.schema import read_schema
    from holdfast.spark.jobs.archive.values import ValueDecoding

    if (kind is ValueFormat.REGISTRY) != bool(registry):
        raise Rejected("--value-format registry and --registry belong together: give both")
    if kind is None and schema is None:
        if keep_value:
            raise Rejected("--keep-value is for --value-format: without it values are kept as they came in any case")
        return None
    if kind is None or schema is None:
        raise Rejected("--value-format and --value-schema belong together: give both")
    return ValueDecoding(
        kind.value, json.dumps(read_schema(schema)), keep_value=keep_value, registry=check_registry(registry, login)
    )
