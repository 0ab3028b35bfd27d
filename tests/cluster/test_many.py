"""Real brokers that share a store, each partition with a leader of its own: killed, stopped, drained, more of them."""

from __future__ import annotations

import re
import signal
import subprocess
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic
from tests.broker.wire import Wire, fetch_fields, produce_fields
from tests.cluster.test_pair import QUICK, Cluster, Writers, check_groups_go_on, status
from tests.kill.numbers import (
    QUIET,
    TOPIC,
)
from tests.support.broker_process import COMMAND, BrokerProcess
from tests.support.faulty_proxy import Fault, FaultyProxy
from tests.support.s3_server import S3Server, missing

from holdfast.client import Client
from holdfast.errors import Unavailable
from holdfast.protocol.api import Key
from holdfast.protocol.codes import Code
from holdfast.record.build import build
from holdfast.record.records import Record
from holdfast.segment.names import topic_prefixes
from holdfast.testing import free_port
from holdfast.testing.process import BrokerDidNotStart

MANY = ("cluster.leaders=many",)
# Where nobody is killed, nobody is to be taken for dead either, however busy the machine is.
PATIENT = (*QUICK, "cluster.lease_ms=20000", "cluster.takeover_ms=30000")


def many(folder: Path, *settings: str, store: str = "") -> Cluster:
    return Cluster(folder, store or str(folder / "store"), (*settings, *MANY))


def start(cluster: Cluster, *numbers: int) -> None:
    for number in numbers:
        cluster.start(number)
        cluster.until(number, f"broker {number} leads with")
    cluster.until_known()


def leaders(cluster: Cluster, number: int, topic: str = TOPIC) -> list[int]:
    """Who leads each partition, as one broker tells it."""
    admin = AdminClient({**QUIET, "bootstrap.servers": cluster.brokers[number].address})
    found = admin.list_topics(topic, timeout=60).topics[topic].partitions
    return [found[each].leader for each in sorted(found)]


def until_led_by(cluster: Cluster, number: int, wanted: set[int], seconds: float = 60.0, topic: str = TOPIC) -> None:
    deadline = time.monotonic() + seconds
    while set(leaders(cluster, number, topic)) != wanted:
        assert time.monotonic() < deadline, f"led by {leaders(cluster, number, topic)}, not by {wanted}"
        time.sleep(0.1)


def until_leads(cluster: Cluster, wanted: int) -> None:
    """Wait until a broker leads the first partition."""
    deadline = time.monotonic() + 60
    while leaders(cluster, 1)[0] != wanted:
        assert time.monotonic() < deadline, "a partition was not moved"
        time.sleep(0.1)


def until_back(cluster: Cluster, number: int, seconds: float = 60.0) -> None:
    """Wait until a broker knows that its life is over, and has another."""
    cluster.until(number, "joins the cluster again", seconds)
    deadline = time.monotonic() + seconds
    while True:
        said = list(cluster.brokers[number].said)
        last = max(at for at, each in enumerate(said) if "joins the cluster again" in each)
        if any("joined the cluster, life" in each for each in said[last:]):
            return
        assert time.monotonic() < deadline, f"broker {number} has not joined again: {said[-5:]}"
        time.sleep(0.05)


def until_settled(cluster: Cluster, number: int) -> None:
    """Wait until nothing moves for a while: a reader of offsets is not told a second time where to ask."""
    before: list[int] = []
    while (found := leaders(cluster, number)) != before or -1 in found:
        before = found
        time.sleep(1.5)


def check_status(store: str) -> None:
    """All three lead, and everything is led; one that was too busy to say that it lives may be joining again."""
    wanted = [(at, "leads") for at in (1, 2, 3)]
    code, found = status(store)
    for _ in range(20):
        if code == 0 and [(each["broker"], each["state"]) for each in found["brokers"]] == wanted:
            break
        time.sleep(0.5)
        code, found = status(store)
    assert code == 0
    assert [(each["broker"], each["state"]) for each in found["brokers"]] == wanted
    assert found["without_leader"] == found["to_settle"] == 0
    assert sum(each["partitions"] for each in found["brokers"]) == found["partitions"]


