"""Requests of members of share groups, and about their groups."""

from __future__ import annotations

from tests.java.asks.wire_world import RECORDS_COUNT, Ask, Json, WireWorld, refused

from holdfast.protocol.api import Key


def _join(world: WireWorld, group: str, member: str) -> Json:
    names = [world.topic]
    return {"groupId": group, "memberId": member, "memberEpoch": 0, "rackId": None, "subscribedTopicNames": names}


def _joined(world: WireWorld) -> str:
    """A group from the earliest record on, with a member of the same name."""
    group = world.new_name()
    changes = {"share.auto.offset.reset": ["SET", "earliest"]}
    world.java.do("configs.alter", type="GROUP", name=group, changes=changes)
    world.exchange(Key.SHARE_GROUP_HEARTBEAT, 1, _join(world, group, group))
    return group


def heartbeat(world: WireWorld, version: int) -> Ask:
    del version

    def check(answer: Json) -> bool:
        [topic] = answer["assignment"]["topicPartitions"]
        return answer["memberEpoch"] == 1 and topic == {"topicId": world.topic_id, "partitions": [0, 1]}

    return Ask(_join(world, world.new_name(), world.new_name()), check=check)


def describe(world: WireWorld, version: int) -> Ask:
    del version

    def check(answer: Json) -> bool:
        [found] = answer["groups"]
        return found["groupState"] == "Stable" and len(found["members"]) == 1

    return Ask({"groupIds": [_joined(world)], "includeAuthorizedOperations": False}, check=check)


def _fetch(world: WireWorld, group: str, version: int) -> Json:
    request = {
        "groupId": group,
        "memberId": group,
        "shareSessionEpoch": 0,
        "maxWaitMs": 0,
        "minBytes": 1,
        "maxBytes": 1_000_000,
        "maxRecords": 100,
        "batchSize": 100,
        "topics": [{"topicId": world.topic_id, "partitions": [{"partitionIndex": 0, "acknowledgementBatches": []}]}],
        "forgottenTopicsData": [],
    }
    return {**request, "shareAcquireMode": 1, "isRenewAck": False} if version > 1 else request


def fetch(world: WireWorld, version: int) -> Ask:
    def check(answer: Json) -> bool:
        [topic] = answer["responses"]
        [partition] = topic["partitions"]
        given = {"firstOffset": 0, "lastOffset": RECORDS_COUNT - 1, "deliveryCount": 1}
        return bool(partition["acquiredRecords"] == [given] and answer["acquisitionLockTimeoutMs"] == 30_000)

    return Ask(_fetch(world, _joined(world), version), check=check)


def acknowledge(world: WireWorld, version: int) -> Ask:
    group = _joined(world)
    world.exchange(Key.SHARE_FETCH, version, _fetch(world, group, version))
    batch = {"firstOffset": 0, "lastOffset": RECORDS_COUNT - 1, "acknowledgeTypes": [1]}
    partitions = [{"partitionIndex": 0, "acknowledgementBatches": [batch]}]
    request = {
        "groupId": group,
        "memberId": group,
        "shareSessionEpoch": 1,
        "topics": [{"topicId": world.topic_id, "partitions": partitions}],
    }
    return Ask({**request, "isRenewAck": False} if version > 1 else request)


def offsets(world: WireWorld, version: int) -> Ask:
    del version
    group = _joined(world)
    world.exchange(Key.SHARE_FETCH, 1, _fetch(world, group, 1))

    def check(answer: Json) -> bool:
        [topic] = answer["groups"][0]["topics"]
        return [each["startOffset"] for each in topic["partitions"]] == [0, -1]

    topics = [{"topicName": world.topic, "partitions": [0, 1]}]
    return Ask({"groups": [{"groupId": group, "topics": topics}]}, check=check)


def alter(world: WireWorld, version: int) -> Ask:
    del version
    topics = [{"topicName": world.topic, "partitions": [{"partitionIndex": 0, "startOffset": 1}]}]
    return Ask({"groupId": world.new_name(), "topics": topics})


def delete(world: WireWorld, version: int) -> Ask:
    asked = alter(world, version).request
    world.exchange(Key.ALTER_SHARE_GROUP_OFFSETS, 0, asked)
    return Ask({"groupId": asked["groupId"], "topics": [{"topicName": world.topic}]})


def read_state(world: WireWorld, version: int) -> Ask:
    """For brokers, which prove that they are."""
    del version
    topics = [{"topicId": world.topic_id, "partitions": [{"partition": 0, "leaderEpoch": 0}]}]
    return refused({"groupId": world.new_name(), "topics": topics}, "INVALID_REQUEST")


def write_state(world: WireWorld, version: int) -> Ask:
    state: Json = {"partition": 0, "stateEpoch": 0, "leaderEpoch": 0, "startOffset": 7, "stateBatches": []}
    if version > 0:
        state["deliveryCompleteCount"] = 0
    topics = [{"topicId": world.topic_id, "partitions": [state]}]
    return refused({"groupId": world.new_name(), "topics": topics}, "INVALID_REQUEST")


ASKS = {
    Key.READ_SHARE_GROUP_STATE: read_state,
    Key.WRITE_SHARE_GROUP_STATE: write_state,
    Key.SHARE_GROUP_HEARTBEAT: heartbeat,
    Key.SHARE_GROUP_DESCRIBE: describe,
    Key.SHARE_FETCH: fetch,
    Key.SHARE_ACKNOWLEDGE: acknowledge,
    Key.DESCRIBE_SHARE_GROUP_OFFSETS: offsets,
    Key.ALTER_SHARE_GROUP_OFFSETS: alter,
    Key.DELETE_SHARE_GROUP_OFFSETS: delete,
}
