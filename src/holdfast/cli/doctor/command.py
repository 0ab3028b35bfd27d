"""`holdfast doctor`: whether a broker can run here, and what to do where it cannot.

The parts are imported where they are used: `--help`, `--version` and completion must not wait for them.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.terminal.kept import ReportOption, keep_result
from holdfast.cli.terminal.options import JsonOption
from holdfast.cli.terminal.talk import give_json, tell

if TYPE_CHECKING:
    from holdfast import config
    from holdfast.operate.doctor.finding import DoctorFinding

DataOption = Annotated[str | None, typer.Option("--data", metavar="DIR", help="The data directory to look at.")]
ListenOption = Annotated[str | None, typer.Option("--listen", metavar="HOST:PORT", help="The address to listen on.")]
StoreOption = Annotated[str | None, typer.Option("--store", metavar="URL", help="The store to try.")]
ConfigOption = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", envvar="HOLDFAST_CONFIG", help="Take settings from a file.")
]


def doctor(
    data: DataOption = None,
    listen: ListenOption = None,
    store: StoreOption = None,
    config_file: ConfigOption = None,
    as_json: JsonOption = False,
    report: ReportOption = False,
) -> None:
    """Look whether a broker can run here, with the settings that `holdfast serve` would take.

    Something is written to the data directory and to the store, and removed again. The exit code is 1 when something
    that a broker needs is missing; advice leaves it at 0.

    \b
    Examples:
      holdfast doctor
      holdfast doctor --data /var/lib/holdfast --store s3://bucket/prefix
      holdfast doctor --config holdfast.toml --json
      holdfast doctor --config holdfast.toml --report
    """
    from holdfast import config
    from holdfast.operate.doctor.finding import FindingState

    short = {"data_path": data, "listen": listen, "store": store}
    given = [f"serve.{name}={value}" for name, value in short.items() if value is not None]
    options = {"serve.data_path": "--data", "serve.listen": "--listen", "serve.store": "--store"}
    settings = config.load(config_file, os.environ, given, options)
    findings = list(look(settings))
    for each in findings:
        if as_json:
            give_json(each._asdict())
        else:
            print(each)
    if report:
        _keep(findings, settings)
    lacking = [each.check for each in findings if each.state is FindingState.MISSING]
    if lacking:
        tell(f"holdfast: a broker cannot run here: {', '.join(lacking)}")
        raise typer.Exit(1)


def _keep(findings: Sequence[DoctorFinding], settings: config.Settings) -> None:
    """For the console, in the store that the broker serves."""
    from holdfast.cluster.served_store import chosen_store
    from holdfast.errors import HoldfastError
    from holdfast.io.objects.open import open_objects
    from holdfast.operate.doctor.finding import FindingState

    serve = settings.serve
    wrong = [each for each in findings if each.state is not FindingState.OK]
    said = f"{len(findings)} looked at, all is well" if not wrong else f"{len(wrong)} of {len(findings)} need something"
    facts = {each.check: [each.state.value, each.found, each.todo] for each in findings}
    is_good = all(each.state is not FindingState.MISSING for each in findings)
    try:
        objects = open_objects(chosen_store(Path(serve.data_path), serve.store), is_known=True)
    except HoldfastError as failure:
        tell(f"note: the console will not know of this doctor: {failure}")
        return
    keep_result(objects, "doctor", said, is_good=is_good, facts=facts)


def look(settings: config.Settings) -> Iterator[DoctorFinding]:
    """Everything, the most basic first."""
    from holdfast.io.chance import SystemChance
    from holdfast.io.clock import SystemClock
    from holdfast.operate.doctor import machine, storage
    from holdfast.operate.doctor.finding import FindingState

    serve = settings.serve
    data = Path(serve.data_path)
    is_served = storage.is_served(data)
    yield machine.python()
    yield machine.packages()
    yield (directory := storage.data_directory(data))
    if directory.state is FindingState.OK:
        yield storage.disk_sync(data, SystemClock(), SystemChance())
        yield storage.free_space(data, serve.disk_reserve_size + 2 * settings.wal.chunk_size_max)
    yield machine.open_files()
    yield machine.port("Kafka port", serve.listen, is_served=is_served)
    if serve.console_listen:
        yield machine.port("console port", serve.console_listen, is_served=is_served)
    if serve.metrics_listen:
        yield machine.port("metrics port", serve.metrics_listen, is_served=is_served)
        yield from storage.store_waited_for(serve.metrics_listen)
    if settings.subscribe.listen not in ("auto", "none", ""):
        yield machine.port("subscribers' port", settings.subscribe.listen, is_served=is_served)
    if (elsewhere := _without_store(data, serve.store)) is not None:
        yield elsewhere
    elif serve.store:
        yield look_at_store(serve.store, is_known=any((data / "wal").glob("*.wal")))
    elif directory.state is FindingState.OK:  # Segments will be on the same disk: a folder beside them tells as much.
        with tempfile.TemporaryDirectory(prefix=".holdfast-doctor-", dir=storage.existing(data)) as folder:
            yield look_at_store(folder)
    yield machine.compiled_code()
    yield machine.java()
    yield machine.pyspark()


def _without_store(data: Path, given: str) -> DoctorFinding | None:
    """What a broker would say that is started without the store its data directory belongs to."""
    from holdfast.cluster.served_store import chosen_store
    from holdfast.errors import Rejected
    from holdfast.operate.doctor.finding import missing

    try:
        chosen_store(data, given)
    except Rejected as failure:
        return missing("store", str(failure), "name it with --store (serve.store)")
    return None


def look_at_store(url: str, *, is_known: bool = False) -> DoctorFinding:
    """What is known to have been there is not made anew: a mount point may be bare."""
    from holdfast.errors import HoldfastError
    from holdfast.io.chance import SystemChance
    from holdfast.io.objects.open import open_objects
    from holdfast.operate.doctor import storage
    from holdfast.operate.doctor.finding import missing

    try:
        return storage.store(open_objects(url, is_known=is_known), SystemChance())
    except HoldfastError as failure:
        return missing("store", str(failure), "check its name and your credentials")
