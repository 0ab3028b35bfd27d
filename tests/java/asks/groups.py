"""Requests of group members, and about groups."""

from __future__ import annotations

from tests.java.asks.wire_world import Ask, Json, WireWorld, join_request, sync_request

from holdfast.protocol.api import Key

_MEMBER_ID_REQUIRED_FROM = 4
_MANY_GROUPS_FROM = 8
_MANY_KEYS_FROM = 4


def find_coordinator(world: WireWorld, version: int) -> Ask:
    def check(answer: Json) -> bool:
        found = answer["coordinators"][0] if version >= _MANY_KEYS_FROM else answer
        return found["nodeId"] == 0 and found["port"] > 0

    return Ask({"key": "a", "keyType": 0, "coordinatorKeys": ["a", "b"]}, check=check)


def join_group(world: WireWorld, version: int) -> Ask:
    group, member_id = world.new_name(), ""
    if version >= _MEMBER_ID_REQUIRED_FROM:
        answer = world.exchange(Key.JOIN_GROUP, version, join_request(group, ""))
        assert list(answer["errors"]) == ["MEMBER_ID_REQUIRED"]
        member_id = answer["response"]["memberId"]

    def check(answer: Json) -> bool:
        [member] = answer["members"]
        leads = answer["leader"] == answer["memberId"] == member["memberId"]
        return leads and answer["protocolName"] == "range" and member["metadata"] == "AAEAAAAAAAAAAA=="

    return Ask(join_request(group, member_id), check=check)


def sync_group(world: WireWorld, version: int) -> Ask:
    return Ask(
        sync_request(world.new_member()),
        check=lambda answer: answer["assignment"] == "AAEAAAAAAAAAAA==",
    )


def heartbeat(world: WireWorld, version: int) -> Ask:
    return Ask(_from_member(world))


def leave_group(world: WireWorld, version: int) -> Ask:
    request = _from_member(world)
    request["members"] = [{"memberId": request["memberId"], "groupInstanceId": None, "reason": "done"}]
    return Ask(request)


def _from_member(world: WireWorld) -> Json:
    member = world.new_member()
    return {
        "groupId": member.group,
        "generationId": member.generation,
        "memberId": member.member_id,
        "groupInstanceId": None,
    }


def offset_commit(world: WireWorld, version: int) -> Ask:
    request = _from_member(world)
    part = {"partitionIndex": 0, "committedOffset": 2, "committedLeaderEpoch": 0, "committedMetadata": "m"}
    request["generationIdOrMemberEpoch"] = request["generationId"]
    request["retentionTimeMs"] = -1
    request["topics"] = [{"name": world.topic, "topicId": world.topic_id, "partitions": [part]}]
    return Ask(request)


def offset_fetch(world: WireWorld, version: int) -> Ask:
    group = world.new_group_with_offsets()
    topics = [{"name": world.topic, "topicId": world.topic_id, "partitionIndexes": [0, 1]}]
    one = {"groupId": group, "memberId": None, "memberEpoch": -1, "topics": topics}

    def check(answer: Json) -> bool:
        found = answer["groups"][0] if version >= _MANY_GROUPS_FROM else answer
        parts = [(each["committedOffset"], each["metadata"]) for each in found["topics"][0]["partitions"]]
        return parts == [(3, "kept"), (-1, "")]

    return Ask({**one, "groups": [one], "requireStable": True}, check=check)


def offset_delete(world: WireWorld, version: int) -> Ask:
    topics = [{"name": world.topic, "partitions": [{"partitionIndex": 0}]}]
    return Ask({"groupId": world.new_group_with_offsets(), "topics": topics})


def describe_groups(world: WireWorld, version: int) -> Ask:
    member = world.new_member()

    def check(answer: Json) -> bool:
        [group] = answer["groups"]
        [found] = group["members"]
        return (group["groupState"], found["memberId"]) == ("Stable", member.member_id)

    return Ask({"groups": [member.group], "includeAuthorizedOperations": True}, check=check)


def list_groups(world: WireWorld, version: int) -> Ask:
    member = world.new_member()
    return Ask(
        {"statesFilter": ["Stable"], "typesFilter": ["classic"]},
        check=lambda answer: member.group in [each["groupId"] for each in answer["groups"]],
    )


def delete_groups(world: WireWorld, version: int) -> Ask:
    return Ask({"groupsNames": [world.new_group_with_offsets()]})


ASKS = {
    Key.FIND_COORDINATOR: find_coordinator,
    Key.JOIN_GROUP: join_group,
    Key.SYNC_GROUP: sync_group,
    Key.HEARTBEAT: heartbeat,
    Key.LEAVE_GROUP: leave_group,
    Key.OFFSET_COMMIT: offset_commit,
    Key.OFFSET_FETCH: offset_fetch,
    Key.OFFSET_DELETE: offset_delete,
    Key.DESCRIBE_GROUPS: describe_groups,
    Key.LIST_GROUPS: list_groups,
    Key.DELETE_GROUPS: delete_groups,
}
