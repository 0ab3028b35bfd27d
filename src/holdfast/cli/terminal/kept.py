"""What a command has found out, left in the store for the console and for the next person: if that is asked for.

Looking changes nothing otherwise, and needs no right to write.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.cli.terminal.talk import tell

if TYPE_CHECKING:
    from holdfast.io.objects import Objects


ReportOption = Annotated[
    bool, typer.Option("--report", help="Leave what was found in the store (reports/), where the console shows it.")
]


def keep_result(
    objects: Objects, kind: str, said: str, *, is_good: bool, about: str = "", facts: Mapping[str, Any] | None = None
) -> None:
    """Who may only read the store is told that it is not kept; the result itself is the same."""
    from holdfast.cluster.reports import leave_report

    why = leave_report(objects, kind, said, is_good=is_good, about=about, facts=facts)
    if why is not None:
        tell(f"note: the console will not know of this {kind}: {why}")
