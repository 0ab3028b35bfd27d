"""Jobs in tests that are not alone: something else happens while a session, a target or a store of theirs is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from holdfast.catalog.store import Store
from holdfast.io.objects import Objects
from holdfast.io.objects.faulty import FaultyObjects, Plan


class DisturbedSession:
    """A Spark session, and what happens just before its context is asked for the nth time."""

    def __init__(self, session: Any, meanwhile: Callable[[], object], at: int = 0) -> None:
        self._session, self._meanwhile, self._left = session, meanwhile, at

    @property
    def sparkContext(self) -> Any:  # noqa: N802
        if self._left == 0:
            self._meanwhile()
        self._left -= 1
        return self._session.sparkContext


class DisturbedTarget:
    """A target of an archive, some of whose steps are the test's own."""

    def __init__(self, target: Any, **steps: Callable[..., Any]) -> None:
        self._target, self._steps = target, steps

    def __getattr__(self, name: str) -> Any:
        return self._steps.get(name) or getattr(self._target, name)


@dataclass(frozen=True)
class DisturbedStore(Store):
    """A store whose calls on the driver go by a plan; executors get the plain one."""

    plan: Plan = field(default=lambda _: None, compare=False)

    def open(self) -> Objects:
        return FaultyObjects(super().open(), self.plan)

    def __reduce__(self) -> Any:
        return Store, (self.url, self.options)


def disturb(store: Store, plan: Plan) -> Store:
    """The same store, with a plan."""
    return DisturbedStore(store.url, store.options, plan)
