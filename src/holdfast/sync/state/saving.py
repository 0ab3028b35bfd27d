"""When checkpoints are saved, and what is in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from holdfast.client import LATEST, Client
from holdfast.client.errors import ProducerFenced
from holdfast.io.clock import Clock
from holdfast.sync.carry.lane import CopyLane
from holdfast.sync.errors import TakenOver
from holdfast.sync.state import checkpoint
from holdfast.sync.state.checkpoint import Saved, SyncPoint
from holdfast.sync.state.fence import CHECKPOINT_PARTITION
from holdfast.types import ClusterPartition


class Saver:
    """Saves on a timer: for the first time after a whole interval, and whenever it is told to."""

    def __init__(self, interval_s: float, clock: Clock) -> None:
        self._interval_s = interval_s
        self._clock = clock
        self._due = clock.monotonic() + interval_s
        self._saved: dict[ClusterPartition, SyncPoint] = {}  # What this process has saved.
        self.saves = 0

    def is_due(self) -> bool:
        return self._clock.monotonic() >= self._due

    def save(self, lanes: Sequence[CopyLane], target: Client) -> None:
        """Save the points that have changed."""
        self._due = self._clock.monotonic() + self._interval_s
        _catch_up(lanes, self._saved, target)
        by_topic: dict[str, list[CopyLane]] = {}
        for lane in lanes:
            if lane.resumed and self._saved.get(lane.home) != lane.point:
                by_topic.setdefault(lane.where.topic, []).append(lane)
        for some in by_topic.values():
            self._save(some, target)
        self.saves += 1

    def _save(self, lanes: Sequence[CopyLane], target: Client) -> None:
        writer = lanes[0].writer
        points = {each.home: Saved(each.point, each.target_id) for each in lanes}
        for batch, count in checkpoint.batches(points.items(), writer, self._clock.now_ms()):
            try:
                target.produce({CHECKPOINT_PARTITION: batch})
            except ProducerFenced as failure:
                raise TakenOver(writer.topic, lanes[0].home.cluster_id, lanes[0].back.cluster_id) from failure
            writer.wrote(CHECKPOINT_PARTITION, count)
        self._saved |= {home: saved.point for home, saved in points.items()}


def _catch_up(lanes: Iterable[CopyLane], saved: dict[ClusterPartition, SyncPoint], target: Client) -> None:
    """Lanes that write nothing, since all they read are echoes: what they write later lies behind the target's end."""
    still = [each for each in lanes if each.has_moved_without_writing(saved.get(each.home))]
    held = [each for each in still if each.moving.acquire(blocking=False)]
    try:
        if held:
            ends = target.list_offsets({each.where: LATEST for each in held})
            for each in held:
                each.point = replace(each.point, target_offset=ends[each.where].offset)
    finally:
        for each in held:
            each.moving.release()