def test_others_lead_on_when_a_broker_is_killed(tmp_path: Path) -> None:
    """C1, C2, C4: all lead, and each tells so; kill -9 of one with its machine, then of all. The test of C1."""
    with many(tmp_path, *QUICK) as cluster:
        start(cluster, 1, 2, 3)
        cluster.make_topic()
        for number in (1, 2, 3):
            until_led_by(cluster, number, {1, 2, 3})
        check_status(str(tmp_path / "store"))
        before = leaders(cluster, 1)[0]
        move = [COMMAND, "cluster", "move", str(tmp_path / "store"), f"{TOPIC}:0", str(1 + before % 3)]
        subprocess.run(move, check=True)
        until_leads(cluster, 1 + before % 3)
        with Wire(cluster.brokers[1].port) as wire:  # And back, as Kafka's own tool does it.
            rows = [{"partition_index": 0, "replicas": [before]}, {"partition_index": 1, "replicas": [9]}]
            asked = wire.ask(Key.ALTER_PARTITION_REASSIGNMENTS, 0, topics=[{"name": TOPIC, "partitions": rows}])
            assert [each.error_code for each in asked.responses[0].partitions] == [0, 39]
        until_leads(cluster, before)
        admin = AdminClient({**QUIET, "bootstrap.servers": cluster.brokers[2].address})
        admin.create_topics([NewTopic("copies", 1, replication_factor=3)])["copies"].result()
        writers = Writers(cluster.bootstrap)
        try:
            writers.more()
            cluster.lose(1)
            until_led_by(cluster, 3, {2, 3})
            writers.more()
        finally:
            writers.end()
        cluster.lose(2)
        cluster.lose(3)
        cluster.start(4)
        until_led_by(cluster, 4, {4})
        writers.check(cluster.brokers[4].address)


def test_groups_go_on_when_a_broker_is_killed(tmp_path: Path) -> None:
    """C2, C7: coordinators are where internal partitions are led; what was committed does not go back."""
    with many(tmp_path, *QUICK) as cluster:
        start(cluster, 1, 2, 3)
        cluster.make_topic()

        def those_left() -> str:
            until_led_by(cluster, 2, {2, 3})
            return f"{cluster.brokers[2].address},{cluster.brokers[3].address}"

        check_groups_go_on(cluster, those_left)


def test_a_broker_that_was_stopped_leads_nothing_and_joins_again(tmp_path: Path) -> None:
    """C3, in part: SIGSTOP, others lead what it led, SIGCONT."""
    with many(tmp_path, *QUICK) as cluster:
        start(cluster, 1, 2)
        cluster.make_topic()
        until_led_by(cluster, 2, {1, 2})
        writers = Writers(cluster.bootstrap)
        first = cluster.brokers[1]
        try:
            writers.more()
            first.signal(signal.SIGSTOP)
            until_led_by(cluster, 2, {2})
            writers.more()
            first.signal(signal.SIGCONT)
            until_back(cluster, 1)
            writers.more()
        finally:
            first.signal(signal.SIGCONT)
            writers.end()
        assert first.stop() == 0
        until_led_by(cluster, 2, {2})
        writers.check(cluster.brokers[2].address)


def test_brokers_come_and_go_under_load(tmp_path: Path) -> None:
    """C5, C8: a second one joins and gets its share, the first is drained; no error reaches a client.

    The test of C5.
    """
    with many(tmp_path, *PATIENT) as cluster:
        start(cluster, 1)
        cluster.make_topic()
        # A client that is told of the first alone has nowhere to ask when that has left before it met the second.
        writers = Writers(f"{cluster.bootstrap},{cluster.made(2).address}")
        try:
            writers.more()
            start(cluster, 2)
            until_led_by(cluster, 2, {1, 2})
            writers.more()
            assert cluster.brokers[1].stop() == 0
            assert any("partitions were handed over" in each for each in cluster.brokers[1].said)
            until_led_by(cluster, 2, {2})
            gap = writers.more()
        finally:
            writers.end()
        print(f"without an ack for {gap:.1f} s")
        writers.check(cluster.brokers[2].address)
        admin = AdminClient({**QUIET, "bootstrap.servers": cluster.brokers[2].address})
        admin.delete_topics([TOPIC])[TOPIC].result()
        assert TOPIC not in admin.list_topics(timeout=10).topics


