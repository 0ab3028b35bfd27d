"""A thread that carries the records of some lanes: fetch, mark, produce, again and again.

A lane belongs to one worker, and a worker has one request under way, so that the order of a partition is kept. Several
workers keep several partitions in flight.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Sequence

from holdfast.client import Client
from holdfast.client.errors import ProducerFenced
from holdfast.client.partition import Pair
from holdfast.errors import HoldfastError, Unavailable
from holdfast.sync.carry.lane import CopyLane
from holdfast.sync.carry.piece import SyncPiece
from holdfast.sync.errors import TakenOver
from holdfast.sync.sides import Side
from holdfast.sync.topics import NO_ID
from holdfast.types import TopicPartition

_FETCH_SIZE = 16 << 20  # Bytes of one fetch.
_PARTITION_FETCH_SIZE = 4 << 20
_FETCH_WAIT_MS = 200  # How long a stop waits at most.
_REQUEST_SIZE = 8 << 20  # Bytes of one produce request, about.
# Who comes back may have an older state: after a lost connection the direction looks at everything anew.
NO_PATIENCE_S = 0.0


class Worker(threading.Thread):
    """Runs until it is told to stop, or fails."""

    def __init__(self, source: Side, target: Side, lanes: Sequence[CopyLane], stop: threading.Event) -> None:
        super().__init__(name="holdfast-sync", daemon=True)
        self._sides = source, target
        self._lanes = {each.where: each for each in lanes}
        self._ids = {each.where.topic: each.target_id for each in lanes if each.target_id != NO_ID}
        self._stop_event = stop
        self.failure: BaseException | None = None

    def run(self) -> None:
        """Failures are kept for whoever started it."""
        try:
            with self._sides[0].client(NO_PATIENCE_S) as source, self._sides[1].client(NO_PATIENCE_S) as target:
                self._sides[0].check(source)
                self._sides[1].check(target)
                self._resume(source, target)
                self._settle(target)
                while not self._stop_event.is_set():
                    self._carry(source, target)
                    self._settle(target)
        except HoldfastError as failure:
            self.failure = failure
        except BaseException as failure:  # A bug: it must not end in a thread where nobody looks.
            self.failure = failure

    def _resume(self, source: Client, target: Client) -> None:
        for lane in self._lanes.values():
            if self._stop_event.is_set():
                return
            lane.resume(source, target)

    def _carry(self, source: Client, target: Client) -> None:
        wanted: dict[Pair, int] = {where: lane.point.position for where, lane in self._lanes.items()}
        fetched = source.fetch(
            wanted, max_bytes=_FETCH_SIZE, partition_max_bytes=_PARTITION_FETCH_SIZE, max_wait_ms=_FETCH_WAIT_MS
        )
        if not any(each.error or len(each.records) for each in fetched.values()):
            for where, each in fetched.items():
                self._lanes[where].drained(each.last_stable_offset)
            return
        self._check_topics(source)
        self._send({where: self._lanes[where].pieces(each, source) for where, each in fetched.items()}, target)

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
        self._send({where: each.again(target) for where, each in self._lanes.items() if each.winners}, target)

    def _send(self, flows: dict[TopicPartition, Generator[SyncPiece, None, None]], target: Client) -> None:
        """Batches of all lanes, one of each in a request; a lane's next one only when its last one is written."""
        try:
            while request := _next_request(flows):
                written = self._produce(target, request)
                for where, piece in request.items():
                    self._lanes[where].wrote(piece, written[where])
        finally:
            for flow in flows.values():
                flow.close()

    def _produce(self, target: Client, request: dict[TopicPartition, SyncPiece]) -> dict[TopicPartition, int]:
        try:
            return target.produce({where: piece.batch for where, piece in request.items()}, ids=self._ids)
        except ProducerFenced as failure:
            topics = {where.topic for where in request}
            raise TakenOver(min(topics), *(each.cluster_id for each in self._sides)) from failure


def _next_request(flows: dict[TopicPartition, Generator[SyncPiece, None, None]]) -> dict[TopicPartition, SyncPiece]:
    request: dict[TopicPartition, SyncPiece] = {}
    size = 0
    for where, flow in list(flows.items()):
        if size >= _REQUEST_SIZE:
            break
        piece = next(flow, None)
        if piece is None:
            del flows[where]
            continue
        request[where] = piece
        size += len(piece.batch)
    return request
