from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Source(_message.Message):
    __slots__ = ("topic", "partitions")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    topic: str
    partitions: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, topic: _Optional[str] = ..., partitions: _Optional[_Iterable[int]] = ...) -> None: ...

class Filter(_message.Message):
    __slots__ = ("paths", "plain", "directories")
    PATHS_FIELD_NUMBER: _ClassVar[int]
    PLAIN_FIELD_NUMBER: _ClassVar[int]
    DIRECTORIES_FIELD_NUMBER: _ClassVar[int]
    paths: _containers.RepeatedScalarFieldContainer[str]
    plain: _containers.RepeatedScalarFieldContainer[str]
    directories: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, paths: _Optional[_Iterable[str]] = ..., plain: _Optional[_Iterable[str]] = ..., directories: _Optional[_Iterable[str]] = ...) -> None: ...

class Request(_message.Message):
    __slots__ = ("sources", "since_ms", "cursor", "until_ms", "until_now", "filter", "supports_batches", "supports_segment_refs", "supports_routes", "routed")
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    SINCE_MS_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    UNTIL_MS_FIELD_NUMBER: _ClassVar[int]
    UNTIL_NOW_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    SUPPORTS_BATCHES_FIELD_NUMBER: _ClassVar[int]
    SUPPORTS_SEGMENT_REFS_FIELD_NUMBER: _ClassVar[int]
    SUPPORTS_ROUTES_FIELD_NUMBER: _ClassVar[int]
    ROUTED_FIELD_NUMBER: _ClassVar[int]
    sources: _containers.RepeatedCompositeFieldContainer[Source]
    since_ms: int
    cursor: bytes
    until_ms: int
    until_now: bool
    filter: Filter
    supports_batches: bool
    supports_segment_refs: bool
    supports_routes: bool
    routed: bool
    def __init__(self, sources: _Optional[_Iterable[_Union[Source, _Mapping]]] = ..., since_ms: _Optional[int] = ..., cursor: _Optional[bytes] = ..., until_ms: _Optional[int] = ..., until_now: _Optional[bool] = ..., filter: _Optional[_Union[Filter, _Mapping]] = ..., supports_batches: _Optional[bool] = ..., supports_segment_refs: _Optional[bool] = ..., supports_routes: _Optional[bool] = ..., routed: _Optional[bool] = ...) -> None: ...

class Lane(_message.Message):
    __slots__ = ("topic", "topic_id", "partition")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    TOPIC_ID_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    topic: str
    topic_id: bytes
    partition: int
    def __init__(self, topic: _Optional[str] = ..., topic_id: _Optional[bytes] = ..., partition: _Optional[int] = ...) -> None: ...

class Position(_message.Message):
    __slots__ = ("lane", "offset", "epoch", "order_time")
    LANE_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    ORDER_TIME_FIELD_NUMBER: _ClassVar[int]
    lane: int
    offset: int
    epoch: int
    order_time: int
    def __init__(self, lane: _Optional[int] = ..., offset: _Optional[int] = ..., epoch: _Optional[int] = ..., order_time: _Optional[int] = ...) -> None: ...

class Server(_message.Message):
    __slots__ = ("broker", "address")
    BROKER_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    broker: int
    address: str
    def __init__(self, broker: _Optional[int] = ..., address: _Optional[str] = ...) -> None: ...

class Route(_message.Message):
    __slots__ = ("topic", "topic_id", "partition", "broker")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    TOPIC_ID_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    BROKER_FIELD_NUMBER: _ClassVar[int]
    topic: str
    topic_id: bytes
    partition: int
    broker: int
    def __init__(self, topic: _Optional[str] = ..., topic_id: _Optional[bytes] = ..., partition: _Optional[int] = ..., broker: _Optional[int] = ...) -> None: ...

