"""Options that all commands which talk to a broker have."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from holdfast.cli.terminal.talk import OutputForm
from holdfast.errors import Rejected

DEFAULT_BOOTSTRAP = "127.0.0.1:9092"

BootstrapOption = Annotated[
    str | None,
    typer.Option(
        "--bootstrap",
        metavar="HOST:PORT",
        help=f"The broker to ask; without it the file's, HOLDFAST_BOOTSTRAP, or {DEFAULT_BOOTSTRAP}.",
    ),
]
CommandConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--command-config",
        metavar="FILE",
        help="How to reach it, as Kafka's tools take it: security.protocol, ssl.…, sasl.…, bootstrap.servers.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, one object a line.")]
OutputOption = Annotated[
    OutputForm | None, typer.Option("--output", metavar="FORM", help="How to print: table, json (as --json) or csv.")
]
YesOption = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


def assignments(given: Iterable[str] | None, option: str) -> list[tuple[str, str]]:
    """`name=value` texts of an option, in order."""
    pairs = []
    for each in given or ():
        name, sign, value = each.partition("=")
        if not sign or not name:
            raise Rejected(f"{option} {each} must be {option} name=value")
        pairs.append((name, value))
    return pairs


def ask_first(question: str, *, yes: bool) -> None:
    """Let a person at a terminal agree; where there is none, --yes must have been given."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise Rejected(f"{question} Say so with --yes: there is no terminal to ask at")
    typer.confirm(question, abort=True, err=True)
