"""A thread that carries the records of some lanes: fetch, mark, produce, again and again.

A lane belongs to one worker, and a worker has one request under way, so that the order of a partition is kept. Several
workers keep several partitions in flight. Of a thousand lanes only those cost something that move.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from uuid import UUID

from holdfast.client import Client
from holdfast.client.errors import ProducerFenced, Refused
from holdfast.client.fetch_session import FetchSession
from holdfast.client.fetching import FetchLimits
from holdfast.client.partition import Pair
from holdfast.client.producing import Batches
from holdfast.errors import HoldfastError, Unavailable
from holdfast.protocol.codes import Code
from holdfast.sync.carry.aside import set_aside
from holdfast.sync.carry.lane import CopyLane
from holdfast.sync.carry.piece import Pieces, SyncPiece
from holdfast.sync.errors import RecordRefused, RecordTooLarge, TakenOver
from holdfast.sync.settings import SyncSettings
from holdfast.sync.sides import Side
from holdfast.sync.topics import NO_ID, batch_size_max
from holdfast.types import TopicPartition

# The wait of a fetch is how long a stop waits at most.
_LIMITS = FetchLimits(max_bytes=16 << 20, partition_max_bytes=4 << 20, max_wait_ms=200)
_REQUEST_SIZE = 8 << 20  # Bytes of one produce request, about.
# Who comes back may have an older state: after a lost connection the direction looks at everything anew.
NO_PATIENCE_S = 0.0
# What a broker says of records, rather than of the topic or of who asks.
_OF_RECORDS = (
    Code.MESSAGE_TOO_LARGE,
    Code.INVALID_TIMESTAMP,
    Code.INVALID_RECORD,
    Code.UNSUPPORTED_COMPRESSION_TYPE,
    Code.POLICY_VIOLATION,
)


class Worker(threading.Thread):
    """Runs until it is told to stop, or fails."""

    def __init__(
        self, source: Side, target: Side, lanes: Sequence[CopyLane], stop: threading.Event, settings: SyncSettings
    ) -> None:
        super().__init__(name="holdfast-sync", daemon=True)
        self._sides = source, target
        self._lanes = {each.where: each for each in lanes}
        self._ids = {each.where.topic: each.target_id for each in lanes if each.target_id != NO_ID}
        self._stable: dict[TopicPartition, int] = {}  # Up to where committed records may be read.
        self._stop_event = stop
        self._settings = settings
        self._clock = source.clock
        self._look_at = 0.0  # When held lanes are looked at again.
        self.failure: BaseException | None = None

    def run(self) -> None:
        """Failures are kept for whoever started it."""
        try:
            with self._sides[0].client(NO_PATIENCE_S) as source, self._sides[1].client(NO_PATIENCE_S) as target:
                self._sides[0].check(source)
                self._sides[1].check(target)
                self._resume(source, target)
                self._settle(target)
                reading = source.fetch_session(self._homes(), _LIMITS)
                while not self._stop_event.is_set():
                    self._carry(reading, source, target)
                    self._settle(target)
                    self._look_at_held(source, target)
        except HoldfastError as failure:
            self.failure = failure
        except BaseException as failure:  # A bug: it must not end in a thread where nobody looks.
            self.failure = failure

    def _homes(self) -> dict[str, UUID]:
        return {where.topic: each.home.topic_id for where, each in self._lanes.items() if each.home.topic_id != NO_ID}

    def _resume(self, source: Client, target: Client) -> None:
        for lane in self._lanes.values():
            if self._stop_event.is_set():
                return
            lane.resume(source, target)

    def _carry(self, reading: FetchSession, source: Client, target: Client) -> None:
        wanted: dict[Pair, int] = {
            where: lane.point.position for where, lane in self._lanes.items() if lane.held is None
        }
        if not wanted:
            self._stop_event.wait(_LIMITS.max_wait_ms / 1000)
            return
        fetched = reading.fetch(wanted)
        self._stable |= {where: each.last_stable_offset for where, each in fetched.items()}
        news = {where: each for where, each in fetched.items() if each.error or len(each.records)}
        if not news:
            self._drained(wanted)
            return
        if not reading.by_id:
            self._check_topics(source)
        self._send({where: self._lanes[where].pieces(each, source) for where, each in news.items()}, target)

    def _drained(self, wanted: Iterable[Pair]) -> None:
        for pair in wanted:
            where = TopicPartition(*pair)
            if where in self._stable:
                self._lanes[where].drained(self._stable[where])

    def _check_topics(self, source: Client) -> None:
        """Whether what was just fetched by name is of the topics that are meant: an id never comes back."""
        topics = {where.topic: lane.home.topic_id for where, lane in self._lanes.items()}
        found = source.metadata(topics).topics
        for name, id_ in topics.items():
            if (found[name].id or NO_ID) != id_:
                where = f"topic {name} at {self._sides[0].address}"
                raise Unavailable(f"{where} was deleted, or made again: the copy begins anew")

    def _settle(self, target: Client) -> None:
        """Where the last writer wins, see to it that it does."""
        deciding = {where: each for where, each in self._lanes.items() if each.winners and each.held is None}
        self._send({where: each.again(target) for where, each in deciding.items()}, target)

    def _look_at_held(self, source: Client, target: Client) -> None:
        """Now and then: whether the target takes by now what it did not take."""
        held = [each for each in self._lanes.values() if each.held is not None]
        if not held or self._clock.monotonic() < self._look_at:
            return
        self._look_at = self._clock.monotonic() + self._settings.refresh_s
        sizes = {topic: batch_size_max(target, topic) for topic in {each.where.topic for each in held}}
        for lane in held:
            lane.batch_size_max = sizes[lane.where.topic]
            if not isinstance(lane.held, RecordTooLarge) or lane.held.size <= lane.batch_size_max:
                lane.release(source, target)
        self._settle(target)

    def _send(self, flows: dict[TopicPartition, Pieces], target: Client) -> None:
        """Batches of all lanes, one of each in a request; a lane's next one only when its last one is written."""
        refused: dict[TopicPartition, Refused] = {}
        try:
            while request := self._next_request(flows, refused, target):
                written = self._produce(target, request, refused)
                for where, piece in request.items():
                    if where in written:
                        self._lanes[where].wrote(piece, written[where])
        finally:
            for flow in flows.values():
                flow.close()

    def _next_request(
        self, flows: dict[TopicPartition, Pieces], refused: dict[TopicPartition, Refused], target: Client
    ) -> dict[TopicPartition, SyncPiece]:
        request: dict[TopicPartition, SyncPiece] = {}
        size = 0
        for where, flow in list(flows.items()):
            if size >= _REQUEST_SIZE:
                break
            piece = self._next(self._lanes[where], flow, refused.pop(where, None), target)
            if piece is None:
                del flows[where]
                continue
            request[where] = piece
            size += len(piece.batch)
        return request

    def _next(self, lane: CopyLane, flow: Pieces, answer: Refused | None, target: Client) -> SyncPiece | None:
        """A lane's next batch, after it has heard what became of its last one; None at the end, and in a hold."""
        try:
            piece = flow.send(answer)
            while piece.refused is not None:
                assert self._settings.aside is not None
                set_aside(lane, piece, self._settings.aside, target)
                piece = flow.send(None)
        except StopIteration:
            return None
        except RecordRefused as why:
            lane.hold(why)
            self._look_at = self._clock.monotonic() + self._settings.refresh_s
            return None
        return piece

    def _produce(
        self, target: Client, request: dict[TopicPartition, SyncPiece], refused: dict[TopicPartition, Refused]
    ) -> dict[TopicPartition, int]:
        batches: dict[Pair, Batches] = {where: piece.batch for where, piece in request.items()}
        try:
            written = target.produce(batches, ids=self._ids, refused=refused)
        except ProducerFenced as failure:
            topics = {where.topic for where in request}
            raise TakenOver(min(topics), *(each.cluster_id for each in self._sides)) from failure
        for where, why in refused.items():
            if why.code not in _OF_RECORDS:
                raise why
            if why.code == Code.MESSAGE_TOO_LARGE:
                self._lanes[where].batch_size_max = batch_size_max(target, where.topic)
        return written
