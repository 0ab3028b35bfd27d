"""The command `holdfast`: its face and its errors. `commands` lists what it can do.

stdout is for data, stderr for talk. What goes wrong is one sentence on stderr; `--debug` adds where it happened.
Exit codes: 0 done, 1 failed, 2 the command line was wrong.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from holdfast.cli.commands import Commands
from holdfast.cli.terminal.talk import sentence_of, tell
from holdfast.errors import HoldfastError
from holdfast.extras import advice


class OneSentence(TyperGroup):
    """Turns an expected failure into one sentence and exit code 1."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = Commands()  # type: ignore[assignment]  # Nobody adds one later.

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise  # The reader of our output went away (`| head`): nothing to say.
        except (HoldfastError, OSError) as failure:
            if ctx.params.get("debug"):
                raise
            tell(sentence_of(failure))
            raise typer.Exit(1) from None
        except ModuleNotFoundError as missing:
            said = advice(missing)
            if said is None or ctx.params.get("debug"):
                raise
            tell(f"holdfast: {said}")
            raise typer.Exit(1) from None


def show_version(wanted: bool) -> None:
    if wanted:
        import importlib.metadata

        print(f"holdfast {importlib.metadata.version('holdfast')}")
        raise typer.Exit


app = typer.Typer(
    cls=OneSentence,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="rich",
)


@app.callback()
def holdfast(
    debug: Annotated[bool, typer.Option("--debug", help="Show where a failure happened.")] = False,
    version: Annotated[
        bool,
        typer.Option("--version", callback=show_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """A durable log that never loses or hides an acknowledged record.

    \b
    Examples:
      holdfast serve --data ./data             start a broker
      holdfast cluster status s3://bucket      who shares a store, and who leads
      holdfast doctor                          whether a broker can run here
      holdfast testing up                      a broker for tests, gone afterwards
      holdfast demo                            kill a broker, count everything
      holdfast status                          whether a running broker is well
      holdfast wait                            until a broker serves
      holdfast topic create orders             make a topic
      holdfast produce orders < lines.txt      write lines to it
      holdfast consume orders                  follow it
      holdfast flush orders                    all of it into the store, now
      holdfast subscribe 'logs-*' --since 2h   follow many topics in one order
      holdfast group offsets billing           how far a group has read
      holdfast sync a:9092 b:9092              keep two clusters equal
      holdfast archive orders ./lake --path ./data   add what is new to Parquet
      holdfast audit --path ./data             account for every offset
      holdfast spark pack modules.tar.gz       what executors of Spark need
      holdfast user add alice --data ./data    who may log in, also before the first start
      holdfast acl list                        who may what
      holdfast backup ./data ./copy            copy everything, also while it runs
      holdfast repair ./data                   what is lost, and how to go on
      holdfast log stat ./data                 what the partitions hold
      holdfast wal verify ./data/wal           look for damage
      holdfast --install-completion            complete commands in this shell
    """


def main() -> None:
    """The entry point. Whose reader has gone away (`| head`) ends as every program does then, without a word."""
    try:
        app(prog_name="holdfast")
    except SystemExit as over:
        if isinstance(over.__context__, BrokenPipeError):  # Met by typer, or by rich.
            _end_for_want_of_a_reader()
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            _end_for_want_of_a_reader()
        raise


def _end_for_want_of_a_reader() -> None:
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGPIPE)
