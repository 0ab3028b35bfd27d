"""How the demo is seen: a bar for the step that runs, one line for each that ended, a table at the end."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from holdfast.cli.terminal.table import give_table
from holdfast.demo.outcome import DemoVerdict
from holdfast.demo.plan import Step
from holdfast.demo.story import Chapter, Story

_COLUMNS = {
    "step": "step",
    "events": "events",
    "rate": "events/s",
    "seconds": "seconds",
    "verdict": "verdict",
    "found": "found",
}


class DemoShow:
    """On stderr. Without a terminal there is no bar, and the lines say the same."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[count]}"))
        self._bar = Progress(
            *columns,
            TimeElapsedColumn(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task = self._bar.add_task("", total=None, count="")

    def begin(self, step: Step) -> None:
        self._bar.reset(self._task, total=None, description=step.name, count="")
        self.say(f"{step.name}: {step.does} …", indent="")

    def at(self, done: int, total: int) -> None:
        self._bar.update(self._task, completed=done, total=total, count=f"{done:,} of {total:,} events")

    def say(self, sentence: str, indent: str = "  ") -> None:
        self._console.print(indent + sentence, markup=False)

    def end(self, chapter: Chapter) -> None:
        outcome = chapter.outcome
        for claim in outcome.claims:
            self.say(f"{'yes' if claim.holds else 'NO'}: {claim.sentence} ({claim.found})")
        for name, value in outcome.facts.items():
            self.say(f"{name}: {value}")
        if chapter.verdict is not DemoVerdict.AS_CLAIMED:
            self.say(f"{chapter.step.name}: {chapter.verdict}{': ' if chapter.said else ''}{chapter.said}", indent="")

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()


def give_story(story: Story) -> None:
    """The table of what happened, on stdout."""
    rows = [
        {
            "step": each.step.name,
            "events": f"{each.outcome.events:,}" if each.outcome.events else "",
            "rate": f"{each.outcome.rate:,.0f}" if each.outcome.rate else "",
            "seconds": f"{each.seconds:.1f}",
            "verdict": str(each.verdict),
            "found": "; ".join(claim.found for claim in each.outcome.claims) or each.said,
        }
        for each in story.chapters
    ]
    give_table(rows, _COLUMNS, as_json=False)
