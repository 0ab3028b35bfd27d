"""K10: every table that clients can fill has a limit, and a flood of it shuts nobody out for long."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.broker.inside import InsideBroker
from tests.broker.wire import Wire
from tests.coordinator.coordinator_world import AT, NOBODY, CoordinatorWorld
from tests.coordinator.group_driver import request
from tests.coordinator.transaction_world import TIMEOUT_MS, TransactionWorld
from tests.log.log_world import in_loop

from holdfast.broker.configs.topic import ConfigInvalid, check_topic_configs
from holdfast.broker.settings import BrokerSettings
from holdfast.coordinator.group.errors import OffsetsFull, TooManyGroups, UnknownMember
from holdfast.coordinator.group.requests import OffsetToCommit
from holdfast.coordinator.transaction.coordinator import IMPLICIT
from holdfast.coordinator.transaction.errors import TooManyTransactionalIds, TransactionalIdUnknown
from holdfast.coordinator.transaction.settings import TransactionSettings
from holdfast.io.objects.memory import MemoryObjects
from holdfast.protocol.api import Key
from holdfast.protocol.errors import Malformed
from holdfast.protocol.wire import compact_string, encode_varint
from holdfast.types import TopicPartition

HALF_HOUR_MS = 30 * 60_000
POLICY_VIOLATION, INVALID_REQUEST, INVALID_PARTITIONS = 44, 42, 37


@in_loop
async def test_a_flood_of_groups_gives_way() -> None:
    """K10: members that ask for half an hour and are never heard of again; who has offsets, or speaks, stays."""
    house = CoordinatorWorld(groups_max=20)
    coordinator = await house.open()
    await house.commit(5, group_id="with offsets")
    speaks = await house.alone("speaks", session_timeout_ms=HALF_HOUR_MS)
    flood = [await house.alone(f"flood {number}", session_timeout_ms=HALF_HOUR_MS) for number in range(18)]
    with pytest.raises(TooManyGroups):
        await coordinator.join("honest", request())
    await house.wait(61)
    await coordinator.heartbeat("speaks", speaks)
    await house.alone("honest")
    assert {"with offsets", "speaks", "honest"} <= {each.group_id for each in coordinator.list_groups()}
    with pytest.raises(UnknownMember):
        await coordinator.heartbeat("flood 17", flood[17])
    await house.restart()
    assert {each.group_id for each in house.coordinator.list_groups()} >= {"with offsets", "speaks", "honest"}
    assert (await house.coordinator.offsets.fetch("with offsets"))[AT] is not None


@in_loop
async def test_a_full_table_of_groups_takes_no_commit_back() -> None:
    """K10, K8: it stays, however shortly the group was there; who is new is refused until one is deleted."""
    house = CoordinatorWorld(groups_max=20)
    coordinator = await house.open()
    for number in range(20):
        await house.commit(number, group_id=f"once {number}")
    for _ in range(3):
        await house.wait(3600)
        with pytest.raises(TooManyGroups):
            await house.commit(1, group_id="new")
    await house.restart()
    coordinator = house.coordinator
    with pytest.raises(TooManyGroups):
        await coordinator.join("new", request())
    assert [await house.fetched(group_id=f"once {number}") for number in range(20)] == list(range(20))
    await coordinator.delete_group("once 3")
    await house.commit(1, group_id="new")
    assert await house.fetched(group_id="new") == 1


@in_loop
async def test_committed_offsets_have_a_limit_of_bytes() -> None:
    """K10: of all groups together, with the texts beside them; also those of transactions, and after a restart."""
    house = CoordinatorWorld(offsets_size_max=20_000)
    await house.open()

    async def taken(group_id: str, partitions: range, text: str = "") -> set[int]:
        offsets = {TopicPartition(AT.topic, each): OffsetToCommit(1, metadata=text) for each in partitions}
        said = await house.coordinator.offsets.commit(group_id, NOBODY, offsets)
        assert all(each is None or isinstance(each, OffsetsFull) for each in said.values())
        return {where.partition for where, each in said.items() if each is None}

    assert await taken("a", range(4), "x" * 4_000) == {0, 1, 2, 3}
    assert await taken("b", range(1), "x" * 4_000) == set()
    assert await taken("b", range(1)) == {0}
    assert await taken("a", range(4), "x" * 4_000) == {0, 1, 2, 3}  # No more than before.
    await house.restart()
    assert await taken("b", range(1, 2), "x" * 4_000) == set()
    assert await taken("a", range(4)) == {0, 1, 2, 3}
    assert await taken("b", range(1, 4), "x" * 4_000) == {1, 2, 3}
    assert await taken("c", range(2), "x" * 4_000) == set()
    await house.coordinator.delete_group("b")
    assert await taken("c", range(4), "x" * 4_000) == {0, 1, 2, 3}


@in_loop
async def test_a_flood_of_transactional_ids_gives_way() -> None:
    """K10: ids that never had a transaction go when there is no room; one that had is never forgotten for it."""
    house = TransactionWorld(1)
    await house.open()
    transactions = house.opened.context.transactions
    transactions._settings = TransactionSettings(ids_max=5)
    producer = await transactions.initialize("used", TIMEOUT_MS)
    transactions.enlist("used", producer, AT, implicit=True)
    await transactions.end("used", producer, commit=False, client_version=IMPLICIT)
    for number in range(4):
        await transactions.initialize(f"flood {number}", TIMEOUT_MS)
    with pytest.raises(TooManyTransactionalIds):
        await transactions.initialize("honest", TIMEOUT_MS)
    await house.pass_time(61)
    await transactions.initialize("honest", TIMEOUT_MS)
    house.disk.power_cut()
    await house.open()
    for name in ("used", "honest"):
        house.opened.context.transactions.describe(name)
    with pytest.raises(TransactionalIdUnknown):
        house.opened.context.transactions.describe("flood 3")


def test_a_string_has_kafkas_limit() -> None:
    """K10: 32,767 bytes, also where the format could hold more."""
    longest = memoryview(encode_varint(32_768) + b"x" * 32_767)
    assert compact_string(longest, 0) == ("x" * 32_767, len(longest))
    with pytest.raises(Malformed, match="32767 are allowed"):
        compact_string(memoryview(encode_varint(32_769) + b"x" * 32_768), 0)


def test_a_user_name_of_megabytes_closes_the_connection(tmp_path: Path) -> None:
    """K10: it is never stored."""
    with InsideBroker(tmp_path, MemoryObjects()) as inside:
        with Wire(inside.port) as wire:
            wire.send(Key.ALTER_CLIENT_QUOTAS, 1, **quota("x" * (2 << 20)))
            assert wire.is_closed()
        assert not inside.context.topics.metadata.quotas


def quota(user: str) -> dict[str, object]:
    entity = [{"entity_type": "user", "entity_name": user}]
    ops = [{"key": "producer_byte_rate", "value": 1.0, "remove": False}]
    return {"entries": [{"entity": entity, "ops": ops}], "validate_only": False}


def test_quotas_and_topics_have_limits(tmp_path: Path) -> None:
    """K10: in number and in what their texts need, together; what is there can still be changed."""
    settings = BrokerSettings(max_client_quotas=2, max_metadata_bytes=1_500)
    with InsideBroker(tmp_path, MemoryObjects(), broker=settings) as inside, Wire(inside.port) as wire:
        codes = [
            wire.ask(Key.ALTER_CLIENT_QUOTAS, 1, **quota(name)).entries[0].error_code for name in ("a", "b", "c", "a")
        ]
        assert codes == [0, 0, INVALID_REQUEST, 0]
        made = [created(wire, f"{'long name ' * 10}{number}".replace(" ", "-")) for number in range(10)]
        assert made[0] == 0
        assert made[-1] == POLICY_VIOLATION


def test_a_broker_has_so_many_partitions(tmp_path: Path) -> None:
    """K10: of all topics together; who deletes one may make another."""
    settings = BrokerSettings(max_partitions=10)  # Eight are internal.
    with InsideBroker(tmp_path, MemoryObjects(), broker=settings) as inside, Wire(inside.port) as wire:
        assert [created(wire, name) for name in ("a", "b", "c")] == [0, 0, INVALID_PARTITIONS]
        wire.ask(Key.DELETE_TOPICS, 5, topic_names=["a"], timeout_ms=5000)
        assert created(wire, "c") == 0


def created(wire: Wire, name: str) -> int:
    topic = {"name": name, "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}
    code: int = (
        wire.ask(Key.CREATE_TOPICS, 7, topics=[topic], timeout_ms=5000, validate_only=False).topics[0].error_code
    )
    return code


def test_the_configs_of_a_topic_have_a_limit() -> None:
    """K10: all of them together."""
    name = "leader.replication.throttled.replicas"
    with pytest.raises(ConfigInvalid, match="65536 at most"):
        check_topic_configs({name: "0:1," * 20_000})
