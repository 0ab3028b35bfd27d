"""`holdfast wal`: look inside a write-ahead log. Nothing here takes the lock or changes a byte.

The log is imported where it is used: `--help`, `--version` and completion must not wait for it.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.terminal.talk import data_console, give_json, tell
from holdfast.cli.wal.lines import DUMP_HEADING, damage_facts, dump_line, record_facts, state_facts
from holdfast.errors import Corrupt
from holdfast.io.disk import RealDirectory
from holdfast.operate.place import log_directory
from holdfast.units import counted

if TYPE_CHECKING:
    from holdfast.wal.inspect import WalVerdict

app = typer.Typer(
    no_args_is_help=True, help="Look inside a write-ahead log, also while it is in use.", rich_markup_mode="rich"
)

DirArgument = Annotated[Path, typer.Argument(metavar="DIR", help="The log's directory, such as ./data/wal.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, one object a line.")]


@app.command("stat")
def stat_command(path: DirArgument, as_json: JsonOption = False) -> None:
    """What the log holds: its chunks, entries, state and size.

    \b
    Examples:
      holdfast wal stat ./data/wal
      holdfast wal stat ./data/wal --json
    """
    from rich.table import Table

    from holdfast.wal.inspect import verify

    directory = log_directory(path)
    verdict = verify(directory)
    if not verdict.sound:
        raise Corrupt(verdict.damage)
    facts = sound_facts(verdict) | {"on_disk_size": on_disk_size(directory)}
    if as_json:
        give_json(facts)
        return
    table = Table(box=None, show_header=False, pad_edge=False)
    for name, value in facts.items():
        table.add_row(name.replace("_", " "), shown(value))
    data_console().print(table)


@app.command("dump")
def dump_command(path: DirArgument, as_json: JsonOption = False) -> None:
    """Every record, one a line: position, kind, log ids, size, whether its crc is right.

    \b
    Examples:
      holdfast wal dump ./data/wal
      holdfast wal dump ./data/wal --json | head -n 1
    """
    from holdfast.wal.inspect import dump

    kinds: Counter[str] = Counter()
    size = 0
    directory = log_directory(path)
    if not as_json:
        print(DUMP_HEADING)
    for line in dump(directory):
        kinds[line.kind] += 1
        size += line.size
        if as_json:
            give_json(record_facts(line))
        else:
            print(dump_line(line))
    counts = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
    summary = f"{counted(kinds.total(), 'record')}, {size} bytes: {counts}"
    if as_json:
        tell(summary)  # Talk: every line on stdout is a record.
    else:
        print(summary)


@app.command("verify")
def verify_command(path: DirArgument, as_json: JsonOption = False) -> None:
    """Replay the whole log as an open would, and exit with 1 when acknowledged bytes are damaged or missing.

    \b
    Examples:
      holdfast wal verify ./data/wal
      holdfast wal verify ./data/wal --json
    """
    from holdfast.wal.inspect import verify

    verdict = verify(log_directory(path))
    if as_json:
        give_json({"sound": verdict.sound} | (sound_facts(verdict) if verdict.sound else damage_facts(verdict)))
    elif verdict.sound:
        print(f"sound: {counted(verdict.chunks, 'chunk')}, {verdict.entries} entries, last {shown(verdict.state.last)}")
    else:
        print(f"damaged: {verdict.damage}")
    sys.stdout.flush()
    if not verdict.sound:
        raise typer.Exit(1)


def on_disk_size(directory: RealDirectory) -> int:
    """Bytes of all files, spare ones included. A file that goes while we look counts nothing."""
    size = 0
    for name in directory.names():
        try:
            file = directory.open(name, write=False)
        except FileNotFoundError:
            continue
        size += file.size()
        file.close()
    return size


def sound_facts(verdict: WalVerdict) -> dict[str, object]:
    """What is told about a sound log."""
    return {
        "chunks": verdict.chunks,
        "entries": verdict.entries,
        "closed": verdict.clean,
        **state_facts(verdict.state),
    }


def shown(value: object) -> str:
    """A value for people."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ":".join(map(str, value.values()))
    return str(value)