def config_of(cluster: Cluster, number: int, name: str) -> str:
    """A setting of the topic, as one broker tells it."""
    admin = AdminClient({**QUIET, "bootstrap.servers": cluster.brokers[number].address})
    resource = ConfigResource(ConfigResource.Type.TOPIC, TOPIC)
    return str(admin.describe_configs([resource])[resource].result()[name].value)


def test_topics_are_made_changed_and_deleted_through_any_broker(tmp_path: Path) -> None:
    """C8, D4: what one was asked for is seen by all; one that was away when a topic went starts. The test of C8.

    What a broker that is gone has left of the topic goes, too.
    """
    with many(tmp_path, *QUICK, "cluster.lease_ms=4000", "cluster.takeover_ms=6000") as cluster:
        start(cluster, 1, 2)
        one, two = (AdminClient({**QUIET, "bootstrap.servers": cluster.brokers[at].address}) for at in (1, 2))
        one.create_topics([NewTopic(TOPIC, 4)])[TOPIC].result()
        until_led_by(cluster, 2, {1, 2})
        changed = ConfigResource(ConfigResource.Type.TOPIC, TOPIC)
        changed.add_incremental_config(ConfigEntry("retention.ms", "7000", incremental_operation=AlterConfigOpType.SET))
        two.incremental_alter_configs([changed])[changed].result()
        wait_until(lambda: config_of(cluster, 1, "retention.ms") == "7000", "a change is not seen")
        cluster.brokers[2].kill()
        until_led_by(cluster, 1, {1})
        with Client(cluster.brokers[1].address) as client:
            topic_id = client.topic(TOPIC).id
        assert topic_id is not None
        left = tmp_path / "store" / topic_prefixes(topic_id)[1] / "left"
        one.delete_topics([TOPIC])[TOPIC].result()
        one.create_topics([NewTopic(TOPIC, 2)])[TOPIC].result()
        start(cluster, 2)
        until_led_by(cluster, 2, {1, 2}, 60.0)
        assert len(leaders(cluster, 2)) == 2
        assert config_of(cluster, 2, "retention.ms") != "7000"
        left.parent.mkdir(parents=True, exist_ok=True)
        left.write_bytes(b"put late")
        assert cluster.brokers[1].stop() == 0
        wait_until(lambda: not left.exists(), "an object of a deleted topic stays")


