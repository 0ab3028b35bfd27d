"""`holdfast serve --help`: the options, and behind them every setting that `--set`, a file or a variable can give."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand


class ServeCommand(TyperCommand):
    """Lists the settings, which are imported only when somebody asks for help."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        super().format_help(ctx, formatter)
        from rich.console import Console
        from rich.table import Table

        from holdfast import config
        from holdfast.security.secret import HIDDEN

        shown = Table(title="Settings", title_justify="left", box=None)
        shown.add_column("setting", no_wrap=True)
        shown.add_column("default", overflow="fold")
        shown.add_column("variable", no_wrap=True)
        defaults = config.Settings()
        for name, place in config.known().items():
            value = getattr(getattr(defaults, place.section), place.field)
            text = str(value).lower() if isinstance(value, bool) else str(value)
            shown.add_row(name, text if value or text != HIDDEN else "", config.variable_of(name))
        Console(width=140).print(shown)
