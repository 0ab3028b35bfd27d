"""The steps carried out one after the other, and what came of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from holdfast.demo.interrupt import Interrupt
from holdfast.demo.outcome import DemoVerdict, NotThere, Outcome
from holdfast.demo.plan import STEPS, Step
from holdfast.demo.stage import DemoWanted, Stage, staged
from holdfast.demo.watch import Watch
from holdfast.io.clock import Clock, SystemClock


@dataclass(frozen=True, slots=True)
class Chapter:
    """One step, and how it ended."""

    step: Step
    verdict: DemoVerdict
    outcome: Outcome
    seconds: float
    said: str = ""  # Why it is not done, or has failed.

    def facts(self) -> dict[str, Any]:
        return {
            "step": self.step.name,
            "verdict": str(self.verdict),
            "events": self.outcome.events,
            "events_per_second": round(self.outcome.rate),
            "seconds": round(self.seconds, 3),
            "claims": [{"claim": c.sentence, "holds": c.holds, "found": c.found} for c in self.outcome.claims],
            "facts": dict(self.outcome.facts),
            "said": self.said,
        }


@dataclass(slots=True)
class Story:
    """Everything that happened, for the table and the page."""

    events: int
    chapters: list[Chapter] = field(default_factory=list)
    timeline: list[tuple[float, int]] = field(default_factory=list)
    moments: list[tuple[float, str]] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def holds(self) -> bool:
        """Everything was done, and all of it is as claimed."""
        return bool(self.chapters) and all(each.verdict is DemoVerdict.AS_CLAIMED for each in self.chapters)

    def facts(self) -> dict[str, Any]:
        steps = [each.facts() for each in self.chapters]
        return {"events": self.events, "as_claimed": self.holds, "seconds": round(self.seconds, 3), "steps": steps}


class Show(Watch, Protocol):
    """Who looks on, also at where a step begins and ends."""

    def begin(self, step: Step) -> None: ...

    def end(self, chapter: Chapter) -> None: ...


def tell(
    wanted: DemoWanted,
    show: Show,
    steps: Sequence[Step] = STEPS,
    interrupt: Interrupt | None = None,
    clock: Clock | None = None,
) -> Story:
    """Carry out the steps. After one that has failed the rest is not done; what a machine lacks is passed over."""
    clock = clock or SystemClock()
    story = Story(wanted.events)
    began = clock.monotonic()
    with staged(wanted, show, interrupt, clock) as stage:
        for chapter in _chapters(stage, steps, show, clock):
            story.chapters.append(chapter)
            show.end(chapter)
        story.timeline, story.moments = stage.timeline, stage.moments
    story.seconds = clock.monotonic() - began
    return story


def _chapters(stage: Stage, steps: Sequence[Step], show: Show, clock: Clock) -> Iterator[Chapter]:
    failed = ""
    for step in steps:
        if failed:
            yield Chapter(step, DemoVerdict.NOT_DONE, Outcome(()), 0.0, f"because of {failed}")
            continue
        show.begin(step)
        began = clock.monotonic()
        verdict, outcome, said = _carry_out(step, stage)
        yield Chapter(step, verdict, outcome, clock.monotonic() - began, said)
        if verdict in (DemoVerdict.FAILED, DemoVerdict.NOT_AS_CLAIMED):
            failed = step.name


def _carry_out(step: Step, stage: Stage) -> tuple[DemoVerdict, Outcome, str]:
    try:
        outcome = step.run(stage)
    except NotThere as failure:
        return DemoVerdict.NOT_DONE, Outcome(()), str(failure)
    except Exception as failure:  # Of clients and libraries, too: whatever it is, the claim was not shown.
        return DemoVerdict.FAILED, Outcome(()), f"{type(failure).__name__}: {failure}"
    holds = bool(outcome.claims) and all(each.holds for each in outcome.claims)
    return DemoVerdict.AS_CLAIMED if holds else DemoVerdict.NOT_AS_CLAIMED, outcome, ""
