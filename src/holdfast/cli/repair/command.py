"""`holdfast repair`: get a damaged data directory going again, after saying exactly what is lost.

The parts are imported where they are used: `--help`, `--version` and completion must not wait for them.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.terminal.kept import keep_result
from holdfast.cli.terminal.talk import give_json, tell

if TYPE_CHECKING:
    from holdfast.operate.repair.plan import Plan

DataArgument = Annotated[str, typer.Argument(metavar="DIR", help="The data directory, such as ./data; no broker runs.")]
StoreOption = Annotated[
    str | None, typer.Option("--store", metavar="URL", help="Where the segments are, if not in the directory.")
]
AcceptOption = Annotated[
    str | None, typer.Option("--accept-loss", metavar="TOKEN", help="Repair, and accept the loss that has this token.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON: every item on a line, then a summary.")]


def repair(
    data: DataArgument, store: StoreOption = None, accept: AcceptOption = None, as_json: JsonOption = False
) -> None:
    """List what is damaged, missing and lost, and repair it when exactly that loss is accepted.

    Everything is read. Without --accept-loss nothing is repaired, and the exit code is 1 when anything is wrong; only a
    repair that was accepted before, and was cut off, is brought to its end. Damaged originals go to the directory
    `quarantine`; nothing is deleted.

    \b
    Examples:
      holdfast repair ./data
      holdfast repair ./data --store s3://bucket/prefix --json
      holdfast repair ./data --accept-loss 0123456789ab
    """
    from holdfast.operate.data_lock import held
    from holdfast.operate.repair.apply import apply
    from holdfast.operate.repair.plan import look, open_data

    with held(Path(data), "repair", create=False):
        path, objects, wal = open_data(data, store)
        lock = wal.lock("repair")
        try:
            plan = look(path, objects, wal)
            accepted = bool(plan.items) and accept == plan.token
            kept = str(apply(plan)) if accepted else None
            if accepted:
                losses = sum(each.is_loss for each in plan.items)
                said = f"{len(plan.items)} items repaired, {losses} of them losses; the originals are in {kept}"
                keep_result(objects, "repair", said, is_good=not losses)
        finally:
            lock.release()
    _give(plan, kept, as_json=as_json)
    if plan.items and not accepted:
        sys.stdout.flush()
        _tell_how(plan, data, store, accept)
        raise typer.Exit(1)


def _give(plan: Plan, kept: str | None, *, as_json: bool) -> None:
    if as_json:
        for each in plan.items:
            give_json(each._asdict() | {"is_loss": each.is_loss})
        losses = sum(each.is_loss for each in plan.items)
        token = plan.token if plan.items else None
        give_json({"items": len(plan.items), "losses": losses, "token": token, "repaired": kept is not None})
        return
    for each in plan.items:
        print(each)
    if not plan.items:
        print("nothing is wrong, nothing was changed")
    elif kept is not None:
        print(f"repaired; the originals are in {kept}")


def _tell_how(plan: Plan, data: str, store: str | None, accept: str | None) -> None:
    if accept is not None:
        tell(f"holdfast: nothing was changed: {accept} is not the token of what is listed here")
    option = f" --store {store}" if store else ""
    tell(f"holdfast: to repair and accept exactly this: holdfast repair {data}{option} --accept-loss {plan.token}")
