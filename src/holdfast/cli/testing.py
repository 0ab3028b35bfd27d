"""`holdfast testing`: a broker for the tests of a project in any language, gone afterwards.

The parts are imported where they are used: `--help`, `--version` and completion must not wait for them.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from holdfast.cli.terminal.talk import tell
from holdfast.errors import Rejected, Unavailable
from holdfast.units import counted

app = typer.Typer(no_args_is_help=True, help="A broker for tests, gone afterwards.", rich_markup_mode="rich")

_NOTE = "up.json"
_START_S = 60

PrintOption = Annotated[
    bool,
    typer.Option("--print-bootstrap", help="Start it behind this command, and print only its address, for a script."),
]
TopicOption = Annotated[
    list[str] | None,
    typer.Option("--topic", metavar="NAME[:N]", help="Make a topic, with N partitions. May be repeated."),
]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A setting of the broker. May be repeated.")
]
MinutesOption = Annotated[int, typer.Option("--minutes", metavar="N", min=1, help="It ends by itself after so long.")]
AddressArgument = Annotated[str | None, typer.Argument(metavar="HOST:PORT", help="Which one; without it, all.")]


@app.command("up")
def up(
    print_bootstrap: PrintOption = False,
    topics: TopicOption = None,
    settings: SetOption = None,
    minutes: MinutesOption = 60,
) -> None:
    """Start a broker on a free port and in a temporary directory, which is removed when it ends.

    It serves until Ctrl-C. With --print-bootstrap it serves behind, until `holdfast testing down`, or for an hour.

    \b
    Examples:
      holdfast testing up --topic orders:3
      export BOOTSTRAP=$(holdfast testing up --print-bootstrap)
      holdfast testing up --print-bootstrap --set num.partitions=4 --minutes 10
    """
    if print_bootstrap:
        print(_start_behind(topics or [], settings or [], minutes))
        return
    from holdfast.testing.folders import temporary_folder
    from holdfast.testing.process import RunningBroker
    from holdfast.testing.running import FOR_TESTS, variables

    over = threading.Event()
    for stop in (signal.SIGTERM, signal.SIGINT):
        signal.signal(stop, lambda *_: over.set())
    options = [word for each in settings or [] for word in ("--set", each)]
    with (
        temporary_folder() as folder,
        RunningBroker(folder / "data", environment=variables(FOR_TESTS), options=options) as broker,
    ):
        for each in topics or []:
            name, _, count = each.partition(":")
            broker.topic(name, partitions=_count(each, count))
        new = folder / f"{_NOTE}.new"
        new.write_text(json.dumps({"bootstrap": broker.bootstrap, "pid": os.getpid()}))
        new.rename(folder / _NOTE)  # Whole when somebody looks for brokers to end.
        print(broker.bootstrap, flush=True)
        over.wait(60 * minutes)


@app.command("down")
def down(address: AddressArgument = None) -> None:
    """End brokers that `holdfast testing up --print-bootstrap` has started.

    \b
    Examples:
      holdfast testing down $BOOTSTRAP
      holdfast testing down
    """
    ended = 0
    for said in _running():
        if address in (None, said["bootstrap"]):
            with contextlib.suppress(ProcessLookupError):
                os.kill(said["pid"], signal.SIGTERM)
            ended += 1
    if address is not None and not ended:
        raise Rejected(f"no broker at {address} was started by `holdfast testing up`")
    tell(f"holdfast: {counted(ended, 'broker')} {'is' if ended == 1 else 'are'} told to end")


def _running() -> Iterator[dict[str, Any]]:
    """Those of this user that are still there: the lock on a folder ends with its process."""
    from holdfast.testing.folders import PREFIX, is_used

    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        note = folder / _NOTE
        with contextlib.suppress(FileNotFoundError):  # It is not up yet, or ends right now.
            if is_used(folder) and note.stat().st_uid == os.getuid():
                yield json.loads(note.read_text())


def _start_behind(topics: list[str], settings: list[str], minutes: int) -> str:
    command = [sys.executable, "-m", "holdfast", "testing", "up", "--minutes", str(minutes)]
    command += [word for each in topics for word in ("--topic", each)]
    command += [word for each in settings for word in ("--set", each)]
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said, text=True, start_new_session=True
        )
        assert process.stdout is not None
        giving_up = threading.Timer(_START_S, process.kill)
        giving_up.start()
        address = process.stdout.readline().strip()
        giving_up.cancel()
        if address:
            return address
        process.wait()
        said.seek(0)
        raise Unavailable(f"the broker did not start: {said.read().strip().removeprefix('holdfast: ')}")


def _count(said: str, count: str) -> int | None:
    if count and not count.isdecimal():
        raise Rejected(f"--topic {said} is not of the form NAME or NAME:PARTITIONS")
    return int(count) if count else None
