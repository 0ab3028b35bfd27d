"""Writes the reference pages from the code: `make docs`. With --check it only compares, for the tests."""

from __future__ import annotations

import ast
import dataclasses
import enum
import inspect
import io
import textwrap
import tokenize
from pathlib import Path
from typing import Any, get_args, get_type_hints

import typer
from publish import publish

from holdfast import config
from holdfast.cli.main import app

REFERENCE = Path(__file__).parents[1] / "reference"
NOTICE = "<!-- Written by docs/tools/reference.py from the code. Do not edit: change the code, then `make docs`. -->"


def settings_page() -> str:
    """Every setting with its default, its variable and its meaning."""
    lines = [NOTICE, "# Settings", "", (config.__doc__ or "").strip(), ""]
    lines += ["The file is named by `--config FILE` or by the variable `HOLDFAST_CONFIG`. A size is in bytes.", ""]
    sections = get_type_hints(config.Settings)
    for section, kind in sections.items():
        lines += [f"## {section}", "", (inspect.getdoc(kind) or "").strip(), ""]
        lines += ["| setting | default | variable | meaning |", "|---|---|---|---|"]
        meanings = field_comments(kind)
        defaults = kind()
        for field in dataclasses.fields(kind):
            name = config.name_of(section, field.name)
            default = show(getattr(defaults, field.name))
            meaning = meanings.get(field.name, "")
            lines.append(f"| `{name}` | `{default}` | `{config.variable_of(name)}` | {meaning} |")
        lines.append("")
    return "\n".join(lines)


def show(value: object) -> str:
    """A default as one would write it in the file."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:_}" if isinstance(value, int) else f'"{value}"' if isinstance(value, str) else str(value)


def field_comments(kind: type) -> dict[str, str]:
    """The comment beside each field of a dataclass: the one place where a setting is explained."""
    found: dict[str, str] = {}
    for each in reversed([each for each in kind.__mro__ if dataclasses.is_dataclass(each)]):
        found |= _own_comments(each)
    return found


def _own_comments(kind: type) -> dict[str, str]:
    source = textwrap.dedent(inspect.getsource(kind))
    comments = {
        token.start[0]: token.string.lstrip("# ").strip()
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    }
    (definition,) = ast.parse(source).body
    assert isinstance(definition, ast.ClassDef)
    return {
        statement.target.id: comments.get(statement.end_lineno or 0, "")
        for statement in definition.body
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
    }


def cli_page() -> str:
    """Every command with its options, in the order of `holdfast --help`."""
    lines = [NOTICE, "# The command line", ""]
    lines += ["stdout is for data, stderr for talk. Exit codes: 0 done, 1 failed, 2 the command line was wrong.", ""]
    lines += command_lines(typer.main.get_command(app), "holdfast")
    return "\n".join(lines)


def command_lines(command: Any, path: str) -> list[str]:
    """One command, then its subcommands."""
    lines = [f"## {path}", "", *help_lines(command.help or ""), ""]
    shown = [param for param in command.params if not getattr(param, "hidden", False)]
    if shown:
        lines += ["| argument or option | meaning |", "|---|---|", *map(param_line, shown), ""]
    for name, child in getattr(command, "commands", {}).items():
        lines += command_lines(child, f"{path} {name}")
    return lines


def help_lines(text: str) -> list[str]:
    """A help text as Markdown: what follows a \\b keeps its line ends."""
    lines: list[str] = []
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        if paragraph.startswith("\b"):
            lines += ["```", *paragraph.removeprefix("\b\n").splitlines(), "```", ""]
        else:
            lines += [paragraph.replace("\n", " "), ""]
    return lines[:-1]


def value_name(annotation: Any) -> str:
    """What stands for the value of an option that names none: its choices, or its type."""
    while get_args(annotation):
        annotation = get_args(annotation)[0]  # Of an optional or repeated one.
    if issubclass(annotation, enum.Enum):
        return "\\|".join(each.value for each in annotation)
    return {"str": "TEXT", "int": "INTEGER"}.get(annotation.__name__, annotation.__name__.upper())


def param_line(param: Any) -> str:
    """One row of the table of options."""
    flag = getattr(param, "is_flag", False)
    if param.param_type_name == "argument":
        names = f"`{param.metavar or param.name.upper()}`"
    else:
        value = "" if flag else f" {param.metavar or value_name(param.type_descriptor.annotation)}"
        names = ", ".join(f"`{name}{value}`" for name in param.opts)
    default = getattr(param.default, "value", param.default)  # Of a choice its word.
    default = "" if flag or not default or callable(default) else f" Default: `{default}`."
    return f"| {names} | {param.help or ''}{default} |"


PAGES = {"settings.md": settings_page, "cli.md": cli_page}

if __name__ == "__main__":
    for name, page in PAGES.items():
        publish(REFERENCE / name, page())