class Opened(_message.Message):
    __slots__ = ("cluster_id", "store_url", "lanes", "starts", "heartbeat_ms", "servers", "routes")
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    STORE_URL_FIELD_NUMBER: _ClassVar[int]
    LANES_FIELD_NUMBER: _ClassVar[int]
    STARTS_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_MS_FIELD_NUMBER: _ClassVar[int]
    SERVERS_FIELD_NUMBER: _ClassVar[int]
    ROUTES_FIELD_NUMBER: _ClassVar[int]
    cluster_id: str
    store_url: str
    lanes: _containers.RepeatedCompositeFieldContainer[Lane]
    starts: _containers.RepeatedCompositeFieldContainer[Position]
    heartbeat_ms: int
    servers: _containers.RepeatedCompositeFieldContainer[Server]
    routes: _containers.RepeatedCompositeFieldContainer[Route]
    def __init__(self, cluster_id: _Optional[str] = ..., store_url: _Optional[str] = ..., lanes: _Optional[_Iterable[_Union[Lane, _Mapping]]] = ..., starts: _Optional[_Iterable[_Union[Position, _Mapping]]] = ..., heartbeat_ms: _Optional[int] = ..., servers: _Optional[_Iterable[_Union[Server, _Mapping]]] = ..., routes: _Optional[_Iterable[_Union[Route, _Mapping]]] = ...) -> None: ...

class Added(_message.Message):
    __slots__ = ("lanes", "starts")
    LANES_FIELD_NUMBER: _ClassVar[int]
    STARTS_FIELD_NUMBER: _ClassVar[int]
    lanes: _containers.RepeatedCompositeFieldContainer[Lane]
    starts: _containers.RepeatedCompositeFieldContainer[Position]
    def __init__(self, lanes: _Optional[_Iterable[_Union[Lane, _Mapping]]] = ..., starts: _Optional[_Iterable[_Union[Position, _Mapping]]] = ...) -> None: ...

class Aborted(_message.Message):
    __slots__ = ("producer_id", "first_offset", "last_offset", "last_stable_offset")
    PRODUCER_ID_FIELD_NUMBER: _ClassVar[int]
    FIRST_OFFSET_FIELD_NUMBER: _ClassVar[int]
    LAST_OFFSET_FIELD_NUMBER: _ClassVar[int]
    LAST_STABLE_OFFSET_FIELD_NUMBER: _ClassVar[int]
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int
    def __init__(self, producer_id: _Optional[int] = ..., first_offset: _Optional[int] = ..., last_offset: _Optional[int] = ..., last_stable_offset: _Optional[int] = ...) -> None: ...

class Segment(_message.Message):
    __slots__ = ("name", "base", "end", "size", "tail_size", "min_timestamp", "max_timestamp", "record_count", "compacted", "aborted")
    NAME_FIELD_NUMBER: _ClassVar[int]
    BASE_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    TAIL_SIZE_FIELD_NUMBER: _ClassVar[int]
    MIN_TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    MAX_TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    RECORD_COUNT_FIELD_NUMBER: _ClassVar[int]
    COMPACTED_FIELD_NUMBER: _ClassVar[int]
    ABORTED_FIELD_NUMBER: _ClassVar[int]
    name: str
    base: int
    end: int
    size: int
    tail_size: int
    min_timestamp: int
    max_timestamp: int
    record_count: int
    compacted: bool
    aborted: _containers.RepeatedCompositeFieldContainer[Aborted]
    def __init__(self, name: _Optional[str] = ..., base: _Optional[int] = ..., end: _Optional[int] = ..., size: _Optional[int] = ..., tail_size: _Optional[int] = ..., min_timestamp: _Optional[int] = ..., max_timestamp: _Optional[int] = ..., record_count: _Optional[int] = ..., compacted: _Optional[bool] = ..., aborted: _Optional[_Iterable[_Union[Aborted, _Mapping]]] = ...) -> None: ...

