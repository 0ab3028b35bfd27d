"""Who may what: every API asks for the rights of its row, and refuses as Kafka does."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from tests.broker.test_every_api import NAMES, TOPIC, VERSIONS, codes, content
from tests.broker.wire import Closed, Wire, batch, create_topic, fetch_fields, message, produce, produce_fields
from tests.protocol import oracle
from tests.support.guarded import Guarded, rule

from holdfast.broker.guard import rights
from holdfast.broker.guard.rights import RIGHTS, Right
from holdfast.broker.table import HANDLERS
from holdfast.protocol.api import APIS, Key
from holdfast.protocol.classes import request_class
from holdfast.protocol.codes import Code
from holdfast.protocol.header import decode_response_header, frame_request
from holdfast.protocol.messages import encode_request
from holdfast.security.rules import SUPPORTED, Operation, PatternType, Permission, ResourceType

REFUSALS = {29, 30, 31, 53}
CODES = {ResourceType.TOPIC: 29, ResourceType.GROUP: 30, ResourceType.CLUSTER: 31, ResourceType.TRANSACTIONAL_ID: 53}
LISTS = {Key.LIST_GROUPS, Key.LIST_TRANSACTIONS, Key.DESCRIBE_CLUSTER}  # What may not be seen is left out.
SILENT = {(Key.DESCRIBE_LOG_DIRS, 1), (Key.DESCRIBE_LOG_DIRS, 2)}  # These cannot say why they tell nothing.
# Rights that another one stands in for, or that are not asked of what `content` names.
OTHERWISE = {
    Key.PRODUCE: {rights.WRITE_TRANSACTION},
    Key.METADATA: {rights.CREATE_TOPIC, rights.CREATE_CLUSTER, rights.DESCRIBE_CLUSTER},
    Key.FIND_COORDINATOR: {rights.DESCRIBE_TRANSACTION, rights.CLUSTER_ACTION},
    Key.CREATE_TOPICS: {rights.CREATE_TOPIC, rights.CREATE_CLUSTER, rights.DESCRIBE_TOPIC_CONFIGS},
    Key.DELETE_TOPICS: {rights.DELETE_TOPIC, rights.DELETE_CLUSTER, rights.DESCRIBE_TOPIC},
    Key.INIT_PRODUCER_ID: {rights.WRITE_TRANSACTION, rights.IDEMPOTENT_WRITE, rights.WRITE_TOPIC},
    Key.OFFSET_FOR_LEADER_EPOCH: {rights.CLUSTER_ACTION, rights.DESCRIBE_TOPIC},
    Key.ADD_PARTITIONS_TO_TXN: {rights.WRITE_TRANSACTION, rights.WRITE_TOPIC},
    Key.WRITE_TXN_MARKERS: {rights.ALTER_CLUSTER, rights.CLUSTER_ACTION},
    Key.DESCRIBE_CONFIGS: {rights.DESCRIBE_GROUP_CONFIGS},
    Key.ALTER_CONFIGS: {rights.ALTER_GROUP_CONFIGS, rights.ALTER_CLUSTER_CONFIGS},
    Key.INCREMENTAL_ALTER_CONFIGS: {rights.ALTER_GROUP_CONFIGS, rights.ALTER_CLUSTER_CONFIGS},
    Key.DESCRIBE_TRANSACTIONS: {rights.DESCRIBE_TOPIC},
    Key.CONSUMER_GROUP_DESCRIBE: {rights.DESCRIBE_TOPIC},
    Key.SHARE_GROUP_DESCRIBE: {rights.DESCRIBE_TOPIC},
    Key.SHARE_ACKNOWLEDGE: {rights.READ_TOPIC},
    Key.DELETE_SHARE_GROUP_OFFSETS: {rights.READ_TOPIC},
}
NEWEST = {key: max(version for each, version in VERSIONS if each == key) for key in RIGHTS}
ASKED = [
    (key, right)
    for key, row in RIGHTS.items()
    for right in sorted(row.asked - OTHERWISE.get(key, set()), key=str)
    if key not in LISTS
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    guarded = Guarded(tmp_path_factory.mktemp("rights"))
    with guarded.process:
        yield guarded


@pytest.fixture(scope="module")
def topic_id(place: Guarded) -> Any:
    with Wire(place.plain) as wire:
        made = create_topic(wire, TOPIC)
        produce(wire, TOPIC, batch(b"one"))
        member = {"group_id": "every-shared", "member_id": "m", "subscribed_topic_names": [TOPIC]}
        assert wire.ask(Key.SHARE_GROUP_HEARTBEAT, 1, **member).error_code == 0
        wire.ask(Key.OFFSET_COMMIT, 9, **content(Key.OFFSET_COMMIT, 9, made), generation_id_or_member_epoch=-1)
    return made


@pytest.fixture(scope="module")
def nobody(place: Guarded) -> Iterator[Wire]:
    """Somebody without any right."""
    with place.wire(place.user()) as wire:
        yield wire


def asked(wire: Wire, key: Key, version: int, topic_id: Any) -> Any:
    """The answer as another implementation reads it."""
    body = encode_request(key, version, message(request_class(key), content(key, version, topic_id)))
    wire.send_bytes(b"".join(frame_request(key, version, 1, "every", body)))
    frame = wire.receive()
    _, start = decode_response_header(key, version, memoryview(frame))
    return oracle.decode(oracle.response_entity(key, version), frame[start:])


def test_what_is_served_has_a_row_and_the_other_way_round() -> None:
    """X8: an API without a row of rights does not serve."""
    assert RIGHTS.keys() == HANDLERS.keys()
    for row in RIGHTS.values():
        for right in row.asked:
            is_known = right.operation in SUPPORTED[right.kind]
            assert is_known or right is rights.DELETE_CLUSTER  # Which only those have who may do all.


@pytest.mark.parametrize(("key", "version"), VERSIONS, ids=NAMES)
def test_without_rights_nothing_is_told_and_nothing_done(nobody: Wire, topic_id: Any, key: Key, version: int) -> None:
    """X8: every API in every version. The test of X8."""
    if key in (Key.SASL_HANDSHAKE, Key.SASL_AUTHENTICATE):
        return  # On this listener they are the login's.
    found = set(codes(asked(nobody, key, version, topic_id)))
    if not RIGHTS[key].asked:
        assert not found & REFUSALS
    elif key in LISTS or (key, version) in SILENT:
        assert found <= {0}
    else:
        assert found & REFUSALS
        assert found <= {0, *REFUSALS}


def test_nothing_was_done(place: Guarded, topic_id: Any) -> None:
    """X8: what was refused has changed nothing. After the test above, in its order."""
    topics = place.ask(Key.METADATA, 12, topics=None).topics
    names = {each.name for each in topics if not each.is_internal}
    assert names == {TOPIC}
    [topic] = place.ask(Key.LIST_OFFSETS, 7, **content(Key.LIST_OFFSETS, 7, topic_id)).topics
    assert topic.partitions[0].offset == 1
    groups = place.ask(Key.LIST_GROUPS, 4, states_filter=[]).groups
    assert {each.group_id for each in groups} == {"every", "every-shared"}


@pytest.mark.parametrize("key", RIGHTS, ids=lambda key: APIS[key].name)
def test_with_the_rights_of_its_row_an_api_refuses_nothing(place: Guarded, topic_id: Any, key: Key) -> None:
    """X7, X8."""
    if key in (Key.SASL_HANDSHAKE, Key.SASL_AUTHENTICATE):
        return
    user = place.user()
    place.allow(user, *RIGHTS[key].asked)
    with place.wire(user) as wire:
        assert not set(codes(asked(wire, key, NEWEST[key], topic_id))) & REFUSALS


@pytest.mark.parametrize(("key", "right"), ASKED, ids=[f"{APIS[key].name}-{right}" for key, right in ASKED])
def test_each_right_of_a_row_is_asked(place: Guarded, topic_id: Any, key: Key, right: Right) -> None:
    """X8: who has all but one is refused for that one."""
    user = place.user()
    place.allow(user, *RIGHTS[key].asked)
    place.ask(Key.CREATE_ACLS, 3, creations=[rule(user, right, permission=Permission.DENY)])
    with place.wire(user) as wire:
        assert CODES[right.kind] in set(codes(asked(wire, key, NEWEST[key], topic_id)))


# What is hidden


def metadata(wire: Wire, *names: str, create: bool = False, **more: Any) -> dict[str | None, Any]:
    wanted = [{"name": name, "topic_id": None} for name in names] if names else None
    answer = wire.ask(Key.METADATA, 12, topics=wanted, allow_auto_topic_creation=create, **more)
    return {each.name: each for each in answer.topics}


def test_what_may_not_be_described_is_left_out_and_not_told_apart_from_nothing(place: Guarded, topic_id: Any) -> None:
    """X8: a topic by its name, there or not; by its id without its name; and all of them."""
    user = place.user()
    with Wire(place.plain) as root, place.wire(user) as wire:
        create_topic(root, "seen-1")
        place.allow(user, rights.READ_TOPIC, name="seen-", pattern=PatternType.PREFIXED)
        assert set(metadata(wire)) == {"seen-1"}
        found = metadata(wire, TOPIC, "absent", "seen-1", "seen-absent")
        assert {name: each.error_code for name, each in found.items()} == {
            TOPIC: 29, "absent": 29, "seen-1": 0, "seen-absent": 3,
        }  # fmt: skip
        assert not any(found[name].topic_id for name in (TOPIC, "absent"))
        [by_id] = wire.ask(Key.METADATA, 12, topics=[{"name": None, "topic_id": topic_id}]).topics
        assert (by_id.error_code, by_id.name, by_id.topic_id, by_id.partitions) == (29, None, topic_id, [])


def test_groups_and_transactions_that_may_not_be_described_are_left_out(place: Guarded) -> None:
    """X8: and all groups are shown to those who may describe the cluster."""
    user, seer = place.user(), place.user()
    with Wire(place.plain) as root, place.wire(user) as wire, place.wire(seer) as other:
        for name in ("team-a", "team-b"):
            commit = {"group_id": name, "topics": [{"name": TOPIC, "partitions": [{"partition_index": 0}]}]}
            root.ask(Key.OFFSET_COMMIT, 8, **commit, member_id="", generation_id_or_member_epoch=-1)
            root.ask(Key.INIT_PRODUCER_ID, 4, transactional_id=name, transaction_timeout_ms=1000)
        place.allow(user, rights.DESCRIBE_GROUP, rights.WRITE_TRANSACTION, name="team-a")
        place.allow(seer, rights.DESCRIBE_CLUSTER)
        assert {each.group_id for each in wire.ask(Key.LIST_GROUPS, 4, states_filter=[]).groups} == {"team-a"}
        ids = wire.ask(Key.LIST_TRANSACTIONS, 1, state_filters=[], producer_id_filters=[], duration_filter=-1)
        assert {each.transactional_id for each in ids.transaction_states} == {"team-a"}
        shown = {each.group_id for each in other.ask(Key.LIST_GROUPS, 4, states_filter=[]).groups}
        assert shown >= {"team-a", "team-b"}


def test_a_pattern_of_a_group_matches_only_what_may_be_described(place: Guarded) -> None:
    """X8: ConsumerGroupHeartbeat with a regular expression; what comes with a rule comes with the next heartbeats."""
    user = place.user()
    with Wire(place.plain) as root, place.wire(user) as wire:
        for name in ("regex-open", "regex-hidden"):
            create_topic(root, name)
        place.allow(user, rights.READ_GROUP, name="regex-group")
        place.allow(user, rights.DESCRIBE_TOPIC, name="regex-open")
        names = {each.topic_id: each.name for each in root.ask(Key.METADATA, 12, topics=None).topics}
        member = {"group_id": "regex-group", "member_id": "one", "topic_partitions": []}
        fields = {"subscribed_topic_names": [], "subscribed_topic_regex": "regex-.*", "rebalance_timeout_ms": 5000}
        joined = wire.ask(Key.CONSUMER_GROUP_HEARTBEAT, 1, member_epoch=0, **fields, **member)
        assert [names[each.topic_id] for each in joined.assignment.topic_partitions] == ["regex-open"]
        place.allow(user, rights.DESCRIBE_TOPIC, name="regex-hidden")
        told = wire.ask(Key.CONSUMER_GROUP_HEARTBEAT, 1, member_epoch=joined.member_epoch, **fields, **member)
        found = {names[each.topic_id] for each in told.assignment.topic_partitions}
        assert (told.error_code, found) == (0, {"regex-open", "regex-hidden"})


def test_offsets_of_hidden_topics_are_left_out(place: Guarded, topic_id: Any) -> None:
    """X8: of all that a group has committed."""
    user = place.user()
    with Wire(place.plain) as root, place.wire(user) as wire:
        create_topic(root, "read-by-them")
        rows = [{"name": name, "partitions": [{"partition_index": 0}]} for name in (TOPIC, "read-by-them")]
        done = root.ask(Key.OFFSET_COMMIT, 8, group_id="both", topics=rows, generation_id_or_member_epoch=-1)
        assert not any(each.error_code for topic in done.topics for each in topic.partitions)
        place.allow(user, rights.READ_GROUP)
        place.allow(user, rights.READ_TOPIC, name="read-by-them")
        [group] = wire.ask(Key.OFFSET_FETCH, 8, groups=[{"group_id": "both", "topics": None}]).groups
        assert [each.name for each in group.topics] == ["read-by-them"]


def test_a_topic_is_made_by_naming_it_only_with_the_right_to(place: Guarded) -> None:
    """X8: Describe is not enough; Create of the topic, or of the cluster, is."""
    user = place.user()
    with place.wire(user) as wire:
        place.allow(user, rights.DESCRIBE_TOPIC)
        assert metadata(wire, "named-1", create=True)["named-1"].error_code == 29
        assert "named-1" not in metadata(wire)
        place.allow(user, rights.CREATE_TOPIC, name="named-2")
        assert metadata(wire, "named-2", create=True)["named-2"].error_code == 3
        assert "named-2" in metadata(wire)
        place.allow(user, rights.CREATE_CLUSTER)
        assert metadata(wire, "named-1", create=True)["named-1"].error_code == 3
        assert "named-1" in metadata(wire)


def test_operations_are_those_of_whoever_asks(place: Guarded) -> None:
    """X8: Metadata keeps bytes of topics: not those of another user."""
    user = place.user()
    include = {"include_topic_authorized_operations": True}
    with Wire(place.plain) as root, place.wire(user) as wire:
        create_topic(root, "shown")
        place.allow(user, rights.READ_TOPIC, name="shown")
        everything = sum(1 << each for each in SUPPORTED[ResourceType.TOPIC])
        some = 1 << Operation.READ | 1 << Operation.DESCRIBE
        assert metadata(root, "shown", **include)["shown"].topic_authorized_operations == everything
        assert metadata(wire, "shown", **include)["shown"].topic_authorized_operations == some
        assert metadata(wire, "shown")["shown"].topic_authorized_operations == -(1 << 31)
        asked_for = {"include_cluster_authorized_operations": True}
        assert wire.ask(Key.DESCRIBE_CLUSTER, 1, **asked_for).cluster_authorized_operations == 0
        place.allow(user, rights.ALTER_CLUSTER)
        shown = wire.ask(Key.DESCRIBE_CLUSTER, 1, **asked_for).cluster_authorized_operations
        assert shown == 1 << Operation.ALTER | 1 << Operation.DESCRIBE


def test_a_topic_that_is_deleted_by_its_id_keeps_its_name_to_itself(place: Guarded) -> None:
    """X8."""
    user = place.user()
    with Wire(place.plain) as root, place.wire(user) as wire:
        made = create_topic(root, "kept")
        wanted = {"topics": [{"name": None, "topic_id": made}], "timeout_ms": 5000}
        [refused] = wire.ask(Key.DELETE_TOPICS, 6, **wanted).responses
        assert (refused.error_code, refused.name, refused.topic_id) == (29, None, made)
        place.allow(user, rights.DESCRIBE_TOPIC)
        [named] = wire.ask(Key.DELETE_TOPICS, 6, **wanted).responses
        assert (named.error_code, named.name) == (29, "kept")
        place.allow(user, rights.DELETE_TOPIC)
        [gone] = wire.ask(Key.DELETE_TOPICS, 6, **wanted).responses
        assert gone.error_code == 0


def test_a_topic_that_a_share_group_names_by_its_id_keeps_its_name_to_itself(place: Guarded) -> None:
    """X8: neither what is fetched nor what is acknowledged is answered with the name that an id stands for."""
    user, member = place.user(), "A" * 22
    place.allow(user, rights.READ_GROUP, name="by-id")
    with Wire(place.plain) as root, place.wire(user) as wire:
        hidden = create_topic(root, "kept-from-shares")
        create_topic(root, "shared-by-id")
        place.allow(user, rights.READ_TOPIC, name="shared-by-id")
        who = {"group_id": "by-id", "member_id": member}
        joined = wire.ask(Key.SHARE_GROUP_HEARTBEAT, 1, **who, member_epoch=0, subscribed_topic_names=["shared-by-id"])
        assert joined.error_code == 0
        limits = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 1000, "max_records": 10, "batch_size": 10}
        row = {"partition_index": 0, "acknowledgement_batches": []}
        taken = {"first_offset": 0, "last_offset": 0, "acknowledge_types": [1]}
        answers = []
        for epoch, batches in ((0, []), (1, [taken])):
            topics = [{"topic_id": hidden, "partitions": [{**row, "acknowledgement_batches": batches}]}]
            asked = {**who, **limits, "share_session_epoch": epoch, "topics": topics, "forgotten_topics_data": []}
            answers.append(wire.ask(Key.SHARE_FETCH, 1, **asked))
        answers.append(wire.ask(Key.SHARE_ACKNOWLEDGE, 1, **who, share_session_epoch=2, topics=topics))
    assert [answer.responses[0].partitions[0].error_code for answer in answers] == [29, 29, 29]
    assert "kept-from-shares" not in str(answers)


def test_a_topic_that_is_written_by_its_id_keeps_its_name_to_itself(place: Guarded) -> None:
    """X8: whoever may not write to it is not told what it is called."""
    user = place.user()
    with Wire(place.plain) as root, place.wire(user) as wire:
        hidden = create_topic(root, "kept-from-writers")
        answer = produce(wire, hidden, batch(b"x"))
    assert (answer.error_code, "kept-from-writers" in str(answer)) == (29, False)


def test_configs_of_a_new_topic_are_shown_with_their_own_right(place: Guarded) -> None:
    """X8: who may create may not see what became of it."""
    user = place.user()
    place.allow(user, rights.CREATE_TOPIC)
    with place.wire(user) as wire:
        row = {"num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}
        [made] = wire.ask(Key.CREATE_TOPICS, 7, topics=[{"name": "made-blind", **row}], timeout_ms=5000).topics
        assert (made.error_code, made.topic_config_error_code, made.num_partitions) == (0, 29, -1)
        assert not made.configs
        place.allow(user, rights.DESCRIBE_TOPIC_CONFIGS)
        [made] = wire.ask(Key.CREATE_TOPICS, 7, topics=[{"name": "made-seen", **row}], timeout_ms=5000).topics
        assert (made.topic_config_error_code, made.num_partitions) == (0, 1)
        assert made.configs


# Producing and fetching


def produced(wire: Wire, topic: str, **more: Any) -> int:
    answer = wire.ask(Key.PRODUCE, 9, **{**produce_fields(topic, batch(b"x")), **more})
    return int(answer.responses[0].partition_responses[0].error_code)


def fetched(wire: Wire, topic: str, **more: Any) -> tuple[int, int, int]:
    """The session, and code and bytes of the one partition; -1 where there is none."""
    answer = wire.ask(Key.FETCH, 11, **{**fetch_fields(topic, more.pop("offset", 0)), **more})
    rows = [each for topic in answer.responses for each in topic.partitions]
    return answer.session_id, (rows[0].error_code if rows else -1), (len(rows[0].records or b"") if rows else -1)


def test_requests_that_come_together_have_the_rights_of_their_own_senders(place: Guarded) -> None:
    """X7: a broker that stood still reads both in one turn; who comes first lends the other nothing."""
    writer, reader = place.user(), place.user()
    with Wire(place.plain) as root, place.wire(writer) as first, place.wire(reader) as second:
        create_topic(root, "together")
        place.allow(writer, rights.WRITE_TOPIC, name="together")
        for _ in range(5):
            os.kill(place.process.pid, signal.SIGSTOP)
            try:
                sent = [
                    (each, each.send(Key.PRODUCE, 9, **produce_fields("together", batch(b"x"))))
                    for each in (first, second)
                ]
            finally:
                os.kill(place.process.pid, signal.SIGCONT)
            answers = [wire.answer(Key.PRODUCE, 9, number) for wire, number in sent]
            assert [each.responses[0].partition_responses[0].error_code for each in answers] == [0, 29]


def test_a_rule_counts_at_once_on_connections_that_are_open(place: Guarded) -> None:
    """X7: allowed, then denied, then forgotten; what was said before is not remembered."""
    user = place.user()
    with Wire(place.plain) as root, place.wire(user) as wire:
        create_topic(root, "moving")
        assert produced(wire, "moving") == 29
        place.allow(user, rights.WRITE_TOPIC, rights.READ_TOPIC, name="mov", pattern=PatternType.PREFIXED)
        assert produced(wire, "moving") == 0
        session, code, size = fetched(wire, "moving", offset=1, session_id=0, session_epoch=0)
        assert (code, session != 0, size) == (0, True, 0)  # It is at the end: nothing will move.
        place.allow(user, rights.WRITE_TOPIC, rights.READ_TOPIC, name="moving", permission=Permission.DENY)
        assert produced(wire, "moving") == 29
        again = {"session_id": session, "session_epoch": 1, "topics": [], "max_wait_ms": 0}
        assert fetched(wire, "moving", **again)[1] == 29
        assert place.take_back(user) == 4
        assert produced(wire, "moving") == 29


def test_records_that_come_after_a_right_was_taken_are_not_sent(place: Guarded) -> None:
    """X7: to a fetch that waits for them."""
    user = place.user()
    with Wire(place.plain) as root, place.wire(user) as wire:
        create_topic(root, "waited-for")
        place.allow(user, rights.READ_TOPIC, name="waited-for")
        number = wire.send(Key.FETCH, 11, **{**fetch_fields("waited-for"), "max_wait_ms": 20_000, "min_bytes": 1})
        place.take_back(user)
        produce(root, "waited-for", batch(b"secret"))
        [topic] = wire.answer(Key.FETCH, 11, number).responses
        assert (topic.partitions[0].error_code, topic.partitions[0].records or b"") == (29, b"")


def test_a_fetch_session_is_its_users_alone(place: Guarded) -> None:
    """X8: another user neither goes on with it nor ends it."""
    owner, other = place.user(), place.user()
    with Wire(place.plain) as root, place.wire(owner) as wire, place.wire(other) as thief:
        create_topic(root, "session")
        place.allow(owner, rights.READ_TOPIC, name="session")
        place.allow(other, rights.READ_TOPIC, name="session")
        session, code, _ = fetched(wire, "session", session_id=0, session_epoch=0)
        assert code == 0
        again = {"session_id": session, "session_epoch": 1, "topics": [], "max_wait_ms": 0}
        answer = thief.ask(Key.FETCH, 11, **{**fetch_fields("session"), **again})
        assert answer.error_code == Code.FETCH_SESSION_ID_NOT_FOUND
        fetched(thief, "session", session_id=session, session_epoch=-1)
        assert wire.ask(Key.FETCH, 11, **{**fetch_fields("session"), **again}).error_code == 0


def test_a_refused_producer_that_wants_no_answer_is_closed(place: Guarded, topic_id: Any) -> None:
    """X8."""
    with place.wire(place.user()) as wire:
        wire.send(Key.PRODUCE, 9, **{**produce_fields(TOPIC, batch(b"x")), "acks": 0})
        with pytest.raises(Closed):
            wire.receive()


def test_an_idempotent_producer_needs_a_topic_to_write_to_or_its_own_right(place: Guarded) -> None:
    """X8: as Kafka since 2.8."""
    writer, older = place.user(), place.user()

    def begun(wire: Wire) -> int:
        return int(wire.ask(Key.INIT_PRODUCER_ID, 4, transactional_id=None, transaction_timeout_ms=1000).error_code)

    with place.wire(writer) as wire, place.wire(older) as other:
        assert begun(wire) == begun(other) == 31
        place.allow(writer, rights.WRITE_TOPIC, name="some-topic")
        place.allow(older, rights.IDEMPOTENT_WRITE)
        assert begun(wire) == begun(other) == 0


def test_a_transaction_is_its_users_alone(place: Guarded, topic_id: Any) -> None:
    """X8: with the id of another, or with none, nothing is written in a transaction."""
    user = place.user()
    place.allow(user, rights.WRITE_TOPIC)
    with place.wire(user) as wire:
        records = batch(b"x", producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
        fields = produce_fields(TOPIC, records)
        for transactional_id in ("theirs", None):
            answer = wire.ask(Key.PRODUCE, 9, **{**fields, "transactional_id": transactional_id})
            assert answer.responses[0].partition_responses[0].error_code == 53


# Rules


def test_hosts_denials_and_everybody(place: Guarded) -> None:
    """X7: a rule for another address says nothing here, a denial wins, and User:* is everybody."""
    with Wire(place.plain) as root:
        for name in ("for-all", "from-elsewhere"):
            create_topic(root, name)
    user, denied = place.user(), place.user()
    place.allow("*", rights.WRITE_TOPIC, name="for-all")
    place.allow(denied, rights.WRITE_TOPIC, name="for-all", permission=Permission.DENY)
    place.allow(user, rights.WRITE_TOPIC, name="from-elsewhere", host="10.9.8.7")
    with place.wire(user) as wire, place.wire(denied) as other:
        assert (produced(wire, "for-all"), produced(other, "for-all")) == (0, 29)
        assert produced(wire, "from-elsewhere") == 29
        place.allow(user, rights.WRITE_TOPIC, name="from-elsewhere", host="127.0.0.1")
        assert produced(wire, "from-elsewhere") == 0
    place.take_back("*")


def test_a_rule_that_makes_no_sense_is_refused_alone(place: Guarded) -> None:
    """X7: with INVALID_REQUEST, and the others of the request are made."""
    user = place.user()
    good = rule(user, rights.READ_TOPIC, "t")
    wrong = [
        {"principal": "alice"}, {"principal": "Group:x"}, {"resource_name": ""}, {"host": ""}, {"operation": 1},
        {"operation": 99}, {"permission_type": 1}, {"resource_type": 1}, {"resource_pattern_type": 2},
        {"resource_name": "n" * 1025}, {"operation": Operation.CLUSTER_ACTION},
        {"resource_type": ResourceType.CLUSTER, "operation": Operation.ALTER, "resource_name": "other"},
    ]  # fmt: skip
    answer = place.ask(Key.CREATE_ACLS, 3, creations=[good, *({**good, **each} for each in wrong), good])
    assert [each.error_code for each in answer.results] == [0, *([42] * len(wrong)), 0]
    assert place.take_back(user) == 1


def test_rules_are_described_by_what_matches(place: Guarded) -> None:
    """X7: MATCH finds whatever has a say about a name."""
    user = place.user()
    place.allow(user, rights.READ_TOPIC, name="orders")
    place.allow(user, rights.READ_TOPIC, name="ord", pattern=PatternType.PREFIXED)
    place.allow(user, rights.READ_TOPIC, name="*")
    place.allow(user, rights.READ_TOPIC, name="other")
    wanted = {
        "resource_type_filter": ResourceType.TOPIC, "principal_filter": f"User:{user}", "host_filter": None,
        "operation": Operation.ANY, "permission_type": Permission.ANY,
    }  # fmt: skip

    def found(name: str | None, pattern: PatternType) -> set[str]:
        more = {"resource_name_filter": name, "pattern_type_filter": pattern}
        answer = place.ask(Key.DESCRIBE_ACLS, 3, **wanted, **more)
        assert answer.error_code == 0
        return {each.resource_name for each in answer.resources}

    assert found("orders", PatternType.MATCH) == {"orders", "ord", "*"}
    assert found("orders", PatternType.LITERAL) == {"orders"}
    assert found("ord", PatternType.PREFIXED) == {"ord"}
    assert found(None, PatternType.ANY) == {"orders", "ord", "*", "other"}


def test_rules_outlive_a_kill(tmp_path: Any) -> None:
    """X7: what was answered is there after kill -9; and without a rule, nothing is open."""
    place = Guarded(tmp_path, users=2)
    with place.process as process:
        with Wire(place.plain) as root:
            create_topic(root, "t")
        place.allow("u0", rights.WRITE_TOPIC, name="t")
        process.kill()
        process.start()
        with place.wire("u0") as wire, place.wire("u1") as other:
            assert (produced(wire, "t"), produced(other, "t")) == (0, 29)


def test_what_no_rule_names_is_open_if_the_settings_say_so(tmp_path: Any) -> None:
    """X7: allow.everyone.if.no.acl.found; a rule for one closes it to the others."""
    place = Guarded(tmp_path, "allow.everyone.if.no.acl.found=true", users=2)
    with place.process:
        with Wire(place.plain) as root:
            create_topic(root, "t")
        with place.wire("u0") as wire, place.wire("u1") as other:
            assert (produced(wire, "t"), produced(other, "t")) == (0, 0)
            place.allow("u0", rights.WRITE_TOPIC, name="t")
            assert (produced(wire, "t"), produced(other, "t")) == (0, 29)
