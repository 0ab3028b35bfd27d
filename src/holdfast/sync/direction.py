"""One way of a sync: plans, lets workers carry, saves checkpoints, and begins again after a failure that may pass.

Every start is the same, the first and the one after a failure: fence, find what is applied, go on behind it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias
from uuid import UUID

from holdfast.client import Client, TopicInfo
from holdfast.client.errors import Refused, TopicNotFound
from holdfast.errors import HoldfastError, Unavailable
from holdfast.protocol.codes import Code
from holdfast.sync.carry.lane import CopyLane
from holdfast.sync.carry.worker import Worker
from holdfast.sync.configs import SeenConfigs
from holdfast.sync.goals import Goals
from holdfast.sync.groups import Groups
from holdfast.sync.progress import SyncCounts, SyncLook, Troubles, look_at
from holdfast.sync.settings import SyncSettings
from holdfast.sync.sides import Side
from holdfast.sync.state.checkpoint import Saved
from holdfast.sync.state.saving import Saver
from holdfast.sync.takeover import make_lanes
from holdfast.sync.topics import NO_ID, compacted_topics, list_topics, plan
from holdfast.types import ClusterPartition

log = logging.getLogger(__name__)

Faces: TypeAlias = dict[str, tuple[UUID | None, int, UUID | None]]  # What may change of topics, by name.

_DELETED = (Code.UNKNOWN_TOPIC_OR_PARTITION, Code.UNKNOWN_TOPIC_ID)
_TICK_S = 0.05
_PAUSE_S_FIRST, _PAUSE_S_MAX = 0.1, 5.0


@dataclass
class Attempt:
    """What runs between two failures."""

    lanes: list[CopyLane]
    faces: Faces
    workers: list[Worker] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)

    @property
    def position(self) -> int:
        """How far all lanes are together: it moves when any of them does."""
        return sum(each.point.position for each in self.lanes)

    def is_broken(self) -> bool:
        return any(each.failure is not None for each in self.workers)

    def end(self) -> None:
        """Stop the workers; what they failed with is raised by `check`."""
        self.stop.set()
        for each in self.workers:
            if each.ident is not None:
                each.join()

    def check(self) -> None:
        """Raise what the workers failed with, first what no waiting repairs."""
        failures = [each.failure for each in self.workers if each.failure is not None]
        for each in sorted(failures, key=_may_pass):
            raise each


def _may_pass(failure: BaseException) -> bool:
    """Whether beginning again can help."""
    if isinstance(failure, Refused):
        return failure.code in _DELETED  # The next plan does without, or makes it again.
    return isinstance(failure, Unavailable | TopicNotFound)


class Direction:
    """Copies from one cluster to another until it is stopped or, with `once`, caught up."""

    def __init__(
        self, source: Side, target: Side, settings: SyncSettings, stop: threading.Event, seen: SeenConfigs
    ) -> None:
        self.source, self.target = source, target
        self._settings = settings
        self._clock = source.clock
        self._stop = stop
        self._saver = Saver(settings.save_interval_s, self._clock)
        self._groups = Groups(both=settings.both)
        self._seen = seen
        self._known: dict[ClusterPartition, Saved] = {}  # Where lanes stood when the last attempt ended.
        self._counts: dict[ClusterPartition, SyncCounts] = {}
        self._goals = Goals() if settings.once else None
        self._lanes: list[CopyLane] = []
        self._state = "starting"
        self._well_at = 0.0  # When it last copied something, or had nothing to copy.
        self._troubles = Troubles()

    @property
    def name(self) -> str:
        return f"{self.source.address} → {self.target.address}"

    def run(self) -> None:
        """To the end: returns after a clean stop, raises what no waiting can repair."""
        pause, self._well_at = _PAUSE_S_FIRST, self._clock.monotonic()
        while True:
            before = self._done()
            try:
                if self._attempt():
                    return
                pause = _PAUSE_S_FIRST
            except HoldfastError as failure:
                if not _may_pass(failure) or self._stop.is_set():
                    raise
                if self._done() > before:
                    pause, self._well_at = _PAUSE_S_FIRST, self._clock.monotonic()
                self._note(failure)
                self._stop.wait(pause)
                pause = min(2 * pause, _PAUSE_S_MAX)

    def _done(self) -> int:
        return sum(each.records for each in self._counts.values())

    def _note(self, failure: HoldfastError) -> None:
        give_up_s = self._settings.give_up_s
        if give_up_s is not None and self._clock.monotonic() - self._well_at > give_up_s:
            raise failure
        self._troubles.count += 1
        self._troubles.last = str(failure)
        self._state = "waiting"
        log.warning("%s begins again after: %s", self.name, failure)

    def _attempt(self) -> bool:
        """Whether all is done; False if topics have changed and are to be planned again."""
        with self.source.client() as source, self.target.client() as target:
            attempt = self._begin(source, target)
            try:
                for worker in attempt.workers:
                    worker.start()
                is_done = self._watch(attempt, source, target)
            finally:
                attempt.end()
                self._known |= {each.home: Saved(each.point, each.target_id) for each in attempt.lanes if each.resumed}
            attempt.check()
            if is_done:
                self._save(attempt.lanes, source, target)
                self._state = "stopped"
                self._check_held(attempt.lanes)
            return is_done

    def _check_held(self, lanes: Iterable[CopyLane]) -> None:
        """Who copies once wants all: what the target has refused is told at the end."""
        held = [each.held for each in lanes if each.held is not None]
        if self._goals is not None and held:
            raise held[0]

    def _begin(self, source: Client, target: Client) -> Attempt:
        sides = self.source, self.target
        self.source.check(source)
        self.target.check(target)
        planned = plan(source, target, self._settings.chosen)
        decides = self._settings.both and self._settings.last_writer_wins
        compacted = compacted_topics([source, target], self._settings.patterns) if decides else ()
        lanes = make_lanes(planned, sides, target, self._settings, compacted, self._known, self._counts, self._seen)
        self._lanes = lanes
        if self._goals is not None:
            self._goals.set(lanes, source)
        ids = {each.where.topic: each.target_id for each in lanes}
        attempt = Attempt(lanes, {each.name: _face(each.source, ids[each.name]) for each in planned})
        count = min(self._settings.workers, len(lanes))
        some = (lanes[number::count] for number in range(count))
        attempt.workers = [Worker(*sides, each, attempt.stop, self._settings) for each in some]
        self._state = "running"
        self._follow_configs(attempt, source, target)
        return attempt

    def _follow_configs(self, attempt: Attempt, source: Client, target: Client) -> None:
        if self._settings.configs or self._settings.acls:
            self._seen.follow(attempt.faces, (self.source, self.target), source, target)

    def _watch(self, attempt: Attempt, source: Client, target: Client) -> bool:
        """Until it is stopped or caught up (True), or a worker has failed or topics have changed (False)."""
        refresh_at = self._clock.monotonic() + self._settings.refresh_s
        renew_at = self._clock.monotonic() + self._settings.renew_s
        position = attempt.position
        while not self._stop.wait(_TICK_S):
            if attempt.is_broken():
                return False
            if attempt.position != position or all(each.has_caught_up for each in attempt.lanes):
                self._well_at = self._clock.monotonic()  # Though there may be nothing to copy for hours.
            position = attempt.position
            if self._saver.is_due():
                self._save(attempt.lanes, source, target)
            if self._goals is not None and self._goals.are_reached(attempt.lanes):
                return self._faces(source, target) == attempt.faces  # Of what was copied to, and not made again since.
            if self._clock.monotonic() >= renew_at:
                return False
            if self._clock.monotonic() >= refresh_at:
                refresh_at = self._clock.monotonic() + self._settings.refresh_s
                if self._faces(source, target) != attempt.faces:
                    return False
                self._follow_configs(attempt, source, target)
        return True

    def _faces(self, source: Client, target: Client) -> Faces:
        topics, copies = list_topics(source), list_topics(target)
        ids = {name: each.id or NO_ID for name, each in copies.items()}
        return {name: _face(topics[name], ids.get(name)) for name in self._settings.chosen(topics)}

    def _save(self, lanes: list[CopyLane], source: Client, target: Client) -> None:
        self._saver.save(lanes, target, self._seen)
        if self._settings.groups:
            self._groups.carry(lanes, source, target)

    def look(self) -> SyncLook:
        """This moment, for whoever shows it."""
        saved = self._saver.saves, self._groups.count, self._saver.saved_at_ms
        return look_at(self.name, self._state, self._lanes, self._troubles, saved, self._clock.now_ms())


def _face(topic: TopicInfo, target_id: UUID | None) -> tuple[UUID | None, int, UUID | None]:
    return topic.id, len(topic.partitions), target_id