class References(_message.Message):
    __slots__ = ("lane", "segments", "aborted")
    LANE_FIELD_NUMBER: _ClassVar[int]
    SEGMENTS_FIELD_NUMBER: _ClassVar[int]
    ABORTED_FIELD_NUMBER: _ClassVar[int]
    lane: int
    segments: _containers.RepeatedCompositeFieldContainer[Segment]
    aborted: _containers.RepeatedCompositeFieldContainer[Aborted]
    def __init__(self, lane: _Optional[int] = ..., segments: _Optional[_Iterable[_Union[Segment, _Mapping]]] = ..., aborted: _Optional[_Iterable[_Union[Aborted, _Mapping]]] = ...) -> None: ...

class ReferencesEnd(_message.Message):
    __slots__ = ("rest",)
    REST_FIELD_NUMBER: _ClassVar[int]
    rest: _containers.RepeatedCompositeFieldContainer[Position]
    def __init__(self, rest: _Optional[_Iterable[_Union[Position, _Mapping]]] = ...) -> None: ...

class Header(_message.Message):
    __slots__ = ("key", "value")
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    key: str
    value: bytes
    def __init__(self, key: _Optional[str] = ..., value: _Optional[bytes] = ...) -> None: ...

class Event(_message.Message):
    __slots__ = ("lane", "offset", "timestamp", "timestamp_type", "key", "value", "headers", "late", "epoch", "order_time")
    LANE_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_TYPE_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    HEADERS_FIELD_NUMBER: _ClassVar[int]
    LATE_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    ORDER_TIME_FIELD_NUMBER: _ClassVar[int]
    lane: int
    offset: int
    timestamp: int
    timestamp_type: int
    key: bytes
    value: bytes
    headers: _containers.RepeatedCompositeFieldContainer[Header]
    late: bool
    epoch: int
    order_time: int
    def __init__(self, lane: _Optional[int] = ..., offset: _Optional[int] = ..., timestamp: _Optional[int] = ..., timestamp_type: _Optional[int] = ..., key: _Optional[bytes] = ..., value: _Optional[bytes] = ..., headers: _Optional[_Iterable[_Union[Header, _Mapping]]] = ..., late: _Optional[bool] = ..., epoch: _Optional[int] = ..., order_time: _Optional[int] = ...) -> None: ...

class EventBatch(_message.Message):
    __slots__ = ("arrow",)
    ARROW_FIELD_NUMBER: _ClassVar[int]
    arrow: bytes
    def __init__(self, arrow: _Optional[bytes] = ...) -> None: ...

class Marker(_message.Message):
    __slots__ = ("positions", "ends")
    POSITIONS_FIELD_NUMBER: _ClassVar[int]
    ENDS_FIELD_NUMBER: _ClassVar[int]
    positions: _containers.RepeatedCompositeFieldContainer[Position]
    ends: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, positions: _Optional[_Iterable[_Union[Position, _Mapping]]] = ..., ends: _Optional[_Iterable[int]] = ...) -> None: ...

