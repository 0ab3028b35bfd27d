"""A request as a value, checked; and back to the message for the client to send."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from holdfast.subscribe.cursor import Cursor
from holdfast.subscribe.errors import BadRequest
from holdfast.subscribe.filter import Filter
from holdfast.subscribe.wire.schema import subscribe_pb2 as wire

SOURCES_MAX = 10_000


class Source(NamedTuple):
    """What to follow: a topic, or all that match a pattern with * and ?; no partitions means all."""

    topic: str
    partitions: tuple[int, ...] = ()

    @property
    def is_pattern(self) -> bool:
        return any(sign in self.topic for sign in "*?[")


@dataclass(frozen=True, slots=True)
class Start:
    """From when on: a time, a cursor, or neither, which is from now on."""

    since_ms: int | None = None
    cursor: Cursor | None = None

    def __post_init__(self) -> None:
        if self.since_ms is not None and self.cursor is not None:
            raise BadRequest("a subscription starts at a time or at a cursor, not at both")


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscribeRequest:
    """What a client wants."""

    sources: tuple[Source, ...]
    start: Start = field(default_factory=Start)
    until_ms: int | None = None
    until_now: bool = False
    filter: Filter | None = None
    batches: bool = False
    segment_refs: bool = False
    routes: bool = False  # The client asks each of several brokers for what it leads;
    routed: bool = False  # and this is what it asks one of them for.

    def __post_init__(self) -> None:
        if not 1 <= len(self.sources) <= SOURCES_MAX:
            raise BadRequest(f"a subscription has 1 to {SOURCES_MAX} sources, not {len(self.sources)}")

    @classmethod
    def from_message(cls, message: wire.Request) -> SubscribeRequest:
        start = message.WhichOneof("start")
        end = message.WhichOneof("end")
        return cls(
            sources=tuple(Source(each.topic, tuple(each.partitions)) for each in message.sources),
            start=Start(
                message.since_ms if start == "since_ms" else None,
                Cursor.from_bytes(message.cursor) if start == "cursor" else None,
            ),
            until_ms=message.until_ms if end == "until_ms" else None,
            until_now=end == "until_now" and message.until_now,
            filter=_filter_from(message.filter) if message.HasField("filter") else None,
            batches=message.supports_batches,
            segment_refs=message.supports_segment_refs,
            routes=message.supports_routes,
            routed=message.routed,
        )

    def to_message(self) -> wire.Request:
        message = wire.Request(
            sources=[wire.Source(topic=each.topic, partitions=each.partitions) for each in self.sources],
            supports_batches=self.batches,
            supports_segment_refs=self.segment_refs,
            supports_routes=self.routes,
            routed=self.routed,
        )
        if self.start.since_ms is not None:
            message.since_ms = self.start.since_ms
        if self.start.cursor is not None:
            message.cursor = self.start.cursor.to_bytes()
        if self.until_now:
            message.until_now = True
        elif self.until_ms is not None:
            message.until_ms = self.until_ms
        if self.filter is not None:
            chosen = self.filter
            message.filter.CopyFrom(wire.Filter(paths=chosen.paths, plain=chosen.plain, directories=chosen.directories))
        return message


def _filter_from(message: wire.Filter) -> Filter:
    return Filter(tuple(message.paths), tuple(message.plain), tuple(message.directories))
