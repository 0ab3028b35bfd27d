"""What a command has found out, left in the store for the console and for the next person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.cli.terminal.talk import tell

if TYPE_CHECKING:
    from holdfast.io.objects import Objects


def keep_result(objects: Objects, kind: str, said: str, *, is_good: bool) -> None:
    """Who may only read the store is told that it is not kept; the result itself is the same."""
    from holdfast.cluster.reports import leave_report

    why = leave_report(objects, kind, said, is_good=is_good)
    if why is not None:
        tell(f"note: the console will not know of this {kind}: {why}")
