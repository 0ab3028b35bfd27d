"""A copy of the cluster's metadata in the data directory, for a start while the store is away.

It is never the truth when the store answers, and nothing is decided by it: clients are told from it which topics there
are, so that they wait instead of giving up. One file, replaced whole, durable before it has its name:

    metadata.json    an envelope of kind `metadatacopy`: {"cluster":…,"version":…,"full":{as in meta/}}

A copy that is damaged, of a newer format or too large is none.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from holdfast.cluster.level import FIRST, LEVEL
from holdfast.cluster.metadata import Metadata
from holdfast.errors import HoldfastError
from holdfast.io.calls import BlockingCalls
from holdfast.io.disk import Directory
from holdfast.io.disk.whole import write_whole
from holdfast.io.envelope import seal, unseal

log = logging.getLogger(__name__)

NAME = "metadata.json"
KIND = "metadatacopy"
FORMAT = 1  # Each level above the first adds one.
SIZE_MAX = 64 << 20  # Bytes; some hundred thousand topics.


def read_copy(directory: Directory) -> Metadata | None:
    """What was copied last, or None."""
    try:
        file = directory.open(NAME, write=False)
        try:
            body = unseal(NAME, KIND, FORMAT + LEVEL - FIRST, file.read_at(0, min(file.size(), SIZE_MAX + 1)))
        finally:
            file.close()
        return Metadata.from_body(body["cluster"], body["version"], body["full"])
    except FileNotFoundError:
        return None
    except (HoldfastError, OSError, LookupError, TypeError, ValueError) as failure:
        log.warning("%s in %s is not used: %s", NAME, directory.path, failure)
        return None


def write_copy(directory: Directory, metadata: Metadata) -> None:
    """Put a copy in the place of the one before."""
    body = {"cluster": metadata.cluster_id, "version": metadata.version, "full": metadata.to_body()}
    data = seal(KIND, FORMAT + metadata.level - FIRST, body)
    if len(data) > SIZE_MAX:
        raise ValueError(f"it would have {len(data)} bytes, and {SIZE_MAX} are allowed")
    write_whole(directory, NAME, data)


class MetadataCopy:
    """Keeps the copy in step. Belongs to one event loop; changes that come while one is written are written next."""

    def __init__(self, directory: Directory, calls: BlockingCalls, current: Callable[[], Metadata]) -> None:
        self._directory = directory
        self._calls = calls
        self._current = current
        self._is_due = False
        self._task: asyncio.Task[None] | None = None

    def note(self) -> None:
        """Something has changed."""
        self._is_due = True
        if self._task is None or self._task.done():
            self._task = asyncio.ensure_future(self._save())

    async def close(self) -> None:
        if self._task is not None:
            await self._task

    async def _save(self) -> None:
        while self._is_due:
            self._is_due = False
            try:
                await self._calls.local(write_copy, self._directory, self._current())
            except (OSError, ValueError) as failure:  # A full disk, mostly. The copy before is as good as it was.
                log.warning("%s in %s is not up to date: %s", NAME, self._directory.path, failure)
