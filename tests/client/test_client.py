"""The wire client against a real broker, with another client on the other side."""

from __future__ import annotations

import socket
import time
from pathlib import Path
from uuid import UUID

import pytest
from kafka import KafkaConsumer, KafkaProducer
from kafka.structs import TopicPartition as KafkaPartition
from tests.support.broker_process import BrokerProcess

from holdfast.client import EARLIEST, LATEST, Client, Committed
from holdfast.client.errors import BrokerLost, BrokerUnreachable, NotKafka, Refused, TooOld, TopicNotFound
from holdfast.client.producing import OutcomeUnknown
from holdfast.io.address import BadAddress
from holdfast.protocol.api import Key
from holdfast.record.batch import split
from holdfast.record.build import build
from holdfast.record.records import Record, read_records
from holdfast.testing import free_port
from holdfast.types import TopicPartition

NOW_MS = time.time_ns() // 1_000_000


def batch(*values: bytes, timestamp: int = NOW_MS, **producer: int) -> bytearray:
    return build([Record(value=value, timestamp=timestamp) for value in values], **producer)


def values_of(records: memoryview) -> list[bytes | None]:
    return [record.value for _, each in split(records) for record in read_records(each)]


def test_topics(client: Client, topic: str) -> None:
    """P3: topics are made, found with their id and partitions, and one that is not there is an error, not nothing."""
    made = client.create_topics({topic: 3}, {"max.message.bytes": "2000000"})
    found = client.topic(topic)
    assert found.id == made[topic].id is not None
    assert made[topic].partition_count == 3
    assert [each.number for each in found.partitions] == [0, 1, 2]
    assert topic in client.metadata().topics
    assert client.describe_configs(topic, ["max.message.bytes"]) == {"max.message.bytes": "2000000"}
    with pytest.raises(TopicNotFound, match="create it first"):
        client.topic("absent")
    assert "absent" not in client.metadata().topics
    with pytest.raises(Refused) as refused:
        client.create_topics({topic: 1})
    assert refused.value.code == 36


def test_produce_by_id(client: Client, topic: str) -> None:
    """S8: with a topic's id, records never get into another topic of the same name; both forms can be told apart."""
    other = f"{topic}-other"
    made = client.create_topics({topic: 2, other: 1})
    ids = {name: each.id for name, each in made.items() if each.id is not None}
    wanted = {(topic, 0): batch(b"a" * 200), (topic, 1): [batch(b"b"), batch(b"c" * 20_000)], (other, 0): batch(b"d")}
    assert client.produce(wanted, ids=ids) == dict.fromkeys(wanted, 0)
    assert [len(values_of(each.records)) for each in client.fetch(dict.fromkeys(wanted, 0)).values()] == [1, 2, 1]
    with pytest.raises(Refused) as refused:
        client.produce({(topic, 0): batch(b"e")}, ids={topic: UUID(int=77)})
    assert refused.value.code == 100
    assert client.list_offsets({(topic, 0): LATEST})[topic, 0].offset == 1


def test_producers_that_a_partition_remembers(client: Client, topic: str) -> None:
    """S8: who wrote to a partition, and in which epoch."""
    client.create_topics({topic: 2})
    producer = client.init_producer_id(topic)
    client.write_markers(producer, [(topic, 1)])
    assert client.producers([(topic, 0), (topic, 1)]) == {(topic, 0): {}, (topic, 1): {producer.id: producer.epoch}}


def test_produce_is_read_by_another_client(client: Client, broker: BrokerProcess, topic: str) -> None:
    """P3: batches for several partitions, each in several buffers, arrive as they are."""
    client.create_topics({topic: 2})
    long = batch(b"d" * 100_000)
    pieces = [memoryview(long)[:70], memoryview(long)[70:]]
    assert client.produce({(topic, 0): batch(b"a", b"b"), (topic, 1): [batch(b"c"), *pieces]}) == {
        (topic, 0): 0,
        (topic, 1): 0,
    }
    consumer = KafkaConsumer(bootstrap_servers=broker.address, auto_offset_reset="earliest", consumer_timeout_ms=20_000)
    consumer.assign([KafkaPartition(topic, 0), KafkaPartition(topic, 1)])
    read = sorted((each.partition, each.offset, each.value) for each in (next(consumer) for _ in range(4)))
    consumer.close()
    assert read == [(0, 0, b"a"), (0, 1, b"b"), (1, 0, b"c"), (1, 1, b"d" * 100_000)]


def test_fetch_what_another_client_wrote(client: Client, broker: BrokerProcess, topic: str) -> None:
    """P3: a fetch gives whole batches as they are stored, and the marks of the partition."""
    client.create_topics({topic: 1})
    producer = KafkaProducer(bootstrap_servers=broker.address)
    for number in range(50):
        producer.send(topic, b"v%d" % number)
    producer.close()
    offset, read = 0, []
    while offset < 50:
        found = client.fetch({(topic, 0): offset}, partition_max_bytes=300)[TopicPartition(topic, 0)]
        assert found.error is None
        assert (found.high_watermark, found.last_stable_offset, found.log_start_offset) == (50, 50, 0)
        read += values_of(found.records)
        offset = list(split(found.records))[-1][0].end_offset
    assert read == [b"v%d" % number for number in range(50)]
    assert len(client.fetch({(topic, 0): 50}, max_wait_ms=0)[TopicPartition(topic, 0)].records) == 0


def test_one_partition_does_not_hide_the_others(client: Client, topic: str) -> None:
    """P3: an offset that is not there is an error of its partition alone."""
    client.create_topics({topic: 2})
    client.produce({(topic, 0): batch(b"a"), (topic, 1): batch(b"b")})
    found = client.fetch({(topic, 0): 99, (topic, 1): 0})
    error = found[TopicPartition(topic, 0)].error
    assert isinstance(error, Refused)
    assert error.code == 1
    assert values_of(found[TopicPartition(topic, 1)].records) == [b"b"]


