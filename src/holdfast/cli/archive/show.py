"""What an archive says of a run: a table and a sum, JSON, a plot, and the report that the console shows."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.cli.job.unreadable import tell_unreadable
from holdfast.cli.terminal.kept import keep_result
from holdfast.cli.terminal.table import give_table
from holdfast.cli.terminal.talk import give_json, tell
from holdfast.units import counted

if TYPE_CHECKING:
    from holdfast.catalog.catalog import Catalog
    from holdfast.cli.terminal.progress import JobProgress
    from holdfast.spark.jobs.archive.archive import Archived
    from holdfast.spark.jobs.archive.follow import FollowedStep


def keep_archived(catalog: Catalog, place: str, said: str, done: Archived | None) -> None:
    """For the console: how far the archive is, whatever this run was; what a run before has said of others stays."""
    from holdfast.cluster.reports import ARCHIVE, report_about
    from holdfast.spark.jobs.archive.state import offsets_to_json

    objects = catalog.store.open()
    before = report_about(objects, ARCHIVE, place)
    reached = dict(before.facts.get("next", {})) if before is not None else {}
    if done is not None:
        reached |= offsets_to_json({catalog.manifests[where].home: each.end for where, each in done.ranges.items()})
    keep_result(objects, ARCHIVE, said, is_good=done is not None, about=place, facts={"next": reached})


def _facts(done: Archived) -> list[dict[str, Any]]:
    return [
        {
            "partition": str(where),
            "from": each.start,
            "to": each.end,
            "expired": done.skipped.get(where, 0),
            "unreadable": done.unreadable[where].offsets if where in done.unreadable else 0,
        }
        for where, each in done.ranges.items()
    ]


def _object(done: Archived, place: str, seconds: float) -> dict[str, Any]:
    return {
        "target": place,
        "rows": done.rows(),
        "dead_letters": done.dead_letters,
        "files": len(done.files),
        "bytes": done.size,
        "seconds": round(seconds, 3),
    }


def show_step(step: FollowedStep, place: str, *, as_json: bool) -> None:
    """One commit of an archive that is followed, at once."""
    done, seconds, fresh_ms = step
    tell_unreadable({str(where): each for where, each in done.unreadable.items()})
    if as_json:
        moved = [each for each in _facts(done) if each["from"] < each["to"]]
        give_json(_object(done, place, seconds) | {"freshness_ms": fresh_ms, "partitions": moved})
    else:
        age = "" if fresh_ms is None else f", the newest is {fresh_ms} ms old"
        print(f"{place}: {sum_of(done, seconds)}{age}")
    sys.stdout.flush()


def show_archived(
    done: Archived, progress: JobProgress, place: str, left_out: Mapping[str, int], *, as_json: bool
) -> None:
    facts = _facts(done)
    tell_unreadable({str(where): each for where, each in done.unreadable.items()})
    if as_json:
        give_json(_object(done, place, progress.seconds) | {"left_out": dict(left_out), "partitions": facts})
        return
    if facts:
        names = ["partition", "from", "to", "expired", *(["unreadable"] if done.unreadable else [])]
        give_table(facts, {name: name for name in names}, as_json=False)
    print(f"{place}: {sum_of(done, progress.seconds)}")
    for topic, count in left_out.items():
        are, them = ("is", "it") if count == 1 else ("are", "them")
        tell(
            f"holdfast: {counted(count, 'acknowledged record')} of {topic} {are} in no segment yet, and not in the "
            f"archive: `holdfast flush {topic}` before, or --bootstrap, brings {them} in"
        )


def sum_of(done: Archived, seconds: float) -> str:
    letters = f", {counted(done.dead_letters, 'dead letter')}" if done.dead_letters else ""
    rows, files = counted(done.rows(), "row"), counted(len(done.files), "file")
    return f"{rows} added{letters}, {files}, {done.size} bytes in {seconds:.1f} s"


def plot_archived(path: Path, done: Archived, progress: JobProgress) -> None:
    from holdfast.cli.terminal.plot import write_plot

    bars: dict[str, dict[str, float]] = {}
    for each in done.files:
        bar = bars.setdefault(f"{each.topic} {each.date}", {})
        bar[each.table.replace("_", " ")] = bar.get(each.table.replace("_", " "), 0) + each.rows
    write_plot(path, "archive", progress.timeline, dict(sorted(bars.items())), "rows")
    tell(f"plot: {path}")
