"""`holdfast tables`: topics whose configs say that they are tables, kept fresh by one application."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.cli.archive.command import LoginOption, RegistryOption, SkipOption, TargetOption, check_registry
from holdfast.cli.job.options import (
    CatalogOption,
    ConfOption,
    DebugOption,
    JsonOption,
    MaybeMasterOption,
    PathOption,
    StoreOption,
    settings_of,
    store_options,
    tell_here,
)
from holdfast.cli.terminal.options import BootstrapOption, CommandConfigOption, assignments
from holdfast.cli.terminal.table import give_table
from holdfast.errors import Rejected
from holdfast.units import parse_time

if TYPE_CHECKING:
    from holdfast.cluster.topic_table import TopicTable

app = typer.Typer(no_args_is_help=True, help="Topics that are tables.", rich_markup_mode="rich")

UnderOption = Annotated[
    list[str] | None,
    typer.Option(
        "--under",
        metavar="DIR|URL",
        help="Only tables below this place: whoever may alter configs says where they go. May be repeated.",
    ),
]
EveryOption = Annotated[
    str, typer.Option("--compact-every", metavar="TIME", help="Between two looks for small files: 10m; 0s is never.")
]
OldOption = Annotated[
    str, typer.Option("--keep-old", metavar="TIME", help="How long replaced files and snapshots stay for readers.")
]

COLUMNS = {
    "topic": "topic",
    "format": "format",
    "location": "where",
    "freshness_wanted_ms": "wanted ms",
    "freshness_ms": "reached ms",
    "rows": "rows",
    "error": "last error",
}


@app.command("run")
def run_command(
    path: PathOption,
    bootstrap: BootstrapOption = None,
    config: CommandConfigOption = None,
    under: UnderOption = None,
    catalog: CatalogOption = None,
    target_option: TargetOption = None,
    skip_expired: SkipOption = False,
    registry: RegistryOption = None,
    registry_login: LoginOption = None,
    compact_every: EveryOption = "10m",
    keep_old: OldOption = "7d",
    store: StoreOption = None,
    master: MaybeMasterOption = None,
    conf: ConfOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,  # noqa: ARG001
) -> None:
    """Keep the tables of all topics fresh whose configs say that they are tables, until SIGTERM or Ctrl-C.

    A topic is a table when holdfast.table.format and holdfast.table.location are set. Each is looked at twice in its
    holdfast.table.freshness.ms; new ones are taken up by themselves. What is wrong with one is said, counted and tried
    again, and the others go on. With --bootstrap what the broker has not flushed is flushed first.

    \b
    Examples:
      holdfast tables run --path ./data --bootstrap 127.0.0.1:9092
      holdfast tables run --path s3://bucket/prefix --under s3://lake --master spark://host:7077
    """
    from holdfast.catalog.store import find_store
    from holdfast.cli.tables.run import keep_tables
    from holdfast.cli.terminal.broker import broker_at
    from holdfast.spark.jobs.tables.upkeep import UpkeepSettings
    from holdfast.spark.session.small import small_first

    upkeep = UpkeepSettings(_seconds("--compact-every", compact_every, 0), _seconds("--keep-old", keep_old, 86400))
    with small_first(settings_of("tables", master, conf), tell_here) as session:
        keep_tables(
            session,
            find_store(path, store_options(store)),
            _targets(session, under, catalog, target_option),
            upkeep,
            broker=broker_at(bootstrap, config) if bootstrap or config else None,
            skip_expired=skip_expired,
            registry=check_registry(registry, registry_login),
            as_json=as_json,
        )


@app.command("list")
def list_command(
    path: PathOption,
    catalog: CatalogOption = None,
    target_option: TargetOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Which topics are tables, where, how fresh, and what is wrong with them.

    How fresh a table is was said by `holdfast tables run`; how many rows it has is asked of the table itself.

    \b
    Examples:
      holdfast tables list --path ./data
      holdfast tables list --path ./data --json
    """
    from holdfast.catalog.store import find_store
    from holdfast.spark.jobs.tables.report import reported
    from holdfast.spark.jobs.tables.wanted import WantedTables

    place = find_store(path, store_options(store))
    open_one = _targets(None, None, catalog, target_option)
    rows = []
    for _, table in sorted(WantedTables(place).look().items()):
        said = reported(place, table)
        count, why = _rows(table, open_one)
        facts: dict[str, Any] = {"topic": table.topic, "format": table.format, "location": table.location}
        facts |= {"freshness_wanted_ms": table.freshness_ms, "freshness_ms": said.get("freshness_ms")}
        rows.append(facts | {"rows": count, "error": said.get("error") or why, "failures": said.get("failures", 0)})
    give_table(rows, COLUMNS, as_json=as_json)


def _seconds(name: str, text: str, least: int) -> float:
    try:
        found = parse_time(text) / 1000
    except ValueError:
        raise Rejected(f"{name} {text} is no time: write 10m, 6h or 7d") from None
    if found < least:
        raise Rejected(f"{name} {text} is too short: a run, or somebody who reads, may take a day")
    return found


def _targets(session: Any, under: list[str] | None, catalog: list[str] | None, target_option: list[str] | None) -> Any:
    from holdfast.cli.archive.target import open_target
    from holdfast.spark.jobs.tables.wanted import check_below

    options = dict(assignments(target_option, "--target-option"))
    properties = dict(assignments(catalog, "--catalog"))

    def open_one(table: TopicTable, seen: Any) -> Any:
        check_below(table, under or [])
        given = properties if table.format == "iceberg" else {}
        return open_target(table.format, table.location, session, seen, options, given, "snappy")

    return open_one


def _rows(table: TopicTable, open_one: Any) -> tuple[int | None, str]:
    """How many there are, or why nobody can say."""
    from pathlib import Path

    from holdfast.cli.job.errors import in_one_sentence
    from holdfast.errors import HoldfastError

    if "://" not in table.location and not Path(table.location).is_dir():
        return 0, ""  # Looking makes nothing.
    try:
        with in_one_sentence():
            return open_one(table, None).row_count(), ""
    except (HoldfastError, OSError) as failure:
        return None, str(failure)
