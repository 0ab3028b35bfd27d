"""What may happen to requests and writes in the model test, and how it is drawn."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import strategies as st

from holdfast.io.objects.faulty import Call, FailAfter, FailBefore, FailEarly, Fault


class Faults:
    """What happens to the next requests whose names start with a prefix."""

    def __init__(self, faults: list[Any], prefix: str = "") -> None:
        self._faults = faults
        self._left = list(faults)
        self._prefix = prefix

    def __call__(self, call: Call) -> Fault | None:
        return self._left.pop(0) if self._left and call.name.startswith(self._prefix) else None

    def __repr__(self) -> str:
        return f"Faults({self._faults}, {self._prefix!r})"


NO_FAULTS = Faults([])

one_fault = st.sampled_from([FailBefore(), FailAfter(), FailEarly()])
some_faults = st.one_of(
    st.just([]),
    st.lists(st.none() | one_fault, max_size=6),
    st.builds(lambda fault, count: [fault] * count, one_fault, st.integers(10, 16)),  # So many that writers give up.
)
faults = st.builds(Faults, some_faults, st.sampled_from(["", "manifests/", "segments/"]))


class SlowWriter:
    """Stands between the log and the loop: what is to be written waits until the machine says so."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: list[tuple[Any, ...]] = []
        self.call_soon_threadsafe = loop.call_soon_threadsafe

    def call_soon(self, *call: Any) -> None:
        self._waiting.append(call)

    def write(self) -> None:
        for call in self._waiting:
            self._loop.call_soon(*call)
        self._waiting = []
