"""`holdfast demo`: kills a broker under load, and checks everything that it had promised.

The parts are imported where they are used: `--help`, `--version` and completion must not wait for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.terminal.options import JsonOption
from holdfast.cli.terminal.talk import give_json, tell
from holdfast.errors import Rejected
from holdfast.extras import how_to_get

if TYPE_CHECKING:
    from holdfast.demo.plan import Step
    from holdfast.demo.stage import DemoWanted

EVENTS, QUICK_EVENTS = 1_000_000, 20_000
_INTERRUPTED = 130  # As a shell says it of Ctrl-C.

EventsOption = Annotated[int | None, typer.Option("--events", metavar="N", min=100, help="How many: a million.")]
QuickOption = Annotated[bool, typer.Option("--quick", help=f"{QUICK_EVENTS:,} events, for a first look.")]
ReportOption = Annotated[
    Path, typer.Option("--report", metavar="FILE.html", dir_okay=False, help="Where the page with the plots goes.")
]
DirectoryOption = Annotated[
    Path | None,
    typer.Option("--dir", metavar="DIR", exists=True, file_okay=False, help="Where to work; emptied at the end."),
]


def demo(
    events: EventsOption = None,
    quick: QuickOption = False,
    report: ReportOption = Path("holdfast-demo.html"),
    directory: DirectoryOption = None,
    as_json: JsonOption = False,
) -> None:
    """Kill a broker under load, and check that nothing which it acknowledged is lost or there twice.

    A broker is started in a temporary directory. A Kafka client writes a million events, and the broker is killed with
    SIGKILL in the middle and started again. Then everything is read back, archived and audited on Spark, subscribed to
    through segment references, and copied to a second broker; each time every single event is looked for. The exit
    code is 0 only if all of it was done and is as claimed.

    \b
    Examples:
      holdfast demo
      holdfast demo --quick
      holdfast demo --events 5000000 --dir /mnt/disk --report five-million.html
    """
    from holdfast.demo.plan import STEPS
    from holdfast.demo.stage import DemoWanted

    for package in ("confluent_kafka", "pyarrow"):  # Without Spark the steps that need it say so.
        if find_spec(package) is None:
            raise Rejected(f"the demo needs {package}: {how_to_get('demo')}")
    wanted = DemoWanted(events or (QUICK_EVENTS if quick else EVENTS), directory)
    code = carry_out(wanted, STEPS, report, as_json=as_json)
    if code:
        raise typer.Exit(code)


def carry_out(wanted: DemoWanted, steps: Sequence[Step], report: Path, *, as_json: bool = False) -> int:
    """Do the steps, show what happened, write the page; the exit code."""
    from holdfast.cli.demo.show import DemoShow, give_story
    from holdfast.demo.interrupt import Interrupt
    from holdfast.demo.page import page_of
    from holdfast.demo.story import tell as tell_story
    from holdfast.io.clock import SystemClock

    try:
        with Interrupt() as interrupt, DemoShow() as show:
            story = tell_story(wanted, show, steps, interrupt)
    except KeyboardInterrupt:
        tell("holdfast: interrupted; the brokers are stopped and their data is removed")
        return _INTERRUPTED
    now = datetime.fromtimestamp(SystemClock().now_ms() / 1000, UTC)
    report.write_text(page_of(story, f"{now:%Y-%m-%d %H:%M} UTC"), encoding="utf-8")
    if as_json:
        give_json(story.facts() | {"report": str(report)})
    else:
        give_story(story)
    told = "everything is as claimed" if story.holds else "NOT everything is as claimed, or could be shown"
    tell(f"{told}; {wanted.events:,} events in {story.seconds:.0f} s; report: {report.absolute()}")
    return 0 if story.holds else 1
