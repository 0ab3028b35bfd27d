"""`holdfast sync --dry-run`: what would be made and copied, found without writing anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.cli.terminal.talk import data_console, give_json
from holdfast.sync.dry import Foreseen, foresee

if TYPE_CHECKING:
    from holdfast.sync.run import Sync


def show_plan(running: Sync, *, json: bool) -> None:
    """One line for each topic of each direction."""
    ways = [running.sides, running.sides[::-1]] if running.settings.both else [running.sides]
    for source, target in ways:
        direction = f"{source.address} → {target.address}"
        found = foresee(source, target, running.settings)
        if json:
            for each in found:
                give_json({"direction": direction} | each._asdict())
        else:
            _show(direction, found)


def _show(direction: str, found: list[Foreseen]) -> None:
    from rich.table import Table

    table = Table("topic", "at the target", "partitions", "offsets to read", title=direction, box=None)
    for each in found:
        action = {"create": "is created", "grow": "gets more partitions", "keep": "is there"}[each.action]
        settings = " ".join(f"{name}={value}" for name, value in each.configs.items())
        table.add_row(each.topic, f"{action} {settings}".strip(), str(each.partitions), f"{each.offsets:,}")
    data_console().print(table)
