"""`holdfast serve`: puts the parts together and runs them until a signal says stop."""

from __future__ import annotations

from typing import Annotated

import typer

from holdfast.cli.talk import tell


def serve(
    data: Annotated[str, typer.Option("--data", metavar="DIR", help="Where everything is kept.")] = "data",
) -> None:
    """Start the server."""
    tell(f"nothing to serve in {data} yet")
