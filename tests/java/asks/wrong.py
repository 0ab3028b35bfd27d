"""The same requests about things that are not there, and the errors that a client is then told."""

from __future__ import annotations

from typing import Any

from holdfast.protocol.api import Key

_SPOILED: dict[str, Any] = {
    "groupId": "no-such-group",
    "groups": ["no-such-group"],
    "groupsNames": ["no-such-group"],
    "generationId": 99,
    "generationIdOrMemberEpoch": 99,
    "memberId": "nobody",
    "name": "no-such-topic",
    "topic": "no-such-topic",
    "topicName": "no-such-topic",
    "topicNames": ["no-such-topic"],
    "topicId": "AAAAAAAAAAAAAAAAAAAAKg",
    "resourceName": "no-such-topic",
}


def spoiled(value: Any) -> Any:
    """A request with every name and id replaced by one that nobody has."""
    if isinstance(value, list):
        return [spoiled(each) for each in value]
    if isinstance(value, dict):
        return {key: _spoiled(key, each) for key, each in value.items()}
    return value


def _spoiled(key: str, value: Any) -> Any:
    if key not in _SPOILED or value is None or (isinstance(value, list) and value and isinstance(value[0], dict)):
        return spoiled(value)
    return _SPOILED[key]


_NO_TOPIC = {"UNKNOWN_TOPIC_OR_PARTITION"}


def _by_id(version: int, first: int) -> set[str]:
    return {"UNKNOWN_TOPIC_ID"} if version >= first else _NO_TOPIC


def errors(key: Key, version: int) -> set[str]:
    """What Kafka answers; NONE is the answer's own code where its parts have codes too."""
    match key:
        case Key.PRODUCE:
            return _by_id(version, 13)
        case Key.FETCH:
            return {"NONE"} | _by_id(version, 13)
        case Key.LIST_OFFSETS | Key.OFFSET_FOR_LEADER_EPOCH | Key.DELETE_RECORDS | Key.DESCRIBE_PRODUCERS:
            return _NO_TOPIC
        case Key.DESCRIBE_TOPIC_PARTITIONS | Key.CREATE_PARTITIONS | Key.DELETE_TOPICS:
            return _NO_TOPIC
        case Key.HEARTBEAT | Key.SYNC_GROUP:
            return {"UNKNOWN_MEMBER_ID"}
        case Key.LEAVE_GROUP:
            return {"UNKNOWN_MEMBER_ID"} if version < 3 else {"NONE", "UNKNOWN_MEMBER_ID"}
        case Key.OFFSET_COMMIT:
            return _by_id(version, 10)  # Topics come first; the group is not asked about none.
        case Key.OFFSET_DELETE | Key.DELETE_GROUPS:
            return {"GROUP_ID_NOT_FOUND"}
        case Key.DESCRIBE_GROUPS:
            return {"GROUP_ID_NOT_FOUND"} if version >= 6 else {"NONE"}
        case Key.DESCRIBE_CONFIGS:
            return {"INVALID_REQUEST"} | _NO_TOPIC  # There is no such broker either, and a broker's name is a number.
        case Key.ALTER_CONFIGS | Key.INCREMENTAL_ALTER_CONFIGS:
            return _NO_TOPIC
        case Key.ELECT_LEADERS | Key.ALTER_PARTITION_REASSIGNMENTS:
            return {"NONE"} | _NO_TOPIC
    raise KeyError(key)


WRONG = (
    Key.PRODUCE,
    Key.FETCH,
    Key.LIST_OFFSETS,
    Key.OFFSET_FOR_LEADER_EPOCH,
    Key.DELETE_RECORDS,
    Key.DESCRIBE_PRODUCERS,
    Key.DESCRIBE_TOPIC_PARTITIONS,
    Key.CREATE_PARTITIONS,
    Key.DELETE_TOPICS,
    Key.HEARTBEAT,
    Key.SYNC_GROUP,
    Key.LEAVE_GROUP,
    Key.OFFSET_COMMIT,
    Key.OFFSET_DELETE,
    Key.DELETE_GROUPS,
    Key.DESCRIBE_GROUPS,
    Key.DESCRIBE_CONFIGS,
    Key.ALTER_CONFIGS,
    Key.INCREMENTAL_ALTER_CONFIGS,
    Key.ELECT_LEADERS,
    Key.ALTER_PARTITION_REASSIGNMENTS,
)
