"""What requests are about: a topic with records, groups with members, and a way to ask the broker anything."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from kafka.record.memory_records import MemoryRecordsBuilder
from tests.java.jvm import Jvm

from holdfast.protocol.api import Key

Json: TypeAlias = dict[str, Any]
NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"
RECORDS_COUNT = 5
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Ask:
    """A request, the errors that its answer must have and no others, and a look at what else it must say."""

    request: Json
    errors: frozenset[str] = frozenset({"NONE"})
    check: Callable[[Json], bool] = lambda answer: True


def refused(request: Json, *errors: str) -> Ask:
    return Ask(request, frozenset(errors))


@dataclass(frozen=True)
class Member:
    """A member of a group of its own, in the group's first generation."""

    group: str
    member_id: str
    generation: int


class WireWorld:
    """One topic with two partitions, of which the first has records."""

    def __init__(self, java: Jvm) -> None:
        self.java = java
        self.topic = self.new_topic(2)
        self.topic_id = java.do("topics.describe", topic=self.topic)["id"]
        records = [{"topic": self.topic, "partition": 0, "value": b"v"} for _ in range(RECORDS_COUNT)]
        java.do("produce", records=records)

    def new_name(self) -> str:
        return f"asked-{next(_numbers)}"

    def new_topic(self, partitions: int = 1) -> str:
        name = self.new_name()
        self.java.do("topics.create", topic=name, partitions=partitions)
        return name

    def exchange(self, key: Key, version: int, request: Json) -> Json:
        """The answer, read and written again by Kafka's own classes."""
        answer: Json = self.java.do("wire.exchange", api=key, version=version, request=request)
        return answer

    def new_member(self) -> Member:
        """Joined and assigned: the group is stable."""
        group = self.new_name()
        joined = self.exchange(Key.JOIN_GROUP, 3, join_request(group, ""))["response"]
        member = Member(group, joined["memberId"], joined["generationId"])
        self.exchange(Key.SYNC_GROUP, 3, sync_request(member))
        return member

    def new_group_with_offsets(self) -> str:
        """A group without members that has committed an offset."""
        group = self.new_name()
        self.java.do("groups.alter_offsets", group=group, offsets=[[self.topic, 0, 3, "kept"]])
        return group


def join_request(group: str, member_id: str) -> Json:
    return {
        "groupId": group,
        "sessionTimeoutMs": 30_000,
        "rebalanceTimeoutMs": 30_000,
        "memberId": member_id,
        "groupInstanceId": None,
        "protocolType": "consumer",
        "protocols": [{"name": "range", "metadata": "AAEAAAAAAAAAAA=="}],
        "reason": "asked to",
    }


def sync_request(member: Member) -> Json:
    return {
        "groupId": member.group,
        "generationId": member.generation,
        "memberId": member.member_id,
        "groupInstanceId": None,
        "protocolType": "consumer",
        "protocolName": "range",
        "assignments": [{"memberId": member.member_id, "assignment": "AAEAAAAAAAAAAA=="}],
    }


def batch(value: bytes) -> bytes:
    """A record batch, made by another library than ours."""
    builder = MemoryRecordsBuilder(magic=2, compression_type=0, batch_size=1 << 20)
    builder.append(timestamp=1_700_000_000_000, key=b"k", value=value, headers=[("h", b"1")])
    builder.close()
    return bytes(builder.buffer())
