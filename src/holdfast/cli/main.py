"""The command `holdfast`: its face, its errors, and the list of what it can do.

stdout is for data, stderr for talk. What goes wrong is one sentence on stderr; `--debug` adds where it happened.
Exit codes: 0 done, 1 failed, 2 the command line was wrong.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from holdfast.cli import compact, merge, replay, status
from holdfast.cli.acl import command as acl
from holdfast.cli.archive import command as archive
from holdfast.cli.audit import command as audit
from holdfast.cli.backup import command as backup
from holdfast.cli.consume import command as consume
from holdfast.cli.demo import command as demo
from holdfast.cli.doctor import command as doctor
from holdfast.cli.group import command as group
from holdfast.cli.log import command as log
from holdfast.cli.produce import command as produce
from holdfast.cli.repair import command as repair
from holdfast.cli.serve import command as serve
from holdfast.cli.serve.help import ServeCommand
from holdfast.cli.subscribe import command as subscribe
from holdfast.cli.sync import command as sync
from holdfast.cli.terminal.talk import sentence_of, tell
from holdfast.cli.topic import command as topic
from holdfast.cli.user import command as user
from holdfast.cli.wal import command as wal
from holdfast.errors import HoldfastError


class OneSentence(TyperGroup):
    """Turns an expected failure into one sentence and exit code 1."""

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
      holdfast doctor                          whether a broker can run here
      holdfast demo                            kill a broker, count everything
      holdfast status                          whether a running broker is well
      holdfast topic create orders             make a topic
      holdfast produce orders < lines.txt      write lines to it
      holdfast consume orders                  follow it
      holdfast subscribe 'logs-*' --since 2h   follow many topics in one order
      holdfast group offsets billing           how far a group has read
      holdfast sync a:9092 b:9092              keep two clusters equal
      holdfast archive orders ./lake --path ./data   add what is new to Parquet
      holdfast audit --path ./data             account for every offset
      holdfast user add alice --data ./data    who may log in, also before the first start
      holdfast acl list                        who may what
      holdfast backup ./data ./copy            copy everything, also while it runs
      holdfast repair ./data                   what is lost, and how to go on
      holdfast log stat ./data                 what the partitions hold
      holdfast wal verify ./data/wal           look for damage
      holdfast --install-completion            complete commands in this shell
    """


app.command("serve", rich_help_panel="Run", cls=ServeCommand)(serve.serve)
app.add_typer(user.app, name="user", rich_help_panel="Run")
app.command("doctor", rich_help_panel="Run")(doctor.doctor)
app.command("demo", rich_help_panel="Run")(demo.demo)
app.command("status", rich_help_panel="Use a running broker")(status.status)
app.add_typer(topic.app, name="topic", rich_help_panel="Use a running broker")
app.add_typer(group.app, name="group", rich_help_panel="Use a running broker")
app.add_typer(acl.app, name="acl", rich_help_panel="Use a running broker")
app.command("produce", rich_help_panel="Use a running broker")(produce.produce)
app.command("consume", rich_help_panel="Use a running broker")(consume.consume)
app.command("sync", rich_help_panel="Use a running broker")(sync.sync)
app.command("subscribe", rich_help_panel="Use a running broker")(subscribe.subscribe)
app.command("archive", rich_help_panel="Run pipelines on Spark")(archive.archive)
app.command("audit", rich_help_panel="Run pipelines on Spark")(audit.audit)
app.command("compact", rich_help_panel="Run pipelines on Spark")(compact.compact)
app.command("merge", rich_help_panel="Run pipelines on Spark")(merge.merge)
app.command("replay", rich_help_panel="Run pipelines on Spark")(replay.replay)
app.command("backup", rich_help_panel="Keep it safe")(backup.backup)
app.command("restore", rich_help_panel="Keep it safe")(backup.restore)
app.command("repair", rich_help_panel="Keep it safe")(repair.repair)
app.add_typer(log.app, name="log", rich_help_panel="Look inside")
app.add_typer(wal.app, name="wal", rich_help_panel="Look inside")


def main() -> None:
    """The entry point."""
    app(prog_name="holdfast")
