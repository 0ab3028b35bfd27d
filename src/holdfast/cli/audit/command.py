"""`holdfast audit`: is every offset there exactly once? Exits with 1 when any is not."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.cli.job.errors import in_one_sentence
from holdfast.cli.job.options import (
    ConfOption,
    DebugOption,
    JsonOption,
    MaybeMasterOption,
    PathOption,
    PlotOption,
    StoreOption,
    settings_of,
    store_options,
    tell_here,
)
from holdfast.cli.terminal.kept import ReportOption, keep_result
from holdfast.cli.terminal.options import CommandConfigOption
from holdfast.cli.terminal.table import give_table
from holdfast.cli.terminal.talk import give_json, tell
from holdfast.units import counted

if TYPE_CHECKING:
    from holdfast.cli.terminal.progress import JobProgress
    from holdfast.spark.jobs.audit.report import PartitionReport

TopicsArgument = Annotated[list[str] | None, typer.Argument(metavar="[TOPIC]…", help="All but internal ones if none.")]
BootstrapOption = Annotated[
    str | None, typer.Option("--bootstrap", metavar="HOST:PORT", help="Compare with the marks of this broker.")
]
ExpectOption = Annotated[
    Path | None,
    typer.Option(
        "--expect",
        metavar="FILE",
        exists=True,
        dir_okay=False,
        help="A producer's list of acknowledged offsets: lines of topic, partition, offset.",
    ),
]
HeadersOption = Annotated[
    bool, typer.Option("--headers-only", help="Check every crc and offset, but do not decode the records.")
]

_COLUMNS = {
    "partition": "partition",
    "delivered": "delivered",
    "log_start": "log start",
    "end": "end",
    "records": "records",
    "control": "control",
    "aborted": "aborted",
    "compacted": "compacted",
    "open": "open",
    "tail": "tail",
    "missing": "missing",
    "duplicates": "duplicates",
    "problems": "problems",
}


def audit(
    path: PathOption,
    topics: TopicsArgument = None,
    bootstrap: BootstrapOption = None,
    config: CommandConfigOption = None,
    expect: ExpectOption = None,
    headers_only: HeadersOption = False,
    store: StoreOption = None,
    master: MaybeMasterOption = None,
    conf: ConfOption = None,
    as_json: JsonOption = False,
    plot: PlotOption = None,
    report: ReportOption = False,
    debug: DebugOption = False,  # noqa: ARG001
) -> None:
    """Account for every offset, and exit with 1 when one is missing, damaged or there twice.

    Control records, aborted records and those that compaction let go are counted apart. What a broker has not flushed
    yet is taken from its write-ahead log when --path is its data directory.

    \b
    Examples:
      holdfast audit --path ./data
      holdfast audit orders --path ./data --bootstrap 127.0.0.1:9092
      holdfast audit --path ./data --command-config client.properties
      holdfast audit --path s3://bucket/prefix --expect acked.txt --json
      holdfast audit --path s3://bucket/prefix --report
      holdfast audit --path s3://bucket/prefix --master spark://host:7077 --plot audit.png
    """
    from holdfast.catalog.store import find_store
    from holdfast.cli.audit.evidence import evidence_of
    from holdfast.cli.terminal.broker import broker_at
    from holdfast.cli.terminal.progress import JobProgress
    from holdfast.spark.jobs.audit.audit import audit as run
    from holdfast.spark.session.small import small_first

    opened = find_store(path, store_options(store))
    broker = broker_at(bootstrap, config) if bootstrap or config else None
    evidence = evidence_of(path, opened, broker, expect)
    with (
        in_one_sentence(),
        JobProgress("audit") as progress,
        small_first(settings_of("audit", master, conf), tell_here) as session,
    ):
        reports = run(session, opened, topics or (), evidence, decode=not headers_only, on_done=progress)
    _show(reports, progress, as_json=as_json)
    if report:
        is_good = all(each.is_sound for each in reports)
        keep_result(opened.open(), "audit", _said(reports), is_good=is_good, facts=_by_partition(reports))
    if plot is not None:
        _plot(plot, reports, progress)
    if not all(each.is_sound for each in reports):
        raise typer.Exit(1)


def _said(reports: Sequence[PartitionReport]) -> str:
    total = _total(reports)
    return (
        f"{total['delivered_percent']:.4f} % of {total['offsets']} offsets of {counted(len(reports), 'partition')} "
        f"accounted for, {total['missing']} missing, {counted(total['duplicates'], 'duplicate')}"
    )


def _by_partition(reports: Sequence[PartitionReport]) -> dict[str, list[float]]:
    """Delivered percent, missing offsets, duplicates and problems, those first that are not sound."""
    return {
        f"{each.topic}-{each.partition}": [
            _down(each.delivered_percent),
            each.missing_count,
            each.counts.duplicates,
            len(each.problems),
        ]
        for each in sorted(reports, key=lambda each: each.is_sound)
    }


def _show(reports: Sequence[PartitionReport], progress: JobProgress, *, as_json: bool) -> None:
    sound = all(each.is_sound for each in reports)
    if as_json:
        give_json(_total(reports) | {"sound": sound, "seconds": round(progress.seconds, 3)})
        return
    if reports:
        give_table([_row(each) for each in reports], _COLUMNS, as_json=False)
    for each in reports:
        for what in each.problems:
            print(f"problem: {each.topic}-{each.partition}: {what}")
        for note in each.notes:
            tell(f"note: {each.topic}-{each.partition}: {note}")
    total = _total(reports)
    print(
        f"{'sound' if sound else 'NOT SOUND'}: {total['delivered_percent']:.4f} % of {total['offsets']} offsets "
        f"accounted for, {total['missing']} missing, {counted(total['duplicates'], 'duplicate')}, "
        f"{counted(total['segments'], 'segment')}, {total['bytes']} bytes in {progress.seconds:.1f} s"
    )
    sys.stdout.flush()


def _row(report: PartitionReport) -> Mapping[str, Any]:
    facts = report.facts()
    return facts | {
        "partition": f"{report.topic}-{report.partition}",
        "delivered": f"{_down(report.delivered_percent):.4f} %",
        "problems": len(report.problems),
    }


def _down(percent: float) -> float:
    """Never 100 where anything is missing."""
    return int(percent * 10_000) / 10_000


def _total(reports: Sequence[PartitionReport]) -> dict[str, Any]:
    offsets = sum(each.total for each in reports)
    missing = sum(each.missing_count for each in reports)
    lost = sum(each.expected_missing for each in reports)
    expected = sum(each.expected for each in reports)
    shares = [1 - missing / offsets] if offsets else []
    shares += [1 - lost / expected] if expected else []
    return {
        "delivered_percent": _down(100 * min(shares, default=float(all(each.is_sound for each in reports)))),
        "offsets": offsets,
        "missing": missing,
        "expected": expected,
        "expected_missing": lost,
        "duplicates": sum(each.counts.duplicates for each in reports),
        "segments": sum(each.segments for each in reports),
        "bytes": sum(each.size for each in reports),
        "partitions": [each.facts() for each in reports],
    }


def _plot(path: Path, reports: Sequence[PartitionReport], progress: JobProgress) -> None:
    from holdfast.cli.terminal.plot import write_plot

    kinds = ("records", "control", "aborted", "compacted", "open", "expired", "missing")
    bars = {f"{each.topic}-{each.partition}": {kind: each.facts()[kind] for kind in kinds} for each in reports}
    write_plot(path, "audit", progress.timeline, bars, "offsets")
    tell(f"plot: {path}")
