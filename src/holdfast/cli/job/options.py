"""Options that all commands which run on Spark have."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.terminal.options import assignments
from holdfast.cli.terminal.talk import tell
from holdfast.extras import advice, need

if TYPE_CHECKING:
    from holdfast.spark.session.session import SessionSettings


def _show_debug(context: typer.Context, wanted: bool) -> bool:
    """The same as `holdfast --debug`, behind the command's name."""
    if wanted:
        context.find_root().params["debug"] = True
    return wanted


def _check_master(given: str | None) -> str | None:
    return _checked_master(given, takes_none=False)


def _check_maybe_master(given: str | None) -> str | None:
    return _checked_master(given, takes_none=True)


def _checked_master(given: str | None, *, takes_none: bool) -> str | None:
    """Before anything is read, and before a JVM starts only to say so."""
    if given is not None:
        from holdfast.spark.session.session import check_master

        check_master(given, takes_none=takes_none)
    return given


PathOption = Annotated[
    str,
    typer.Option("--path", metavar="DIR|URL", help="A broker's data directory, or its store, such as s3://bucket."),
]
MaybeMasterOption = Annotated[
    str | None,
    typer.Option(
        "--master",
        metavar="URL",
        help="The Spark cluster to run on, or none: in this process. Without it, in this process up to 256 MiB, and "
        "above on Spark, on all cores of this machine.",
        callback=_check_maybe_master,
    ),
]
MasterOption = Annotated[
    str | None,
    typer.Option(
        "--master",
        metavar="URL",
        help="The Spark cluster to run on; without it, all cores of this machine.",
        callback=_check_master,
    ),
]
ConfOption = Annotated[
    list[str] | None,
    typer.Option("--conf", metavar="NAME=VALUE", help="A setting of Spark. May be repeated."),
]
StoreOption = Annotated[
    list[str] | None,
    typer.Option("--store-option", metavar="NAME=VALUE", help="An option of the store, such as endpoint=…"),
]
CatalogOption = Annotated[
    list[str] | None,
    typer.Option(
        "--catalog", metavar="NAME=VALUE", help="A property of the Iceberg catalog, such as uri=… or type=rest."
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def _check_plot(path: Path | None) -> Path | None:
    """Before hours of work, not behind them."""
    if path is not None:
        try:
            need("matplotlib")
        except ModuleNotFoundError as missing:
            raise typer.BadParameter(str(advice(missing))) from missing
    return path


PlotOption = Annotated[
    Path | None,
    typer.Option(
        "--plot",
        metavar="FILE.png",
        help="Draw what was done, and how fast.",
        dir_okay=False,
        callback=_check_plot,
    ),
]
DebugOption = Annotated[
    bool, typer.Option("--debug", callback=_show_debug, help="Show where a failure happened, also on executors.")
]


def settings_of(name: str, master: str | None, conf: list[str] | None) -> SessionSettings:
    from holdfast.spark.session.session import SessionSettings, parse_conf

    return SessionSettings(name, master, parse_conf(conf or []))


def tell_here(size: int) -> None:
    """Which way a job goes."""
    on_spark = "; --master 'local[*]' would do it on Spark" if find_spec("pyspark") is not None else ""
    tell(f"holdfast: {size:,} bytes are read in this process{on_spark}")


def store_options(given: list[str] | None) -> dict[str, str]:
    return dict(assignments(given, "--store-option"))
