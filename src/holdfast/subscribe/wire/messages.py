"""The control messages of a stream, as bytes. They are never packed with events or with each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol
from uuid import UUID

from holdfast.subscribe.merge.piece import Position
from holdfast.subscribe.wire.schema import subscribe_pb2 as wire


class Lane(Protocol):
    """One partition of a subscription, by name."""

    @property
    def topic(self) -> str: ...

    @property
    def topic_id(self) -> UUID: ...

    @property
    def partition(self) -> int: ...


def lane_rows(lanes: Sequence[Lane]) -> list[wire.Lane]:
    return [wire.Lane(topic=each.topic, topic_id=each.topic_id.bytes, partition=each.partition) for each in lanes]


def position_rows(positions: Mapping[int, Position]) -> list[wire.Position]:
    return [wire.Position(lane=lane, **each._asdict()) for lane, each in positions.items()]


def positions_of(rows: Iterable[wire.Position]) -> dict[int, Position]:
    return {each.lane: Position(each.offset, each.epoch, each.order_time) for each in rows}


def opened(
    cluster_id: str, store_url: str, lanes: Sequence[Lane], starts: Mapping[int, Position], heartbeat_ms: int
) -> bytes:
    return _bytes(
        wire.Message(
            opened=wire.Opened(
                cluster_id=cluster_id,
                store_url=store_url,
                lanes=lane_rows(lanes),
                starts=position_rows(starts),
                heartbeat_ms=heartbeat_ms,
            )
        )
    )


class RoutedPartition(NamedTuple):
    """A partition that is meant, and the broker that leads it."""

    topic: str
    topic_id: UUID
    partition: int
    broker: int

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.partition}"


def routes(cluster_id: str, servers: Mapping[int, str], found: Iterable[RoutedPartition], heartbeat_ms: int) -> bytes:
    return _bytes(
        wire.Message(
            opened=wire.Opened(
                cluster_id=cluster_id,
                heartbeat_ms=heartbeat_ms,
                servers=[wire.Server(broker=broker, address=address) for broker, address in servers.items()],
                routes=[
                    wire.Route(
                        topic=each.topic, topic_id=each.topic_id.bytes, partition=each.partition, broker=each.broker
                    )
                    for each in found
                ],
            )
        )
    )


def routes_of(rows: Iterable[wire.Route]) -> list[RoutedPartition]:
    return [RoutedPartition(each.topic, UUID(bytes=each.topic_id), each.partition, each.broker) for each in rows]


def added(lanes: Sequence[Lane], starts: Mapping[int, Position]) -> bytes:
    return _bytes(wire.Message(added=wire.Added(lanes=lane_rows(lanes), starts=position_rows(starts))))


def references(message: wire.References) -> bytes:
    return _bytes(wire.Message(references=message))


def references_end(rest: Mapping[int, Position]) -> bytes:
    return _bytes(wire.Message(references_end=wire.ReferencesEnd(rest=position_rows(rest))))


def marker(positions: Mapping[int, Position], ends: Sequence[int]) -> bytes:
    return _bytes(wire.Message(marker=wire.Marker(positions=position_rows(positions), ends=ends)))


def live() -> bytes:
    return _bytes(wire.Message(live=wire.Live()))


def skipped(lane: int, start: int, end: int) -> bytes:
    return _bytes(wire.Message(skipped=wire.Skipped(lane=lane, start=start, end=end)))


def gone(lane: int) -> bytes:
    return _bytes(wire.Message(gone=wire.Gone(lane=lane)))


def moved(lane: int) -> bytes:
    return _bytes(wire.Message(moved=wire.Moved(lane=lane)))


def rerouted() -> bytes:
    return _bytes(wire.Message(rerouted=wire.Rerouted()))


def ended() -> bytes:
    return _bytes(wire.Message(ended=wire.Ended()))


def _bytes(message: wire.Message) -> bytes:
    data: bytes = message.SerializeToString()
    return data
