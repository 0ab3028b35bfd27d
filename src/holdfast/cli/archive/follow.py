"""`holdfast archive --follow`: steps until somebody says that it is enough."""

from __future__ import annotations

from pathlib import Path

from holdfast.cli.archive.show import keep_archived, show_step, sum_of
from holdfast.cli.job.errors import in_one_sentence
from holdfast.cli.terminal.stopping import Stopping
from holdfast.cli.terminal.talk import tell
from holdfast.errors import HoldfastError, Rejected
from holdfast.io.clock import SystemClock
from holdfast.spark.jobs.archive.follow import Follower, is_passing
from holdfast.spark.jobs.commit_log import Overtaken
from holdfast.units import parse_time

EVERY = "10s"


def every_s(given: str | None, plot: Path | None, *, follow: bool) -> float:
    """Seconds between two looks, as somebody has written them."""
    if not follow and given is not None:
        raise Rejected("--every is for --follow: give both, or none")
    if follow and plot is not None:
        raise Rejected("--plot is drawn at the end of a run, and --follow has none: leave one of them out")
    text = given or EVERY
    try:
        found_ms = parse_time(f"{text}s" if text.isdecimal() else text)
    except ValueError:
        found_ms = 0
    if found_ms <= 0:
        raise Rejected(f"--every {given} is no time: write 10s, 500ms or 5m")
    return found_ms / 1000


def keep_following(follower: Follower, place: str, pause_s: float, *, as_json: bool, report: bool) -> None:
    """Step after step. What may pass is said once and waited for; of two that write one target each looks again."""
    stopping, clock = Stopping(), SystemClock()
    is_waiting = is_over = False
    while not is_over:
        stopping.listen()
        next_s = clock.monotonic() + pause_s
        try:
            with in_one_sentence():
                step = follower.round()
        except Overtaken:
            next_s = 0
        except HoldfastError as failure:
            if report and not is_waiting:
                keep_archived(follower.catalog, place, str(failure), None)
            if not is_passing(failure):
                raise
            if not is_waiting:
                tell(f"holdfast: {failure}; it is tried again until it goes")
            is_waiting = True
        else:
            if is_waiting:
                tell(f"holdfast: {place}: it goes again")
            is_waiting = False
            if step is not None:
                if report:
                    keep_archived(follower.catalog, place, sum_of(step.done, step.seconds), step.done)
                show_step(step, place, as_json=as_json)
        is_over = stopping.wait(next_s - clock.monotonic())
    follower.close()
