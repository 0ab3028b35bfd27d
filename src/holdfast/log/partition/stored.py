"""A partition that another broker leads, as the store has it: what is flushed can be read by anybody.

Its end is `flushed` of the manifest that was loaded last, and for committed reads the last stable offset of that
manifest: below it every transaction has its marker in a segment, so the manifest names all that were aborted.
"""

from __future__ import annotations

import asyncio

from holdfast.log.context import LogContext
from holdfast.log.partition.marks import Marks
from holdfast.log.partition.read import ColdReading, Read
from holdfast.segment.manifest.info import Aborted
from holdfast.segment.manifest.log import ManifestLog
from holdfast.segment.manifest.manifest import Manifest
from holdfast.types import Offset, PartitionId


class StoredPartition:
    """Nothing is loaded before it is looked at. Belongs to one event loop. Made by `Logs`."""

    is_alive = True  # What ends it is that nobody asks for it.

    def __init__(self, ground: LogContext, home: PartitionId) -> None:
        self.ground = ground
        self.home = home
        self._manifests: ManifestLog | None = None
        self._seen_at = 0.0
        self._looking = asyncio.Lock()
        self._reads = ColdReading(self, self._refresh)

    async def look(self, age_s_max: float) -> None:
        """Load the manifest, unless what is known of it is no older than this. Raises NoManifest, or Unavailable."""
        async with self._looking:  # One request for all who wait.
            now = self.ground.clock.monotonic()
            if self._manifests is None:
                self._manifests = await self.ground.open_manifests(self.home, create=False)
            elif now - self._seen_at >= age_s_max:
                await self.ground.calls.run(self._manifests.refresh)
            else:
                return
            self._seen_at = now
            if self.ground.damage.count_of(self.home.path):
                self.ground.damage.keep_only(self.home.path, [each.name for each in self.manifest.segments])

    async def _refresh(self) -> Manifest:
        await self.look(0.0)
        return self.manifest

    @property
    def manifest(self) -> Manifest:
        """As it was loaded last."""
        assert self._manifests is not None, "it was not looked at"
        return self._manifests.manifest

    @property
    def marks(self) -> Marks:
        """There is nothing above `flushed` here."""
        manifest = self.manifest
        return Marks(manifest.log_start, *[manifest.flushed] * 4)

    @property
    def last_stable(self) -> Offset:
        return self.manifest.last_stable

    def end(self, *, committed: bool) -> Offset:
        """From here on only the leader knows."""
        return self.manifest.last_stable if committed else self.manifest.flushed

    def aborted(self, start: int, end: int) -> list[Aborted]:
        """The aborted transactions with an offset in `[start, end)`."""
        return self.manifest.segments.aborted(start, end)

    def check_alive(self) -> None:
        pass

    async def read(
        self, offset: int, max_records: int | None, max_bytes: int, *, committed: bool = False, in_pieces: bool = False
    ) -> Read:
        """Batches from `offset` on, as their leader reads them."""
        return await self._reads.read(offset, max_records, max_bytes, committed=committed, in_pieces=in_pieces)

    def forget(self) -> None:
        """What was known of its damage is for others to tell."""
        self.ground.damage.keep_only(self.home.path, ())
