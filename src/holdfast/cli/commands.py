"""What `holdfast` can do. A command is imported when it is called, or when somebody asks for help on all of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from importlib import import_module
from typing import Any, Final, NamedTuple, get_type_hints

import typer
from typer.core import TyperCommand
from typer.main import get_command_from_info, get_group_from_info
from typer.models import CommandInfo, TyperInfo

from holdfast.cli.terminal.options import OutputOption
from holdfast.cli.terminal.talk import OutputForm, choose_form
from holdfast.errors import Rejected

_RUN, _USE, _SPARK = "Run", "Use a running broker", "Run pipelines on Spark"
_SAFE, _INSIDE = "Keep it safe", "Look inside"


class CommandPlace(NamedTuple):
    """Where a command is written, and among which others it is shown."""

    panel: str
    module: str  # Below holdfast.cli.
    name: str = "app"  # A function, or an app with commands of its own.
    cls: str = ""  # As module:class, where it shows its help in its own way.


COMMANDS: Final = {
    "serve": CommandPlace(_RUN, "serve.command", "serve", "serve.help:ServeCommand"),
    "cluster": CommandPlace(_RUN, "cluster.command"),
    "user": CommandPlace(_RUN, "user.command"),
    "doctor": CommandPlace(_RUN, "doctor.command", "doctor"),
    "testing": CommandPlace(_RUN, "testing"),
    "demo": CommandPlace(_RUN, "demo.command", "demo"),
    "status": CommandPlace(_USE, "status", "status"),
    "wait": CommandPlace(_USE, "wait", "wait"),
    "topic": CommandPlace(_USE, "topic.command"),
    "group": CommandPlace(_USE, "group.command"),
    "acl": CommandPlace(_USE, "acl.command"),
    "produce": CommandPlace(_USE, "produce.command", "produce"),
    "consume": CommandPlace(_USE, "consume.command", "consume"),
    "flush": CommandPlace(_USE, "flush", "flush"),
    "sync": CommandPlace(_USE, "sync.command", "sync"),
    "subscribe": CommandPlace(_USE, "subscribe.command", "subscribe"),
    "archive": CommandPlace(_SPARK, "archive.command", "archive"),
    "tables": CommandPlace(_SPARK, "tables.command"),
    "audit": CommandPlace(_SPARK, "audit.command", "audit"),
    "compact": CommandPlace(_SPARK, "compact", "compact"),
    "merge": CommandPlace(_SPARK, "merge", "merge"),
    "replay": CommandPlace(_SPARK, "replay", "replay"),
    "spark": CommandPlace(_SPARK, "spark"),
    "backup": CommandPlace(_SAFE, "backup.command", "backup"),
    "restore": CommandPlace(_SAFE, "backup.command", "restore"),
    "repair": CommandPlace(_SAFE, "repair.command", "repair"),
    "log": CommandPlace(_INSIDE, "log.command"),
    "wal": CommandPlace(_INSIDE, "wal.command"),
}


class Commands(Mapping[str, Any]):
    """All of them, by name."""

    def __init__(self) -> None:
        self._loaded: dict[str, Any] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)

    def __contains__(self, name: object) -> bool:
        return name in COMMANDS

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            self._loaded[name] = _load(name, COMMANDS[name])
        return self._loaded[name]


def _with_output(callback: Callable[..., Any]) -> Callable[..., Any]:
    """Whoever prints JSON when asked to has --output, too: the same everywhere."""
    hints = get_type_hints(callback, include_extras=True)
    if "as_json" not in hints:
        return callback
    signature = inspect.signature(callback)
    known = [each.replace(annotation=hints[each.name]) for each in signature.parameters.values()]
    place = next(number for number, each in enumerate(known) if each.name == "as_json") + 1
    added = inspect.Parameter("output", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=OutputOption)

    @wraps(callback)
    def call(*, output: OutputForm | None = None, as_json: bool = False, **others: Any) -> Any:
        if as_json and output not in (None, OutputForm.json):
            raise Rejected(f"--json and --output {output}: which of them?")
        choose_form(output or OutputForm.table)
        return callback(as_json=as_json or output in (OutputForm.json, OutputForm.csv), **others)

    kind = inspect.Parameter.KEYWORD_ONLY
    shown = [each.replace(kind=kind) for each in known]
    call.__signature__ = signature.replace(parameters=[*shown[:place], added, *shown[place:]])  # type: ignore[attr-defined]
    call.__annotations__ = hints | {"output": OutputOption}
    return call


def _load(name: str, place: CommandPlace) -> Any:
    found = _imported(place.module, place.name)
    if isinstance(found, typer.Typer):
        for each in found.registered_commands:
            if each.callback is not None and "output" not in inspect.signature(each.callback).parameters:
                each.callback = _with_output(each.callback)
        info = TyperInfo(found, name=name, rich_help_panel=place.panel)
        return get_group_from_info(
            info, pretty_exceptions_short=False, rich_markup_mode="rich", suggest_commands=found.suggest_commands
        )
    cls = _imported(*place.cls.split(":")) if place.cls else TyperCommand
    command = CommandInfo(name, callback=_with_output(found), cls=cls, rich_help_panel=place.panel)
    return get_command_from_info(command, pretty_exceptions_short=False, rich_markup_mode="rich")


def _imported(module: str, name: str) -> Any:
    return getattr(import_module(f"holdfast.cli.{module}"), name)
