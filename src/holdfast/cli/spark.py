"""`holdfast spark`: what sessions of Spark that are not ours need."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from holdfast.cli.terminal.talk import tell
from holdfast.errors import Rejected

app = typer.Typer(no_args_is_help=True, help="Holdfast in sessions of Spark.", rich_markup_mode="rich")

_PLACE = "holdfast_modules"  # Not `holdfast`: a folder of that name would pass for the package.


@app.callback()
def spark() -> None:
    """Holdfast in sessions of Spark."""


@app.command("pack")
def pack(
    target: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="What to write: FILE.tar.gz for --archives, FILE.zip for --py-files."),
    ] = Path("holdfast-modules.tar.gz"),
) -> None:
    """Write what executors need to read and write topics, so that nothing has to be installed on them.

    FILE.tar.gz holds Holdfast and all packages that it imports there, out of this environment: executors need the same
    Python version, on the same kind of machine. FILE.zip holds Holdfast alone, without machine code, for executors that
    have the packages. What `spark-submit` is to be given is printed.

    \b
    Examples:
      holdfast spark pack holdfast.tar.gz
      spark-submit $(holdfast spark pack holdfast.tar.gz) --master spark://host:7077 job.py
    """
    from holdfast.spark.session.ship import pack_archive, pack_zip

    if target.name.endswith(".tar.gz"):
        pack_archive(target)
        options = ["--archives", f"{target}#{_PLACE}", "--conf", f"spark.executorEnv.PYTHONPATH=./{_PLACE}"]
    elif target.suffix == ".zip":
        pack_zip(target)
        options = ["--py-files", str(target)]
    else:
        raise Rejected(f"{target} ends neither in .tar.gz nor in .zip: which of them?")
    version = ".".join(map(str, sys.version_info[:2]))
    tell(f"holdfast: {target} has {target.stat().st_size:,} bytes, for executors with Python {version}")
    print(" ".join(options))
