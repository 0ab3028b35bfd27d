"""A client that asks the broker it was given, and one that goes where the broker says."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.support.broker_process import BrokerProcess

from holdfast.client import EARLIEST, LATEST, Client, Committed, TopicPartition
from holdfast.client.errors import BrokerUnreachable, NotNow, OffsetGone, Refused, TopicNotFound
from holdfast.errors import HoldfastError
from holdfast.protocol.codes import Code
from holdfast.record.build import build
from holdfast.record.records import Record
from holdfast.testing import free_port


@pytest.fixture(scope="module")
def elsewhere() -> str:
    """An address where nobody listens."""
    return f"127.0.0.1:{free_port()}"


@pytest.fixture(scope="module")
def tunnelled(tmp_path_factory: pytest.TempPathFactory, elsewhere: str) -> Iterator[BrokerProcess]:
    """A broker that tells clients an address which leads nowhere from here, as behind a tunnel."""
    with BrokerProcess(tmp_path_factory.mktemp("tunnelled"), options=("--advertise", elsewhere)) as process:
        yield process


@pytest.fixture
def named(tunnelled: BrokerProcess) -> Iterator[Client]:
    with Client(tunnelled.address, follow_leaders=False, patience_s=0) as client:
        yield client


def test_the_broker_that_was_named_is_asked_for_everything(named: Client, topic: str) -> None:
    """P3: leaders, the controller and coordinators are not looked for at addresses that lead nowhere."""
    made = named.create_topics({topic: 2}, [("retention.ms", "1000")])[topic]
    assert made.partition_count == 2
    named.create_partitions(topic, 3)
    named.alter_configs(topic, [("max.message.bytes", "5000")], ["retention.ms"])
    assert named.own_configs(topic) == {"max.message.bytes": "5000"}
    batch = build([Record(value=b"v", timestamp=1)])
    assert named.produce({(topic, 0): batch, (topic, 2): batch}) == {(topic, 0): 0, (topic, 2): 0}
    pairs = [TopicPartition(topic, number) for number in named.topic(topic).numbers]
    assert [each.offset for each in named.list_offsets(dict.fromkeys(pairs, LATEST)).values()] == [1, 0, 1]
    assert named.ends_of_epochs(dict.fromkeys(pairs[:1], 0)) == {pairs[0]: 1}
    assert [bool(each.records) for each in named.fetch(dict.fromkeys(pairs, 0)).values()] == [True, False, True]
    named.commit_offsets(topic, {pairs[0]: (1, "here")})
    assert named.fetch_offsets(topic) == {pairs[0]: Committed(1, "here")}
    assert topic in {each.name for each in named.list_groups()}
    assert named.describe_groups([topic])[0].state == "Empty"
    named.delete_group(topic)
    with pytest.raises(Refused) as refused:
        named.describe_groups([topic])
    assert refused.value.code == Code.GROUP_ID_NOT_FOUND
    assert named.delete_topic(topic) == made.id
    assert named.list_offsets({}) == {}


def test_a_client_that_follows_goes_where_it_is_told(tunnelled: BrokerProcess, elsewhere: str, topic: str) -> None:
    """P3: and says where nobody was."""
    with Client(tunnelled.address, patience_s=0) as client:
        client.topic(topic, create=True)
        with pytest.raises(BrokerUnreachable, match=elsewhere):
            client.list_offsets({(topic, 0): EARLIEST})


def test_a_topic_is_made_by_naming_it_only_when_asked_for(named: Client, topic: str) -> None:
    with pytest.raises(TopicNotFound):
        named.topic(topic)
    assert named.topic(topic, create=True).numbers == [0]
    assert named.topic(topic).numbers == [0]


def test_an_offset_that_is_not_there_is_told_apart(named: Client, topic: str) -> None:
    """L3: whoever reads on may want to go on elsewhere."""
    named.create_topics({topic: 1})
    [found] = named.fetch({(topic, 0): 7}).values()
    assert isinstance(found.error, OffsetGone)


def test_why_one_waits_is_told_once(elsewhere: str) -> None:
    """K6: nobody waits without knowing for what; nobody is told forty times."""
    told: list[tuple[type[HoldfastError], float]] = []
    with Client(elsewhere, patience_s=0.5, on_wait=lambda why, for_s: told.append((type(why), for_s))) as client:
        with pytest.raises(BrokerUnreachable):
            client.metadata()
        assert told == [(BrokerUnreachable, 0.5)]
        with pytest.raises(BrokerUnreachable):
            client.connect()  # Without patience.
    assert len(told) == 1


def test_a_reason_that_names_its_subject_is_not_told_twice() -> None:
    assert str(Refused("topic orders", 36, "orders is there already")) == "orders is there already"
    assert str(Refused("topic orders", 3, "unknown topic")) == "topic orders: unknown topic"
    assert str(NotNow("orders-0", 6, "not leader")) == "orders-0: not leader; try again later"