def test_offsets(client: Client, topic: str) -> None:
    """P3: the first, the end, and the first from a time on."""
    client.create_topics({topic: 2})
    client.produce({(topic, 0): batch(b"a", timestamp=NOW_MS - 1000)})
    client.produce({(topic, 0): batch(b"b", timestamp=NOW_MS)})
    found = client.list_offsets({(topic, 0): LATEST, (topic, 1): EARLIEST})
    assert [found[TopicPartition(topic, number)].offset for number in (0, 1)] == [2, 0]
    by_time = client.list_offsets({(topic, 0): NOW_MS - 500})[TopicPartition(topic, 0)]
    assert (by_time.offset, by_time.timestamp) == (1, NOW_MS)
    assert client.list_offsets({(topic, 0): NOW_MS + 1})[TopicPartition(topic, 0)].offset == -1
    with pytest.raises(Refused, match="no such partition"):
        client.list_offsets({(topic, 7): LATEST})


def test_group_offsets(client: Client, topic: str) -> None:
    """P3: offsets of a group, with a text, and none where none was committed."""
    client.create_topics({topic: 2})
    assert client.fetch_offsets(f"g-{topic}") == {}
    client.commit_offsets(f"g-{topic}", {(topic, 1): (41, "why")})
    assert client.fetch_offsets(f"g-{topic}") == {(topic, 1): Committed(41, "why")}
    assert client.fetch_offsets(f"g-{topic}", [(topic, 0)]) == {}
    assert f"g-{topic}" in [each.name for each in client.list_groups()]


def test_an_idempotent_repeat_is_written_once(client: Client, topic: str) -> None:
    """P3: a batch with a producer's id can be sent again."""
    client.create_topics({topic: 1})
    producer = client.init_producer_id()
    ours = {"producer_id": producer.id, "producer_epoch": producer.epoch, "base_sequence": 0}
    for _ in range(2):
        assert client.produce({(topic, 0): batch(b"once", **ours)}) == {(topic, 0): 0}
    assert client.list_offsets({(topic, 0): LATEST})[TopicPartition(topic, 0)].offset == 1


def test_a_broker_that_comes_back_is_found_again(tmp_path: Path, topic: str) -> None:
    """P3: requests that a repeat does not harm outlive a restart; a batch without a producer's id is not repeated."""
    with BrokerProcess(tmp_path / "data", port=free_port()) as broker, Client(broker.address) as client:
        client.create_topics({topic: 1})
        client.produce({(topic, 0): batch(b"a")})
        broker.kill()
        broker.start()
        assert client.list_offsets({(topic, 0): LATEST})[TopicPartition(topic, 0)].offset == 1
        broker.kill()
        with pytest.raises(OutcomeUnknown):
            client.produce({(topic, 0): batch(b"b")})
        broker.start()
        ours = {"producer_id": client.init_producer_id().id, "producer_epoch": 0, "base_sequence": 0}
        broker.kill()
        broker.start()
        assert client.produce({(topic, 0): batch(b"c", **ours)}) == {(topic, 0): 1}


def test_nobody_there(tmp_path: Path) -> None:
    """P3: an address where nobody listens, or no broker, or that is none, is said in one sentence."""
    with Client(f"127.0.0.1:{free_port()}", patience_s=0) as client, pytest.raises(BrokerUnreachable, match="refused"):
        client.metadata()
    with pytest.raises(BadAddress, match="HOST:PORT"):
        Client("localhost")


def test_the_first_address_that_answers_is_used(broker: BrokerProcess) -> None:
    """P3: one of several addresses is enough."""
    with Client(f"127.0.0.1:{free_port()}, {broker.address}", patience_s=0) as client:
        assert client.metadata([]).brokers


def test_whoever_speaks_something_else_is_no_broker() -> None:
    """P3: bytes that are no answer end the connection with a clear error."""
    import socket
    import threading

    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            connection.recv(1000)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            connection.close()

        thread = threading.Thread(target=answer)
        thread.start()
        port = server.getsockname()[1]
        with Client(f"127.0.0.1:{port}", patience_s=0) as client, pytest.raises(NotKafka, match="no Kafka broker"):
            client.metadata()
        thread.join()


def test_a_version_in_common_is_needed(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """P3: a broker without a version that we know is told apart from one that fails."""
    connection = client._nodes.any()
    connection._versions[Key.METADATA] = (90, 91)
    with pytest.raises(TooOld, match="90 to 91"):
        client.metadata()


def test_a_broker_that_takes_connections_and_says_nothing_is_in_nobodys_way(broker: BrokerProcess) -> None:
    """C2: one that is stopped is named first; the next one is asked, and the first not again before it."""
    with socket.create_server(("127.0.0.1", 0)) as stopped:
        silent = f"127.0.0.1:{stopped.getsockname()[1]}"
        with Client(f"{silent},{broker.address}", timeout_s=6.0, patience_s=0) as client:
            assert client.metadata([]).brokers
            stopped.accept()[0].close()
            client._nodes.close()
            assert client.metadata([]).brokers
            stopped.setblocking(False)
            with pytest.raises(BlockingIOError):  # Nobody has asked again.
                stopped.accept()
        with Client(f"{silent},{silent}", timeout_s=0.2, patience_s=0) as client, pytest.raises(BrokerLost):
            client.metadata([])
        nobody = f"127.0.0.1:{free_port()}"
        with Client(f"{silent},{nobody}", timeout_s=0.2, patience_s=0) as client, pytest.raises(BrokerUnreachable):
            client.metadata([])
