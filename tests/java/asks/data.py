"""Requests to write, to read and to find one's way."""

from __future__ import annotations

import base64

from tests.java.asks.wire_world import NO_ID, RECORDS_COUNT, Ask, Json, WireWorld, batch

from holdfast.broker.table import advertised
from holdfast.protocol.api import Key


def produce(world: WireWorld, version: int) -> Ask:
    topic = world.new_topic()
    topic_id = world.java.do("topics.describe", topic=topic)["id"]
    part = {"index": 0, "records": base64.b64encode(batch(b"wire")).decode()}
    request = {
        "transactionalId": None,
        "acks": -1,
        "timeoutMs": 10_000,
        "topicData": [{"name": topic, "topicId": topic_id, "partitionData": [part]}],
    }
    return Ask(request, check=lambda answer: _only_part(answer, "partitionResponses")["baseOffset"] == 0)


def fetch(world: WireWorld, version: int) -> Ask:
    part = {
        "partition": 0,
        "currentLeaderEpoch": -1,
        "fetchOffset": 1,
        "lastFetchedEpoch": -1,
        "logStartOffset": -1,
        "partitionMaxBytes": 1 << 20,
        "replicaDirectoryId": NO_ID,
        "highWatermark": 2**63 - 1,
    }
    request = {
        "clusterId": None,
        "replicaId": -1,
        "replicaState": {"replicaId": -1, "replicaEpoch": -1},
        "maxWaitMs": 100,
        "minBytes": 1,
        "maxBytes": 1 << 20,
        "isolationLevel": 1,
        "sessionId": 0,
        "sessionEpoch": 0,
        "topics": [{"topic": world.topic, "topicId": world.topic_id, "partitions": [part]}],
        "forgottenTopicsData": [],
        "rackId": "",
    }

    def check(answer: Json) -> bool:
        part = _only_part(answer, "partitions")
        marks = (part["highWatermark"], part["lastStableOffset"], part["abortedTransactions"])
        return marks == (RECORDS_COUNT, RECORDS_COUNT, []) and part["recordsSizeInBytes"] > 0

    return Ask(request, check=check)


def _only_part(answer: Json, parts: str) -> Json:
    [topic] = answer["responses"]
    [part] = topic[parts]
    return part


def list_offsets(world: WireWorld, version: int) -> Ask:
    newest = -5 if version >= 9 else -4 if version >= 8 else -3 if version >= 7 else -2  # Of the special times.
    asked = {0: -1, 1: newest}  # A partition may be named once.
    parts = [{"partitionIndex": index, "currentLeaderEpoch": -1, "timestamp": at} for index, at in asked.items()]
    request = {
        "replicaId": -1,
        "isolationLevel": 0,
        "topics": [{"name": world.topic, "partitions": parts}],
        "timeoutMs": 10_000,
    }

    def check(answer: Json) -> bool:
        [topic] = answer["topics"]
        found = {each["partitionIndex"]: each["offset"] for each in topic["partitions"]}
        return found.keys() == asked.keys() and found[0] == RECORDS_COUNT

    return Ask(request, check=check)


def metadata(world: WireWorld, version: int) -> Ask:
    request = {
        "topics": [{"name": world.topic, "topicId": NO_ID}],
        "allowAutoTopicCreation": False,
        "includeClusterAuthorizedOperations": True,
        "includeTopicAuthorizedOperations": True,
    }

    def check(answer: Json) -> bool:
        [topic] = answer["topics"]
        return topic["name"] == world.topic and [each["leaderId"] for each in topic["partitions"]] == [0, 0]

    return Ask(request, check=check)


def api_versions(world: WireWorld, version: int) -> Ask:
    expected = [(row.key, row.advertised_from, row.max_version) for row in advertised()]

    def check(answer: Json) -> bool:
        return [(each["apiKey"], each["minVersion"], each["maxVersion"]) for each in answer["apiKeys"]] == expected

    return Ask({"clientSoftwareName": "wire", "clientSoftwareVersion": "1"}, check=check)


def init_producer_id(world: WireWorld, version: int) -> Ask:
    request = {
        "transactionalId": None,
        "transactionTimeoutMs": 60_000,
        "producerId": -1,
        "producerEpoch": -1,
        "enable2Pc": False,
        "keepPreparedTxn": False,
    }
    return Ask(request, check=lambda answer: answer["producerId"] >= 0 and answer["producerEpoch"] == 0)


def offset_for_leader_epoch(world: WireWorld, version: int) -> Ask:
    part = {"partition": 0, "currentLeaderEpoch": -1, "leaderEpoch": 0}
    return Ask({"replicaId": -1, "topics": [{"topic": world.topic, "partitions": [part]}]})


def delete_records(world: WireWorld, version: int) -> Ask:
    topic = world.new_topic()
    world.java.do("produce", records=[{"topic": topic, "value": b"v"}] * 3)
    part = {"partitionIndex": 0, "offset": 2}
    return Ask(
        {"topics": [{"name": topic, "partitions": [part]}], "timeoutMs": 10_000},
        check=lambda answer: answer["topics"][0]["partitions"][0]["lowWatermark"] == 2,
    )


def describe_producers(world: WireWorld, version: int) -> Ask:
    return Ask(
        {"topics": [{"name": world.topic, "partitionIndexes": [0]}]},
        check=lambda answer: len(answer["topics"][0]["partitions"][0]["activeProducers"]) == 1,
    )


ASKS = {
    Key.PRODUCE: produce,
    Key.FETCH: fetch,
    Key.LIST_OFFSETS: list_offsets,
    Key.METADATA: metadata,
    Key.API_VERSIONS: api_versions,
    Key.INIT_PRODUCER_ID: init_producer_id,
    Key.OFFSET_FOR_LEADER_EPOCH: offset_for_leader_epoch,
    Key.DELETE_RECORDS: delete_records,
    Key.DESCRIBE_PRODUCERS: describe_producers,
}
