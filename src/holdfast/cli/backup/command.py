"""`holdfast backup` and `holdfast restore`: a data directory and its store, copied while the broker runs, and put back.

The parts are imported where they are used: `--help`, `--version` and completion must not wait for them.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.terminal.kept import ReportOption, keep_result
from holdfast.cli.terminal.talk import give_json, tell
from holdfast.units import counted

if TYPE_CHECKING:
    from holdfast.operate.backup.run import Made

DataArgument = Annotated[str, typer.Argument(metavar="DIR", help="The broker's data directory, such as ./data.")]
SourceArgument = Annotated[
    str, typer.Argument(metavar="DIR", help="The broker's data directory, such as ./data, or the store of a cluster.")
]
BackupArgument = Annotated[str, typer.Argument(metavar="BACKUP", help="The directory of the backup.")]
StoreOption = Annotated[
    str | None, typer.Option("--store", metavar="URL", help="Where the segments are, if not in the data directory.")
]
BackupStoreOption = Annotated[
    str | None,
    typer.Option("--backup-store", metavar="URL", help="Where the backup's segments are, if not in its directory."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def backup(
    data: SourceArgument,
    target: BackupArgument,
    store: StoreOption = None,
    backup_store: BackupStoreOption = None,
    as_json: JsonOption = False,
    report: ReportOption = False,
) -> None:
    """Copy a data directory and its store, also while a broker runs on it: all that was acknowledged is in the copy.

    Of a cluster, and of a broker with `wal.place=store`, the store is all there is: name that. The brokers may be gone.

    A backup that is there already is brought up to date, and only what is new is copied. Anything else that is
    there is refused and stays as it is. What is damaged or lost already is copied as it is and said, and the exit code
    is 1: the copy is whole, and no better than what it was made from.

    \b
    Examples:
      holdfast backup ./data /backup/holdfast
      holdfast backup ./data /backup/holdfast --store s3://bucket/prefix
      holdfast backup ./data ./backup --store s3://bucket/a --backup-store s3://other/b
      holdfast backup s3://bucket/prefix /backup/cluster
    """
    from holdfast.cluster.identity import CLUSTER, read_cluster
    from holdfast.errors import Rejected
    from holdfast.io.objects.open import open_objects
    from holdfast.operate.backup.apart import check_apart
    from holdfast.operate.backup.marker import NAME, expect_target
    from holdfast.operate.backup.run import back_up
    from holdfast.operate.place import has_rounds, is_all_there, open_place

    if "://" not in data and (Path(data) / NAME).exists():
        told = (
            "`holdfast restore` puts it back, and a copy of the whole folder is a backup, too; if a broker has run on "
        )
        told += f"it since, so that it is a data directory now, remove {Path(data) / NAME} and try again"
        raise Rejected(f"{data} is itself a backup, its {NAME} says: {told}")
    place = open_place(data, store)
    folder = None if "://" in data or (Path(data) / CLUSTER).exists() else Path(data)
    is_known = has_rounds(place.objects) if folder else is_all_there(place.objects)
    if place.wal is None and not is_known:
        raise Rejected(f"{data} has no write-ahead log: name the data directory, and its store with --store")
    logs = [] if place.wal is None else [place.wal.path]
    target_store = backup_store or str(Path(target) / "objects")
    check_apart([data, *logs, place.objects.url], [target, target_store])
    expect_target(Path(target), read_cluster(place.objects))  # Before anything is made there.
    made = back_up(place.wal, folder, place.objects, Path(target), open_objects(target_store))
    if report:
        copied = f"{counted(made.objects, 'object')} of {made.size} bytes copied"
        said = f"to {target}: {copied}, {len(made.damaged)} of them damaged"
        keep_result(place.objects, "backup", said, is_good=not made.damaged)
    _give("backed up", made, target, as_json=as_json)


def restore(
    source: BackupArgument,
    data: DataArgument,
    store: StoreOption = None,
    backup_store: BackupStoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Put a backup into a new data directory, and into an empty store.

    Of a cluster only the store is filled: each of its brokers begins with an empty directory.

    \b
    Examples:
      holdfast restore /backup/holdfast ./data
      holdfast restore /backup/holdfast ./data --store s3://bucket/prefix
    """
    from holdfast.io.objects.open import open_objects
    from holdfast.operate.backup import run
    from holdfast.operate.backup.apart import check_apart

    source_store, target_store = backup_store or str(Path(source) / "objects"), store or str(Path(data) / "objects")
    run.check_whole(Path(source))
    check_apart([source, source_store], [data, target_store])
    made = run.restore(Path(source), open_objects(source_store), Path(data), open_objects(target_store))
    _give("restored", made, data, as_json=as_json)


def _give(what: str, made: Made, place: str, *, as_json: bool) -> None:
    for damage in made.damaged.values():
        tell(f"holdfast: {damage}; it is copied as it is: see `holdfast repair`")
    if as_json:
        fields = {"place": place, "wal_size": made.wal_size, "objects": made.objects, "size": made.size}
        give_json(fields | {"damaged": list(made.damaged)})
    else:
        objects = counted(made.objects, "object")
        print(f"{what} to {place}: {made.wal_size} bytes of log, {objects} of {made.size} bytes copied")
    if made.damaged:
        raise typer.Exit(1)
