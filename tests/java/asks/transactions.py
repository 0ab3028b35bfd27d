"""Requests of transactional producers, and about transactions."""

from __future__ import annotations

from tests.java.asks.wire_world import Ask, Json, WireWorld

from holdfast.protocol.api import Key

_MANY_FROM = 4  # AddPartitionsToTxn.


def _begun(world: WireWorld, *, topic: str | None = None, group: str | None = None) -> Json:
    """A producer of its own, with a transaction when it is to have one."""
    wanted = {"transactionalId": world.new_name(), "transactionTimeoutMs": 60_000, "producerId": -1}
    made = world.exchange(Key.INIT_PRODUCER_ID, 4, {**wanted, "producerEpoch": -1})["response"]
    producer = {
        "transactionalId": wanted["transactionalId"],
        "producerId": made["producerId"],
        "producerEpoch": made["producerEpoch"],
    }
    if topic is not None:
        world.exchange(Key.ADD_PARTITIONS_TO_TXN, 3, _partitions(producer, topic))
    if group is not None:
        world.exchange(Key.ADD_OFFSETS_TO_TXN, 3, {**producer, "groupId": group})
    return producer


def _partitions(producer: Json, topic: str) -> Json:
    old = {f"v3AndBelow{key[0].upper()}{key[1:]}": value for key, value in producer.items()}
    return {**old, "v3AndBelowTopics": [{"name": topic, "partitions": [0]}]}


def add_partitions(world: WireWorld, version: int) -> Ask:
    producer, topic = _begun(world), world.new_topic()
    if version < _MANY_FROM:
        return Ask(_partitions(producer, topic))
    one = {**producer, "verifyOnly": False, "topics": [{"name": topic, "partitions": [0]}]}
    return Ask({"transactions": [one]})


def add_offsets(world: WireWorld, version: int) -> Ask:
    return Ask({**_begun(world), "groupId": world.new_name()})


def end(world: WireWorld, version: int) -> Ask:
    return Ask({**_begun(world, topic=world.new_topic()), "committed": True})


def offset_commit(world: WireWorld, version: int) -> Ask:
    group = world.new_name()
    part = {"partitionIndex": 0, "committedOffset": 2, "committedLeaderEpoch": 0, "committedMetadata": "m"}
    member = {"groupId": group, "generationId": -1, "memberId": "", "groupInstanceId": None}
    topics = [{"name": world.topic, "partitions": [part]}]
    return Ask({**_begun(world, group=group), **member, "topics": topics})


def write_markers(world: WireWorld, version: int) -> Ask:
    topic = world.new_topic()
    producer = _begun(world, topic=topic)
    marker = {
        "producerId": producer["producerId"],
        "producerEpoch": producer["producerEpoch"],
        "transactionResult": False,
        "topics": [{"name": topic, "partitionIndexes": [0]}],
        "coordinatorEpoch": 0,
        "transactionVersion": 0,
    }
    return Ask({"markers": [marker]})


def describe(world: WireWorld, version: int) -> Ask:
    topic = world.new_topic()
    producer = _begun(world, topic=topic)

    def check(answer: Json) -> bool:
        [found] = answer["transactionStates"]
        return found["transactionState"] == "Ongoing" and found["topics"] == [{"topic": topic, "partitions": [0]}]

    return Ask({"transactionalIds": [producer["transactionalId"]]}, check=check)


def list_all(world: WireWorld, version: int) -> Ask:
    name = _begun(world)["transactionalId"]
    request = {"stateFilters": [], "producerIdFilters": [], "durationFilter": -1, "transactionalIdPattern": None}
    return Ask(request, check=lambda answer: name in [each["transactionalId"] for each in answer["transactionStates"]])


ASKS = {
    Key.ADD_PARTITIONS_TO_TXN: add_partitions,
    Key.ADD_OFFSETS_TO_TXN: add_offsets,
    Key.END_TXN: end,
    Key.TXN_OFFSET_COMMIT: offset_commit,
    Key.WRITE_TXN_MARKERS: write_markers,
    Key.DESCRIBE_TRANSACTIONS: describe,
    Key.LIST_TRANSACTIONS: list_all,
}
