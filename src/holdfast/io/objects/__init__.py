"""An object store with put-if-absent: the interface.

Objects never change once they are there, except the few that are written with `put`. A put that returned is durable.
All calls block and may be made from any thread. Failures are `Unavailable` (or the errors below), never an empty
answer.

Implementations: `LocalObjects` (a directory), `RemoteObjects` (S3, GCS, Azure), `MemoryObjects` (the model, for tests);
`open_objects` finds the right one for a URL. `CountingObjects` and `FaultyObjects` wrap any of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from holdfast.errors import Rejected, Unavailable
from holdfast.types import Buffer


class Exists(Rejected):
    """An object of that name is there already."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is there already")
        self.name = name


class NotFound(Rejected):
    """There is no object of that name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is not in the store")
        self.name = name


class StoreFailed(Unavailable):
    """The store did not answer, or answered with an error: whether the call took effect is not known."""

    def __init__(self, action: str, name: str, cause: object) -> None:
        super().__init__(f"the store failed to {action} {name}: {cause}")
        self.action = action
        self.name = name
        self.cause = cause


class StoreTimedOut(StoreFailed):
    """The store did not answer in time: with less to carry it may."""


class ObjectInfo(NamedTuple):
    """What a listing tells about one object."""

    name: str
    size: int
    modified_ms: int  # Milliseconds since 1970, by the store's clock.


class Objects(Protocol):
    """An object store. Names are paths with `/`, without a leading one; `object_names` says which are legal.

    No name may be the folder of another: with an object `a` there is no `a/b`. A listing shows every object that was
    there from its start to its end, once; those put or deleted meanwhile may or may not be in it.
    """

    url: str  # How people and other processes name this store: file:///… , s3://bucket/prefix, memory://…

    def put_if_absent(self, name: str, data: Sequence[Buffer]) -> None:
        """Store the buffers as one object, or raise Exists. Of several writers exactly one succeeds."""

    def put(self, name: str, data: Sequence[Buffer]) -> None:
        """Store the buffers as one object, replacing what is there."""

    def get(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        """The bytes `[start, end)` of an object, all of them, or NotFound; past its end there are none."""

    def list(self, prefix: str, after: str = "") -> Iterator[ObjectInfo]:
        """The objects whose name starts with `prefix` and is greater than `after`, in the order of names."""

    def delete(self, name: str) -> None:
        """Remove an object; one that is not there is no error."""

    def size(self, name: str) -> int:
        """An object's size in bytes, or NotFound."""


@runtime_checkable
class FillsBuffers(Protocol):
    """A store that can also read into its caller's memory: for large pieces new memory costs as much as the read."""

    def get_into(self, name: str, start: int, into: memoryview) -> int:
        """Fill `into` with the bytes of an object from `start` on; how many there were."""


def fill(objects: Objects, name: str, start: int, into: memoryview) -> int:
    """The same with any store."""
    if isinstance(objects, FillsBuffers):
        return objects.get_into(name, start, into)
    data = objects.get(name, start, start + len(into))
    into[: len(data)] = data
    return len(data)
