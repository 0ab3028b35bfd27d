"""`holdfast serve`: puts the parts together and runs them until a signal says stop.

The parts are imported where they are used: `--help`, `--version` and completion must not wait for them.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.talk import tell

if TYPE_CHECKING:
    from holdfast import config

DataOption = Annotated[
    str | None,
    typer.Option("--data", metavar="DIR", help="The directory that holds everything; short for serve.data_path."),
]
ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", envvar="HOLDFAST_CONFIG", help="Take settings from a TOML file."),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Set one setting, such as wal.spares_max=4. May be repeated."),
]


def serve(data: DataOption = None, config_file: ConfigOption = None, assignments: SetOption = None) -> None:
    """Start the server, and stop it cleanly on SIGTERM or SIGINT.

    \b
    Examples:
      holdfast serve --data /var/lib/holdfast
      holdfast serve --config holdfast.toml --set serve.log_level=debug
    """
    from holdfast import config

    given = list(assignments or ())
    if data is not None:
        given.append(f"serve.data_path={data}")
    settings = config.load(config_file, os.environ, given)
    logging.basicConfig(level=settings.serve.log_level.upper(), format="%(levelname)s %(name)s: %(message)s")
    asyncio.run(run(settings))


async def run(settings: config.Settings) -> None:
    """All parts, from the ground up; what was opened last is closed first."""
    from holdfast.io.disk import RealDirectory
    from holdfast.io.open_objects import open_objects
    from holdfast.log.logs import Logs

    stop = stop_signal()
    data = Path(settings.serve.data_path)
    objects = open_objects(settings.serve.store or str(data / "objects"))
    logs = await Logs.open(RealDirectory(data / "wal"), objects, settings.log, wal_settings=settings.wal)
    try:
        tell(f"holdfast: serving {data} with segments in {objects.url}. The Kafka port comes with a later release.")
        await stop.wait()
        tell("holdfast: stopping")
        if logs.failure is not None:
            raise logs.failure  # It had stopped before it was told to: not a clean stop.
    finally:
        await logs.close()
    tell("holdfast: stopped")


def stop_signal() -> asyncio.Event:
    """Set by the first SIGTERM or SIGINT; a second one ends the process at once."""
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()

    def first(which: signal.Signals) -> None:
        loop.remove_signal_handler(which)
        stop.set()

    for which in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(which, first, which)
    return stop