def wait_until(is_so: Callable[[], bool], wrong: str, seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, wrong
        time.sleep(0.1)


def check_hints(cluster: Cluster) -> None:
    """A broker that leads nothing says who does, and where, to producers and readers (KIP-951)."""
    second = cluster.brokers[2].port
    with Wire(cluster.brokers[1].port) as wire:
        told = wire.ask(Key.PRODUCE, 12, **produce_fields(TOPIC, bytes(build([Record(None, b"x", 0)]))))
        [produced] = told.responses[0].partition_responses
        [topic] = wire.ask(Key.METADATA, 12, topics=[{"topic_id": None, "name": TOPIC}]).topics
        read = wire.ask(Key.FETCH, 16, **fetch_fields(topic.topic_id))
        [fetched] = read.responses[0].partitions
    for each in (produced, fetched):
        assert each.error_code == Code.NOT_LEADER_OR_FOLLOWER
        leader = next(part for part in topic.partitions if part.partition_index == 0)
        assert tuple(each.current_leader) == (2, leader.leader_epoch)
    for answer in (told, read):
        assert [(each.node_id, each.port) for each in answer.node_endpoints] == [(2, second)]


def test_a_broker_is_drained_and_stopped_and_nobody_waits(tmp_path: Path) -> None:
    """C5: by a command; it leads nothing until it is started anew, and the last one is not drained."""
    store = str(tmp_path / "store")
    with many(tmp_path, *PATIENT) as cluster:
        start(cluster, 1, 2)
        cluster.make_topic()
        until_led_by(cluster, 2, {1, 2})
        writers = Writers(cluster.bootstrap)
        try:
            writers.more()
            drained = subprocess.run([COMMAND, "cluster", "drain", store, "1"], check=True, capture_output=True)
            assert b"and leads nothing" in drained.stderr
            assert set(leaders(cluster, 2)) == {2}
            _, found = status(store)
            assert [(each["broker"], each["state"], each["partitions"]) for each in found["brokers"]] == [
                (1, "leaves", 0),
                (2, "leads", found["partitions"]),
            ]
            check_hints(cluster)
            last = subprocess.run([COMMAND, "cluster", "drain", store, "2"], check=False, capture_output=True)
            assert last.returncode == 1
            assert b"nobody else is there" in last.stderr
            writers.more()
            assert cluster.brokers[1].stop() == 0
            gap = writers.more()
            start(cluster, 1)
            until_led_by(cluster, 2, {1, 2})
            writers.more()
        finally:
            writers.end()
        print(f"stopped behind a drain: without an ack for {gap:.1f} s")
        writers.check(cluster.brokers[2].address)


def test_groups_are_listed_though_a_broker_is_gone_that_clients_are_still_told_of(tmp_path: Path) -> None:
    """C7, in part: as soon as others have what it led; and not without its groups, while nobody has them."""
    with many(tmp_path, *QUICK, "offsets.topic.num.partitions=8") as cluster:
        start(cluster, 1, 2)
        cluster.make_topic()
        until_led_by(cluster, 1, {1, 2}, topic="__consumer_offsets")
        names = {f"group-{number}" for number in range(12)}
        with Client(cluster.bootstrap, patience_s=60) as client:
            for name in names:
                client.commit_offsets(name, {(TOPIC, 0): (1, "")})
            assert {each.name for each in client.list_groups()} == names
        cluster.brokers[2].kill()
        with Client(cluster.brokers[1].address, patience_s=0) as client:
            assert listed_when_it_can_be(client) == names
            until_told_of(client, {1, 2})
            assert {each.name for each in client.list_groups()} == names


def test_offsets_while_groups_and_topics_are_elsewhere(tmp_path: Path) -> None:
    """C2, C7, C8: they are committed of topics that others have just made. Who asks for its own where its group was,
    and is a member, is told to wait: its heartbeats find the other coordinator, and librdkafka would stand still for
    ever if it were told of one here. Who is no member has no heartbeats, and is told at once."""
    with many(tmp_path, *PATIENT, "offsets.topic.num.partitions=8") as cluster:
        start(cluster, 1, 2)
        one = AdminClient({**QUIET, "bootstrap.servers": cluster.brokers[1].address})
        with Client(cluster.bootstrap, patience_s=60) as client:
            for name in ("first", "second"):
                one.create_topics([NewTopic(name, 1)])[name].result()
                for number in range(4):
                    client.commit_offsets(f"group-{number}", {(name, 0): (1, "")})
        until_led_by(cluster, 1, {1, 2}, topic="__consumer_offsets")
        with Wire(cluster.brokers[1].port) as wire:
            found = {(told_offsets(wire, f"group-{at}", 3), told_offsets(wire, f"group-{at}", -1)) for at in range(8)}
    assert (Code.COORDINATOR_LOAD_IN_PROGRESS, Code.NOT_COORDINATOR) in found


def told_offsets(wire: Wire, group: str, epoch: int) -> int:
    """The code of a group's offsets, for a member in an epoch, or for nobody's."""
    wanted = {"group_id": group, "member_id": "m" if epoch >= 0 else None, "member_epoch": epoch, "topics": None}
    [told] = wire.ask(Key.OFFSET_FETCH, 9, groups=[wanted], require_stable=True).groups
    code: int = told.error_code
    return code


def listed_when_it_can_be(client: Client, seconds: float = 60.0) -> set[str]:
    """The first list that is no failure."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return {each.name for each in client.list_groups()}
        except Unavailable:
            assert time.monotonic() < deadline, "groups are not listed"
            time.sleep(0.05)


def until_told_of(client: Client, wanted: set[int]) -> None:
    """A broker that was just ended is told of for half a minute, from the next look on."""
    deadline = time.monotonic() + 25
    while set(client.metadata([]).brokers) != wanted:
        assert time.monotonic() < deadline, "clients are not told of a broker that is just gone"
        time.sleep(0.05)


def test_a_broker_that_others_cannot_reach_is_told(tmp_path: Path) -> None:
    """C12: it lives, by the store, and nobody answers where it says it is: in `cluster status`, and in a metric."""
    port = free_port()
    with many(tmp_path, *QUICK) as cluster:
        for number, own in (1, f"metrics_listen=127.0.0.1:{port}"), (2, f"advertise=127.0.0.1:{free_port()}"):
            cluster.brokers[number] = cluster.made(number, more=(f"serve.{own}",))
            cluster.brokers[number].start()
        cluster.until(1, "broker 2 cannot be reached from here", 60.0)
        deadline = time.monotonic() + 60
        told: dict[int, list[int]] = {}
        while told != {1: [2], 2: []}:
            assert time.monotonic() < deadline, f"it is not told: {told}"
            found = status(str(tmp_path / "store"))[1]["brokers"]
            told = {each["broker"]: each["unreachable"] for each in found}
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
            metrics = answer.read().decode()
        assert "holdfast_peer_unreachable 1.0" in metrics
        beats = re.search(
            r'^holdfast_store_seconds_count\{kind="brokers",operation="put"\} (\S+)$', metrics, re.MULTILINE
        )
        assert beats is not None, "it is not counted how often it says that it lives"
        assert float(beats[1]) >= 1


def test_what_many_leaders_cannot_do_yet_is_refused(tmp_path: Path) -> None:
    """C7, in part: brokers that would lead alone; with a sentence that says so."""
    with many(tmp_path, *PATIENT) as cluster:
        start(cluster, 1)
        settings = (f"serve.store={tmp_path / 'store'}", "wal.place=store", "subscribe.listen=none")
        alone = BrokerProcess(tmp_path / "alone", settings=settings)
        with pytest.raises(BrokerDidNotStart, match=r"is shared by brokers of a cluster .*--cluster"):
            alone.start()
        one = Cluster(tmp_path, str(tmp_path / "store")).made(7)
        with pytest.raises(BrokerDidNotStart, match=r"cluster\.leaders=many"):
            one.start()
        cluster.until_known()
        assert not any("joins the cluster again" in each for each in cluster.brokers[1].said), "It was sealed."


def test_a_store_that_one_led_is_led_by_many(tmp_path: Path) -> None:
    """C8, in part: everything that was acknowledged is there, also what was only in rounds."""
    store = str(tmp_path / "store")
    with Cluster(tmp_path, store) as before:
        before.start(1)
        before.until(1, "broker 1 leads")
        before.make_topic()
        writers = Writers(before.bootstrap)
        try:
            writers.more()
        finally:
            writers.end()
        before.brokers[1].kill()
        with many(tmp_path, *QUICK, store=store) as cluster:
            refused = cluster.made(1)
            with pytest.raises(BrokerDidNotStart, match="stop them first"):
                refused.start()
            before.start(1)
            before.until(1, "broker 1 leads")
            assert before.brokers[1].stop() == 0
            start(cluster, 1, 2)
            until_led_by(cluster, 2, {1, 2})
            until_settled(cluster, 2)
            writers.check(cluster.brokers[2].address)


@pytest.mark.s3
def test_a_broker_that_is_cut_off_from_the_store_leads_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """C2, C3, in part: its requests fail; the other leads what it led, and it comes back."""
    if reason := missing():
        pytest.skip(reason)
    with S3Server() as server, FaultyProxy(server.port) as proxy:
        server.tell(monkeypatch)
        with many(tmp_path, *QUICK, store=f"s3://{server.fresh_bucket()}") as cluster:
            monkeypatch.setenv("AWS_ENDPOINT", proxy.endpoint)
            start(cluster, 1)
            monkeypatch.setenv("AWS_ENDPOINT", server.endpoint)
            start(cluster, 2)
            cluster.make_topic()
            until_led_by(cluster, 2, {1, 2})
            writers = Writers(cluster.bootstrap)
            try:
                writers.more()
                proxy.plan = lambda method, path: Fault.CUT_BEFORE_REQUEST
                until_led_by(cluster, 2, {2})
                writers.more()
                proxy.plan = lambda method, path: None
                until_back(cluster, 1)
                writers.more()
            finally:
                writers.end()
            assert cluster.brokers[1].stop() == 0
            until_led_by(cluster, 2, {2})
            writers.check(cluster.brokers[2].address)
