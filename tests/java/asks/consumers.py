"""Requests of members whose coordinator assigns, and about their groups."""

from __future__ import annotations

from tests.java.asks.wire_world import Ask, Json, WireWorld

from holdfast.protocol.api import Key

_OWN_ID_FROM = 1  # Before this the coordinator makes a member's id.


def _join(world: WireWorld, group: str, version: int) -> Json:
    return {
        "groupId": group,
        "memberId": world.new_name() if version >= _OWN_ID_FROM else "",
        "memberEpoch": 0,
        "instanceId": None,
        "rackId": None,
        "rebalanceTimeoutMs": 300_000,
        "subscribedTopicNames": [world.topic],
        "subscribedTopicRegex": None,
        "serverAssignor": None,
        "topicPartitions": [],
    }


def heartbeat(world: WireWorld, version: int) -> Ask:
    def check(answer: Json) -> bool:
        [topic] = answer["assignment"]["topicPartitions"]
        return answer["memberEpoch"] == 1 and topic == {"topicId": world.topic_id, "partitions": [0, 1]}

    return Ask(_join(world, world.new_name(), version), check=check)


def describe(world: WireWorld, version: int) -> Ask:
    group = world.new_name()
    world.exchange(Key.CONSUMER_GROUP_HEARTBEAT, 1, _join(world, group, 1))

    def check(answer: Json) -> bool:
        [found] = answer["groups"]
        return found["groupState"] == "Stable" and len(found["members"]) == 1

    return Ask({"groupIds": [group], "includeAuthorizedOperations": False}, check=check)


ASKS = {Key.CONSUMER_GROUP_HEARTBEAT: heartbeat, Key.CONSUMER_GROUP_DESCRIBE: describe}
