"""Requests about authentication, of which there is none, about the quorum, which is one, and about telemetry."""

from __future__ import annotations

from tests.java.asks.wire_world import NO_ID, Ask, Json, WireWorld, refused

from holdfast.protocol.api import Key

_SOME_ID = "AAAAAAAAAAAAAAAAAAAAKg"
_NOT_ALLOWED = "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED"


def sasl_handshake(world: WireWorld, version: int) -> Ask:
    return refused({"mechanism": "PLAIN"}, "ILLEGAL_SASL_STATE")


def sasl_authenticate(world: WireWorld, version: int) -> Ask:
    return refused({"authBytes": "eA=="}, "ILLEGAL_SASL_STATE")


def create_delegation_token(world: WireWorld, version: int) -> Ask:
    owner = {"ownerPrincipalType": None, "ownerPrincipalName": None}
    renewers = [{"principalType": "User", "principalName": "a"}]
    return refused({**owner, "renewers": renewers, "maxLifetimeMs": -1}, _NOT_ALLOWED)


def renew_delegation_token(world: WireWorld, version: int) -> Ask:
    return refused({"hmac": "eA==", "renewPeriodMs": 1}, _NOT_ALLOWED)


def expire_delegation_token(world: WireWorld, version: int) -> Ask:
    return refused({"hmac": "eA==", "expiryTimePeriodMs": 1}, _NOT_ALLOWED)


def describe_delegation_token(world: WireWorld, version: int) -> Ask:
    return refused({"owners": None}, _NOT_ALLOWED)


def describe_user_scram_credentials(world: WireWorld, version: int) -> Ask:
    return refused({"users": [{"name": "u"}]}, "RESOURCE_NOT_FOUND")


def alter_user_scram_credentials(world: WireWorld, version: int) -> Ask:
    new = {"name": "v", "mechanism": 1, "iterations": 4096, "salt": "eA==", "saltedPassword": "eA=="}
    return refused({"deletions": [{"name": "u", "mechanism": 1}], "upsertions": [new]}, "RESOURCE_NOT_FOUND", "NONE")


def describe_quorum(world: WireWorld, version: int) -> Ask:
    def check(answer: Json) -> bool:
        [[found]] = [each["partitions"] for each in answer["topics"]]
        voters = [(each["replicaId"], each["logEndOffset"]) for each in found["currentVoters"]]
        known = [each["nodeId"] for each in answer.get("nodes", [])]
        return voters == [(found["leaderId"], found["highWatermark"])] and known == ([0] if version >= 2 else [])

    wanted = [{"topicName": "__cluster_metadata", "partitions": [{"partitionIndex": 0}]}]
    return Ask({"topics": wanted}, check=check)


def unregister_broker(world: WireWorld, version: int) -> Ask:
    return refused({"brokerId": 9}, "BROKER_ID_NOT_REGISTERED")


def add_raft_voter(world: WireWorld, version: int) -> Ask:
    listeners = [{"name": "L", "host": "h", "port": 1}]
    voter = {"voterId": 9, "voterDirectoryId": _SOME_ID, "listeners": listeners, "ackWhenCommitted": True}
    return refused({"clusterId": None, "timeoutMs": 1, **voter}, "UNSUPPORTED_VERSION")


def remove_raft_voter(world: WireWorld, version: int) -> Ask:
    return refused({"clusterId": None, "voterId": 9, "voterDirectoryId": _SOME_ID}, "UNSUPPORTED_VERSION")


def get_telemetry_subscriptions(world: WireWorld, version: int) -> Ask:
    def check(answer: Json) -> bool:
        return answer["requestedMetrics"] == [] and answer["clientInstanceId"] != NO_ID

    return Ask({"clientInstanceId": NO_ID}, check=check)


def push_telemetry(world: WireWorld, version: int) -> Ask:
    told = {"subscriptionId": 1, "terminating": False, "compressionType": 0, "metrics": "eA=="}
    return refused({"clientInstanceId": _SOME_ID, **told}, "UNKNOWN_SUBSCRIPTION_ID")


ASKS = {
    Key.SASL_HANDSHAKE: sasl_handshake,
    Key.SASL_AUTHENTICATE: sasl_authenticate,
    Key.CREATE_DELEGATION_TOKEN: create_delegation_token,
    Key.RENEW_DELEGATION_TOKEN: renew_delegation_token,
    Key.EXPIRE_DELEGATION_TOKEN: expire_delegation_token,
    Key.DESCRIBE_DELEGATION_TOKEN: describe_delegation_token,
    Key.DESCRIBE_USER_SCRAM_CREDENTIALS: describe_user_scram_credentials,
    Key.ALTER_USER_SCRAM_CREDENTIALS: alter_user_scram_credentials,
    Key.DESCRIBE_QUORUM: describe_quorum,
    Key.UNREGISTER_BROKER: unregister_broker,
    Key.ADD_RAFT_VOTER: add_raft_voter,
    Key.REMOVE_RAFT_VOTER: remove_raft_voter,
    Key.GET_TELEMETRY_SUBSCRIPTIONS: get_telemetry_subscriptions,
    Key.PUSH_TELEMETRY: push_telemetry,
}
