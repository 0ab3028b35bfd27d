"""When checkpoints are saved, and what is in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from holdfast.client import LATEST, Client
from holdfast.client.errors import ProducerFenced
from holdfast.io.clock import Clock
from holdfast.sync.carry.lane import CopyLane
from holdfast.sync.configs import SeenConfigs
from holdfast.sync.errors import TakenOver
from holdfast.sync.state import checkpoint
from holdfast.sync.state.checkpoint import OF_TOPIC, Saved, SyncPoint
from holdfast.sync.state.fence import CHECKPOINT_PARTITION
from holdfast.types import ClusterPartition


class Saver:
    """Saves on a timer: for the first time after a whole interval, and whenever it is told to."""

    def __init__(self, interval_s: float, clock: Clock) -> None:
        self._interval_s = interval_s
        self._clock = clock
        self._due = clock.monotonic() + interval_s
        self._saved: dict[ClusterPartition, SyncPoint] = {}  # What this process has saved.
        self._configs: dict[UUID, dict[str, str]] = {}
        self.saves = 0
        self.saved_at_ms = -1

    def is_due(self) -> bool:
        return self._clock.monotonic() >= self._due

    def save(self, lanes: Sequence[CopyLane], target: Client, seen: SeenConfigs | None = None) -> None:
        """Save the points that have changed, and the configs."""
        self._due = self._clock.monotonic() + self._interval_s
        _catch_up(lanes, self._saved, target)
        by_topic: dict[str, list[CopyLane]] = {}
        for lane in lanes:
            if lane.resumed and self._saved.get(lane.home) != lane.point:
                by_topic.setdefault(lane.where.topic, []).append(lane)
        for some in by_topic.values():
            self._save(some, target)
        if seen is not None:
            self._save_configs(lanes, target, seen)
        self.saves += 1
        self.saved_at_ms = self._clock.now_ms()

    def _save(self, lanes: Sequence[CopyLane], target: Client) -> None:
        points = {each.home: Saved(each.point, each.target_id, lag=each.lag) for each in lanes}
        self._write(points, lanes[0], target)
        self._saved |= {home: saved.point for home, saved in points.items()}

    def _save_configs(self, lanes: Sequence[CopyLane], target: Client, seen: SeenConfigs) -> None:
        for lane in {each.where.topic: each for each in lanes if each.resumed}.values():
            configs = seen.of(lane.home.cluster_id, lane.where.topic)
            if configs is not None and self._configs.get(lane.home.topic_id) != configs:
                home = lane.home._replace(partition=OF_TOPIC)
                self._write({home: Saved(SyncPoint(), lane.target_id, configs)}, lane, target)
                self._configs[lane.home.topic_id] = dict(configs)

    def _write(self, points: Mapping[ClusterPartition, Saved], lane: CopyLane, target: Client) -> None:
        writer = lane.writer
        for batch, count in checkpoint.batches(points.items(), writer, self._clock.now_ms()):
            try:
                target.produce({CHECKPOINT_PARTITION: batch})
            except ProducerFenced as failure:
                raise TakenOver(writer.topic, lane.home.cluster_id, lane.back.cluster_id) from failure
            writer.wrote(CHECKPOINT_PARTITION, count)


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
