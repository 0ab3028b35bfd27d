"""A store that refuses to be asked by an event loop: one that hangs would stop everything that the loop serves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holdfast.io.calls import is_on_loop
from holdfast.io.objects import ObjectInfo, Objects, fill
from holdfast.types import Buffer


class AskedOnLoop(RuntimeError):
    """A mistake in our own code: the call belongs into `Calls.run`."""

    def __init__(self, action: str, name: str) -> None:
        super().__init__(f"the store was asked to {action} {name} by the event loop itself, which it could stop")


class OffLoopObjects:
    """Passes calls on to `inner`, unless an event loop runs in the thread that makes them."""

    def __init__(self, inner: Objects) -> None:
        self.url = inner.url
        self._inner = inner

    def put_if_absent(self, name: str, data: Sequence[Buffer]) -> None:
        self._of("put", name).put_if_absent(name, data)

    def put(self, name: str, data: Sequence[Buffer]) -> None:
        self._of("put", name).put(name, data)

    def get(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        return self._of("get", name).get(name, start, end)

    def get_into(self, name: str, start: int, into: memoryview) -> int:
        return fill(self._of("get", name), name, start, into)

    def list(self, prefix: str, after: str = "") -> Iterator[ObjectInfo]:
        return self._of("list", prefix).list(prefix, after)

    def delete(self, name: str) -> None:
        self._of("delete", name).delete(name)

    def size(self, name: str) -> int:
        return self._of("size", name).size(name)

    def _of(self, action: str, name: str) -> Objects:
        if is_on_loop():
            raise AskedOnLoop(action, name)
        return self._inner
