"""What one server sends: its lanes, references, rows and markers, put where they belong."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit
from uuid import UUID

import numpy as np

from holdfast.io.objects import Objects, StoreFailed
from holdfast.io.objects.names import CLUSTER
from holdfast.io.objects.open import open_objects
from holdfast.record.columnar.columns import Columns
from holdfast.segment.manifest.info import Aborted, SegmentInfo
from holdfast.subscribe.client.progress import LanePosition
from holdfast.subscribe.client.segment_pieces import JOB_SIZE, JOB_SIZE_MIN, SegmentSource
from holdfast.subscribe.client.segment_reader import SegmentLane
from holdfast.subscribe.client.unpacking import batch_piece, event_piece
from holdfast.subscribe.errors import PartitionMoved, ServerGone, StoreOutOfReach
from holdfast.subscribe.merge.merge import MergeLane, MergeState
from holdfast.subscribe.merge.piece import Piece, Position, Range
from holdfast.subscribe.wire.messages import positions_of
from holdfast.subscribe.wire.references import from_segment, to_aborted
from holdfast.subscribe.wire.request import SubscribeRequest
from holdfast.subscribe.wire.schema import subscribe_pb2 as wire
from holdfast.types import ClusterPartition, PartitionId

if TYPE_CHECKING:
    from holdfast.subscribe.client.session import SubscriptionSession

_PIECES_MAX = 64  # Messages of rows that wait for the merge.


class ServerFeed:
    """One server's stream."""

    def __init__(
        self,
        session: SubscriptionSession,
        source: str,
        address: str,
        asked: SubscribeRequest,
        routed: frozenset[ClusterPartition] = frozenset(),
        beside: int = 1,
    ) -> None:
        """`routed`: what a broker leads, as another one told; `beside`: how many of its cluster are asked."""
        self._routed = routed
        self._beside = beside
        self._session = session
        self._source = source
        self._address = address
        self._asked = asked
        self._numbers = np.empty(0, np.int32)  # Of our lanes, by the server's numbers.
        self._gate = session.merge.add(-1)  # Nothing goes out before every server has said what it has.
        self._merging: MergeLane | None = None
        self._referred: dict[int, tuple[list[SegmentInfo], list[Aborted]]] = {}
        self._readers: dict[int, tuple[MergeLane, int]] = {}  # Lanes whose segments are being read, up to where.
        self._held: dict[int, Position] = {}
        self._ends: list[int] = []
        self._store_url = ""
        self._cluster_id = ""
        self.is_opened = False
        self.is_live = False

    async def run(self) -> None:
        async with aclosing(self._session.means.connect(self._address, self._asked)) as stream:
            async for message in stream:
                kind = message.WhichOneof("kind")
                if kind is not None:  # A newer server may say what we do not know.
                    await getattr(self, f"_on_{kind}")(getattr(message, kind))
        if self._merging is None or self._merging.state is not MergeState.ENDED:
            raise ServerGone(self._address, "the stream ended early")

    # Lanes

    async def _on_opened(self, opened: wire.Opened) -> None:
        self._store_url, self._cluster_id = opened.store_url, opened.cluster_id
        if opened.routes:
            self._session.follow_routes(self._source, opened)
            self._session.pump.set_state(self._gate, MergeState.ENDED)
            self.is_opened = self.is_live = True
            return
        if self._routed:
            self._check_routed(opened)
        self._add_lanes(opened.lanes, opened.starts)
        if not self._session.asked.segment_refs:
            self._begin_merging()

    def _check_routed(self, opened: wire.Opened) -> None:
        """An address may be another server's by now."""
        keys = {ClusterPartition(opened.cluster_id, UUID(bytes=each.topic_id), each.partition) for each in opened.lanes}
        if keys != self._routed:
            raise ServerGone(self._address, "it has other partitions than it was asked for")

    async def _on_moved(self, moved: wire.Moved) -> None:
        lane = self._session.lanes.rows[self._numbers[moved.lane]]
        raise PartitionMoved(f"{lane.topic}-{lane.partition}")

    async def _on_rerouted(self, _: wire.Rerouted) -> None:
        raise PartitionMoved("some of what is followed")

    async def _on_added(self, added: wire.Added) -> None:
        self._add_lanes(added.lanes, added.starts)

    def _add_lanes(self, lanes: Any, starts: Any) -> None:
        session, source = self._session, self._source or self._cluster_id
        numbers = [
            session.lanes.add(
                LanePosition(source, each.topic, each.partition, UUID(bytes=each.topic_id), self._cluster_id)
            )
            for each in lanes
        ]
        first = len(self._numbers)
        self._numbers = np.concatenate((self._numbers, np.array(numbers, np.int32)))
        for number, position in positions_of(starts).items():
            assert number >= first
            session.begin(int(self._numbers[number]), position)
        session.rank()

    def _begin_merging(self) -> None:
        """The stream's own rows come behind those of all segments."""
        self._merging = self._session.merge.add(-1)
        self._session.pump.set_state(self._gate, MergeState.ENDED)
        self.is_opened = True

    # Segments

    async def _on_references(self, references: wire.References) -> None:
        segments, aborted = self._referred.setdefault(references.lane, ([], []))
        segments += [from_segment(each) for each in references.segments]
        aborted += [to_aborted(each) for each in references.aborted]

    async def _on_references_end(self, _: wire.ReferencesEnd) -> None:
        session = self._session
        objects = session.means.objects.get(self._source)
        if objects is None and self._referred:
            objects = await session.means.calls.run(self._open_objects)
        ahead_size = session.means.read_ahead_size // (self._beside * max(len(self._referred), 1))
        job_size = max(JOB_SIZE_MIN, min(JOB_SIZE, ahead_size // 2))
        until = self._asked.until_ms
        for lane, (segments, aborted) in self._referred.items():
            assert objects is not None
            number = int(self._numbers[lane])
            row, start = session.lanes.rows[number], session.starts[number]
            merging = session.merge.add(number, start.order_time)
            self._readers[number] = merging, segments[-1].end
            place = f"{row.topic}-{row.partition}"
            wanted = Range(number, start.offset, segments[-1].end, tuple(set(aborted)), session.asked.filter, place)
            home = PartitionId(row.topic_id, row.partition)
            source = SegmentSource(objects, home, wanted, self._note_skipped, job_size)
            reader = SegmentLane(source, session.pump, merging, session.means.calls, start, ahead_size, until)
            session.stats.segments += len(segments)
            session.crew.start(reader.follow(tuple(segments)))
        self._referred = {}
        self._begin_merging()
        session.pump.wake()

    def _open_objects(self) -> Objects:
        check_reachable(self._store_url)
        return open_objects(self._store_url)

    # Rows

    async def _on_event(self, event: wire.Event) -> None:
        await self._put(event_piece(event, self._numbers))

    async def _on_batch(self, batch: wire.EventBatch) -> None:
        await self._put(batch_piece(batch, self._numbers))

    async def _put(self, piece: Piece) -> None:
        assert self._merging is not None
        await self._session.pump.put(self._merging, piece, _PIECES_MAX)

    async def _on_marker(self, marker: wire.Marker) -> None:
        if marker.ends:
            self._ends = list(marker.ends)
        positions = positions_of(marker.positions)
        after = {int(self._numbers[lane]): position for lane, position in positions.items()}
        if after:
            assert self._merging is not None
            await self._session.pump.put(self._merging, moved_piece(after), _PIECES_MAX)
        self._session.note_lag()

    def hold_back(self, after: dict[int, Position], found: dict[int, Position]) -> dict[int, Position]:
        """Keep what concerns lanes whose segments are still being read; give back what was kept, once they are."""
        for number, (merging, end) in list(self._readers.items()):
            if _is_read(merging):
                del self._readers[number]
                if number in self._held:
                    held = self._held.pop(number)
                    found[number] = max(held, after.get(number, held))  # What was told last counts.
            elif number in after and after[number].offset > end:
                self._held[number] = after.pop(number)
        return after

    def has_settled(self) -> bool:
        """Whether something is held back for a lane whose segments are all read now."""
        return any(number in self._held and _is_read(merging) for number, (merging, _) in self._readers.items())

    async def _on_live(self, _: wire.Live) -> None:
        assert self._merging is not None
        self._session.pump.set_state(self._merging, MergeState.IDLE)
        self.is_live = True
        self._session.note_lag()

    async def _on_skipped(self, skipped: wire.Skipped) -> None:
        self._note_skipped(int(self._numbers[skipped.lane]), skipped.start, skipped.end)

    def _note_skipped(self, number: int, start: int, end: int) -> None:
        self._session.stats.skip(number, start, end)

    async def _on_gone(self, gone: wire.Gone) -> None:
        pass  # Nothing more of this lane comes; a pattern may match others.

    async def _on_ended(self, _: wire.Ended) -> None:
        assert self._merging is not None
        self._session.pump.set_state(self._merging, MergeState.ENDED)

    def lag_records(self) -> int:
        """How far the application is behind what this server last said it has."""
        return self._session.lag(self._numbers, self._ends)


def _is_read(merging: MergeLane) -> bool:
    return merging.state is MergeState.ENDED and not merging.pieces


def moved_piece(after: Mapping[int, Position]) -> Piece:
    """A piece without rows, which only says where lanes stand."""
    none, few = np.empty(0, np.int64), np.empty(0, np.int32)
    return Piece(Columns((), np.zeros(1, np.int64), none, none), none, few, none, few, few, after)


def check_reachable(url: str) -> None:
    """A local store of another machine cannot be read from here: better said now than found empty."""
    scheme, _, _ = url.partition("://")
    path = unquote(urlsplit(url).path)
    if scheme == "file" and not os.path.isdir(path):
        raise StoreOutOfReach(url)
    if scheme == "file" and not os.path.exists(os.path.join(path, CLUSTER)):  # A store that is referred to has one.
        raise StoreFailed("find", CLUSTER, f"{path} is no store now: is its file system mounted?")
