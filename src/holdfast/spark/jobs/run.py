"""Tasks on executors: every task is one call of one function, and what comes back is small.

What goes wrong in a task comes back as a value, with the place where it happened, and is raised here as one sentence.
Only `Unavailable` is left to Spark, which tries a task again where its master is set up to.
"""

from __future__ import annotations

import re
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from holdfast.errors import HoldfastError, Unavailable
from holdfast.spark.session.small import SmallFirst

T = TypeVar("T")
R = TypeVar("R")

_POLL_S = 0.2
_LAST_ERROR = re.compile(r"^(?:[A-Za-z_][\w.]*\.)?(?P<kind>[A-Z]\w+): (?P<what>.+)$", re.MULTILINE)


class Done(NamedTuple):
    """How far a job is."""

    tasks: int = 0
    segments: int = 0
    bytes: int = 0


@dataclass(frozen=True)
class Unit(Generic[T]):
    """One task, and how much of the whole it is."""

    task: T
    segments: int
    bytes: int


class JobFailed(HoldfastError):
    """A task failed: the sentence is that of its error."""

    def __init__(self, kind: str, what: str, trace: str) -> None:
        super().__init__(what)
        self.kind = kind
        self.add_note(trace)  # Shown with --debug only.


@dataclass(frozen=True)
class _Failed:
    kind: str
    what: str
    trace: str


OnDone = Callable[[Done, Done], None]  # What is done, and all that there is to do.


def run_units(session: Any, units: Sequence[Unit[T]], work: Callable[[T], R], on_done: OnDone | None = None) -> list[R]:
    """The results of all tasks, in the order of the tasks."""
    if not units:
        return []
    if isinstance(session, SmallFirst):
        session = session.session_for(sum(each.bytes for each in units))
        if session is None:
            return _run_here(units, work, on_done)
    context = session.sparkContext
    counter = context.accumulator((0, 0, 0), _sum_param())
    total = Done(len(units), sum(each.segments for each in units), sum(each.bytes for each in units))

    def run_partition(some: Iterable[Unit[T]]) -> Iterator[R | _Failed]:
        for unit in some:
            yield _guarded(work, unit.task)
            counter.add((1, unit.segments, unit.bytes))

    with _watching(lambda: Done(*counter.value), total, on_done):
        try:
            results = context.parallelize(units, len(units)).mapPartitions(run_partition).collect()
        except Exception as failure:
            raise _explain(failure) from failure
    for each in results:
        if isinstance(each, _Failed):
            raise JobFailed(each.kind, each.what, each.trace)
    return results  # type: ignore[no-any-return]


def parallelism_of(session: Any) -> int:
    """How many tasks run at the same time."""
    return session.parallelism if isinstance(session, SmallFirst) else int(session.sparkContext.defaultParallelism)


def _run_here(units: Sequence[Unit[T]], work: Callable[[T], R], on_done: OnDone | None) -> list[R]:
    """One after the other, in this process: an error is raised as it is."""
    done, results = Done(), []
    total = Done(len(units), sum(each.segments for each in units), sum(each.bytes for each in units))
    if on_done is not None:
        on_done(done, total)
    for unit in units:
        results.append(work(unit.task))
        done = Done(done.tasks + 1, done.segments + unit.segments, done.bytes + unit.bytes)
        if on_done is not None:
            on_done(done, total)
    return results


def _guarded(work: Callable[[T], R], task: T) -> R | _Failed:
    try:
        return work(task)
    except Unavailable:
        raise
    except Exception as failure:
        return _Failed(type(failure).__name__, _sentence(failure), traceback.format_exc())


def _sentence(failure: Exception) -> str:
    return str(failure) if isinstance(failure, HoldfastError) else f"{type(failure).__name__}: {failure}"


def _explain(failure: Exception) -> Exception:
    """The last error of an executor's stack trace, in one sentence; Spark's own first line if there is none."""
    if isinstance(failure, HoldfastError):
        return failure
    text = str(failure)
    found = [each for each in _LAST_ERROR.finditer(text) if "Job aborted" not in each["what"]]
    ours = [each for each in found if each[0].startswith("holdfast.")]
    if ours or found:
        last = (ours or found)[-1]
        return JobFailed(last["kind"], last["what"], text)
    return JobFailed(type(failure).__name__, f"Spark failed: {(text.strip().splitlines() or [''])[0]}", text)


class _watching:  # noqa: N801
    """Tells now and then how far a job is, from a thread of its own, and at the end for the last time."""

    def __init__(self, look: Callable[[], Done], total: Done, tell: OnDone | None) -> None:
        self._look, self._total, self._tell = look, total, tell
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        assert self._tell is not None
        while not self._over.wait(_POLL_S):
            self._tell(self._look(), self._total)

    def __enter__(self) -> None:
        if self._tell is not None:
            self._thread.start()

    def __exit__(self, *_: object) -> None:
        if self._tell is not None:
            self._over.set()
            self._thread.join()
            self._tell(self._look(), self._total)


def _sum_param() -> Any:
    from pyspark.accumulators import AccumulatorParam

    class Sums(AccumulatorParam[tuple[int, ...]]):
        def zero(self, value: tuple[int, ...]) -> tuple[int, ...]:
            return tuple(0 for _ in value)

        def addInPlace(self, value1: tuple[int, ...], value2: tuple[int, ...]) -> tuple[int, ...]:  # noqa: N802
            return tuple(a + b for a, b in zip(value1, value2, strict=True))

    return Sums()
