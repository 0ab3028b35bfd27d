"""Changes: what a visitor may do where `console.write` is on. Each goes through the broker's own handler, as theirs.

So the handler asks for the right, charges the quota and refuses what Kafka's clients would be refused, too. What is
there already is changed only by who repeats its name.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, NamedTuple

from holdfast.console.answers import VisitRefused
from holdfast.console.parts import Parts
from holdfast.console.visit import Visitor
from holdfast.errors import Rejected
from holdfast.protocol.api import Key
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from holdfast.protocol.generated.delete_groups import DeleteGroupsRequest
from holdfast.protocol.generated.delete_topics import DeleteTopicsRequest
from holdfast.protocol.generated.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from holdfast.protocol.generated.init_producer_id import InitProducerIdRequest
from holdfast.protocol.generated.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from holdfast.protocol.message import Message
from holdfast.record.build import build
from holdfast.record.records import Record
from holdfast.security.rules import Operation, ResourceType

_REFUSALS: Final = (
    Code.TOPIC_AUTHORIZATION_FAILED,
    Code.GROUP_AUTHORIZATION_FAILED,
    Code.CLUSTER_AUTHORIZATION_FAILED,
    Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
)
_TIMEOUT_MS: Final = 30_000


class ChangeAsked(NamedTuple):
    """Somebody wants to change something."""

    parts: Parts
    visitor: Visitor
    names: Mapping[str, str]
    said: Mapping[str, Any]

    def text(self, name: str) -> str:
        value = self.said.get(name, "")
        if not isinstance(value, str):
            raise Rejected(f"{name} is no text")
        return value

    async def ask(self, key: Key, version: int, message: Message) -> Any:
        return await self.parts.ask(self.visitor.session, key, version, message)


class Change(NamedTuple):
    """One row: where it is posted to, what it does, the right it needs, and whose name is to be repeated."""

    path: str
    do: Callable[[ChangeAsked], Awaitable[str]]
    right: str
    shows: str
    repeats: str = ""

    @property
    def pattern(self) -> re.Pattern[str]:
        return re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", self.path))


async def make(change: Change, asked: ChangeAsked) -> str:
    """Do it; what was done, in words. Raises Rejected."""
    if not asked.parts.settings.write:
        raise VisitRefused("this console changes nothing: console.write is false")
    name = asked.names.get(change.repeats, "")
    if name and asked.text("repeat") != name:
        raise Rejected(f"repeat the name to be sure: {name}")
    done = await change.do(asked)
    asked.visitor.gate.changed(asked.visitor.session, f"console: {done}")
    return done


def _check(code: int, message: str | None = None) -> None:
    if code == Code.NONE:
        return
    said = message or Code(code).name.replace("_", " ").lower()
    raise VisitRefused(said) if code in _REFUSALS else Rejected(said)


async def create_topic(asked: ChangeAsked) -> str:
    name, count = asked.text("name"), asked.said.get("partitions", 1)
    configs = asked.said.get("configs", {})
    if not isinstance(count, int) or not isinstance(configs, dict):
        raise Rejected("partitions is a number, configs an object of texts")
    rows = [CreatableTopicConfig(name=str(each), value=str(value)) for each, value in configs.items()]
    topic = CreatableTopic(name=name, num_partitions=count, replication_factor=1, assignments=[], configs=rows)
    message = CreateTopicsRequest(topics=[topic], timeout_ms=_TIMEOUT_MS, validate_only=False)
    [result] = (await asked.ask(Key.CREATE_TOPICS, 5, message)).topics
    _check(result.error_code, result.error_message)
    return f"topic {name} made, {count} partitions"


async def delete_topic(asked: ChangeAsked) -> str:
    name = asked.names["topic"]
    message = DeleteTopicsRequest(topic_names=[name], timeout_ms=_TIMEOUT_MS)
    [result] = (await asked.ask(Key.DELETE_TOPICS, 5, message)).responses
    _check(result.error_code, result.error_message)
    return f"topic {name} deleted"


async def set_config(asked: ChangeAsked) -> str:
    topic, name, value = asked.names["topic"], asked.text("name"), asked.said.get("value")
    row = AlterableConfig(
        name=name, config_operation=1 if value is None else 0, value=None if value is None else str(value)
    )
    resource = AlterConfigsResource(resource_type=2, resource_name=topic, configs=[row])
    message = IncrementalAlterConfigsRequest(resources=[resource], validate_only=False)
    [result] = (await asked.ask(Key.INCREMENTAL_ALTER_CONFIGS, 1, message)).responses
    _check(result.error_code, result.error_message)
    return f"{name} of topic {topic} " + ("is the default again" if value is None else "set")


async def produce(asked: ChangeAsked) -> str:
    topic, number = asked.names["topic"], asked.said.get("partition", 0)
    headers = asked.said.get("headers", {})
    if not isinstance(number, int) or not isinstance(headers, dict):
        raise Rejected("partition is a number, headers an object of texts")
    key = asked.said.get("key")
    value = None if asked.said.get("value") is None else asked.text("value").encode()
    rows = tuple((str(name), str(each).encode()) for name, each in headers.items())
    record = Record(None if key is None else asked.text("key").encode(), value, asked.parts.clock.now_ms(), rows)
    data = PartitionProduceData(index=number, records=bytes(build([record])))
    topics = [TopicProduceData(name=topic, partition_data=[data])]
    message = ProduceRequest(transactional_id=None, acks=-1, timeout_ms=_TIMEOUT_MS, topic_data=topics)
    [[result]] = [each.partition_responses for each in (await asked.ask(Key.PRODUCE, 9, message)).responses]
    _check(result.error_code, result.error_message)
    return f"record {topic}-{number}@{result.base_offset} produced"


async def end_transaction(asked: ChangeAsked) -> str:
    """As Kafka's own tools do: a new producer of the id fences the one before, and what it had open is aborted."""
    name = asked.names["id"]
    if not asked.visitor.sees(Operation.WRITE, ResourceType.TRANSACTIONAL_ID, name):
        raise VisitRefused(f"no rule lets you WRITE the TRANSACTIONAL_ID {name}")
    timeout_ms = asked.parts.transactions.describe(name).timeout_ms  # One that does not exist would be made.
    new: dict[str, int] = {"producer_id": -1, "producer_epoch": -1}
    message = InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=timeout_ms, **new)
    _check((await asked.ask(Key.INIT_PRODUCER_ID, 4, message)).error_code)
    return f"transaction of {name} ended: its producer is fenced, and what it had open is aborted"


async def delete_group(asked: ChangeAsked) -> str:
    name = asked.names["group"]
    [result] = (await asked.ask(Key.DELETE_GROUPS, 2, DeleteGroupsRequest(groups_names=[name]))).results
    _check(result.error_code)
    return f"group {name} deleted with its offsets"


CHANGES: Final = (
    Change("/topics", create_topic, "Create Topic", "Make a topic: `name`, `partitions`, `configs`."),
    Change("/topics/{topic}/delete", delete_topic, "Delete Topic", "Delete a topic for ever.", "topic"),
    Change(
        "/topics/{topic}/configs",
        set_config,
        "AlterConfigs Topic",
        "Set one config: `name`, `value`; null is the default again.",
        "topic",
    ),
    Change(
        "/topics/{topic}/records", produce, "Write Topic", "Produce a record: `partition`, `key`, `value`, `headers`."
    ),
    Change(
        "/transactions/{id}/end",
        end_transaction,
        "Write TransactionalId",
        "End a hanging transaction: its producer is fenced, and what it had open is aborted.",
        "id",
    ),
    Change("/groups/{group}/delete", delete_group, "Delete Group", "Delete an empty group with its offsets.", "group"),
)