class Live(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Skipped(_message.Message):
    __slots__ = ("lane", "start", "end")
    LANE_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    lane: int
    start: int
    end: int
    def __init__(self, lane: _Optional[int] = ..., start: _Optional[int] = ..., end: _Optional[int] = ...) -> None: ...

class Gone(_message.Message):
    __slots__ = ("lane",)
    LANE_FIELD_NUMBER: _ClassVar[int]
    lane: int
    def __init__(self, lane: _Optional[int] = ...) -> None: ...

class Moved(_message.Message):
    __slots__ = ("lane",)
    LANE_FIELD_NUMBER: _ClassVar[int]
    lane: int
    def __init__(self, lane: _Optional[int] = ...) -> None: ...

class Rerouted(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Ended(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Message(_message.Message):
    __slots__ = ("opened", "added", "references", "references_end", "event", "batch", "marker", "live", "skipped", "gone", "ended", "moved", "rerouted")
    OPENED_FIELD_NUMBER: _ClassVar[int]
    ADDED_FIELD_NUMBER: _ClassVar[int]
    REFERENCES_FIELD_NUMBER: _ClassVar[int]
    REFERENCES_END_FIELD_NUMBER: _ClassVar[int]
    EVENT_FIELD_NUMBER: _ClassVar[int]
    BATCH_FIELD_NUMBER: _ClassVar[int]
    MARKER_FIELD_NUMBER: _ClassVar[int]
    LIVE_FIELD_NUMBER: _ClassVar[int]
    SKIPPED_FIELD_NUMBER: _ClassVar[int]
    GONE_FIELD_NUMBER: _ClassVar[int]
    ENDED_FIELD_NUMBER: _ClassVar[int]
    MOVED_FIELD_NUMBER: _ClassVar[int]
    REROUTED_FIELD_NUMBER: _ClassVar[int]
    opened: Opened
    added: Added
    references: References
    references_end: ReferencesEnd
    event: Event
    batch: EventBatch
    marker: Marker
    live: Live
    skipped: Skipped
    gone: Gone
    ended: Ended
    moved: Moved
    rerouted: Rerouted
    def __init__(self, opened: _Optional[_Union[Opened, _Mapping]] = ..., added: _Optional[_Union[Added, _Mapping]] = ..., references: _Optional[_Union[References, _Mapping]] = ..., references_end: _Optional[_Union[ReferencesEnd, _Mapping]] = ..., event: _Optional[_Union[Event, _Mapping]] = ..., batch: _Optional[_Union[EventBatch, _Mapping]] = ..., marker: _Optional[_Union[Marker, _Mapping]] = ..., live: _Optional[_Union[Live, _Mapping]] = ..., skipped: _Optional[_Union[Skipped, _Mapping]] = ..., gone: _Optional[_Union[Gone, _Mapping]] = ..., ended: _Optional[_Union[Ended, _Mapping]] = ..., moved: _Optional[_Union[Moved, _Mapping]] = ..., rerouted: _Optional[_Union[Rerouted, _Mapping]] = ...) -> None: ...

class Cursor(_message.Message):
    __slots__ = ("places", "point", "point_cluster_id", "point_topic", "point_partition")
    class Place(_message.Message):
        __slots__ = ("cluster_id", "topic", "topic_id", "partition", "offset", "epoch", "order_time")
        CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
        TOPIC_FIELD_NUMBER: _ClassVar[int]
        TOPIC_ID_FIELD_NUMBER: _ClassVar[int]
        PARTITION_FIELD_NUMBER: _ClassVar[int]
        OFFSET_FIELD_NUMBER: _ClassVar[int]
        EPOCH_FIELD_NUMBER: _ClassVar[int]
        ORDER_TIME_FIELD_NUMBER: _ClassVar[int]
        cluster_id: str
        topic: str
        topic_id: bytes
        partition: int
        offset: int
        epoch: int
        order_time: int
        def __init__(self, cluster_id: _Optional[str] = ..., topic: _Optional[str] = ..., topic_id: _Optional[bytes] = ..., partition: _Optional[int] = ..., offset: _Optional[int] = ..., epoch: _Optional[int] = ..., order_time: _Optional[int] = ...) -> None: ...
    PLACES_FIELD_NUMBER: _ClassVar[int]
    POINT_FIELD_NUMBER: _ClassVar[int]
    POINT_CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    POINT_TOPIC_FIELD_NUMBER: _ClassVar[int]
    POINT_PARTITION_FIELD_NUMBER: _ClassVar[int]
    places: _containers.RepeatedCompositeFieldContainer[Cursor.Place]
    point: int
    point_cluster_id: str
    point_topic: str
    point_partition: int
    def __init__(self, places: _Optional[_Iterable[_Union[Cursor.Place, _Mapping]]] = ..., point: _Optional[int] = ..., point_cluster_id: _Optional[str] = ..., point_topic: _Optional[str] = ..., point_partition: _Optional[int] = ...) -> None: ...
