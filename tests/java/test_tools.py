"""Kafka's command line tools against the broker, beside a Python client that looks on.

All run in one JVM, since starting one takes longer than what they do; one of them also runs as its shell script would.
"""

from __future__ import annotations

import json
import re
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from kafka import KafkaConsumer, KafkaProducer
from kafka.structs import TopicPartition
from tests.java.jvm import Jvm, run_process
from tests.java.serving import Serving

from holdfast.broker.table import advertised
from holdfast.protocol import header, messages
from holdfast.protocol.api import Key
from holdfast.protocol.generated.fetch import FetchPartition, FetchRequest, FetchTopic

TOOLS = "org.apache.kafka.tools"
T0 = 1_700_000_000_000


class Tools:
    """Runs tools against a broker. The answer is what one printed, and it must have ended well."""

    def __init__(self, java: Jvm, broker: Serving) -> None:
        self._java = java
        self._where = ("--bootstrap-server", broker.address)

    def run(self, tool: str, *arguments: str, given: str = "") -> str:
        return self.run_alone(tool, *arguments, *self._where, given=given)

    def run_alone(self, tool: str, *arguments: str, given: str = "") -> str:
        done = self._java.do("tool", main=tool, arguments=arguments, given=given)
        assert done["code"] == 0, done
        out: str = done["out"]
        return out


@pytest.fixture(scope="module")
def tools(java: Jvm, broker: Serving) -> Tools:
    return Tools(java, broker)


@pytest.fixture(scope="module")
def producer(broker: Serving) -> Iterator[KafkaProducer]:
    producer = KafkaProducer(bootstrap_servers=broker.address)
    yield producer
    producer.close()


@pytest.fixture
def topic(producer: KafkaProducer, name: str) -> str:
    """A topic, made by its first record, with three of them."""
    for number in range(3):
        producer.send(name, b"v%d" % number, key=b"k", partition=0, timestamp_ms=T0 + number).get(10)
    return name


def test_topics(tools: Tools, name: str) -> None:
    """K1: kafka-topics makes, grows, shows and deletes a topic."""
    tool = f"{TOOLS}.TopicCommand"
    made = tools.run(tool, "--create", "--topic", name, "--partitions", "2", "--config", "retention.ms=1000000")
    assert made.startswith("Created topic")
    tools.run(tool, "--alter", "--topic", name, "--partitions", "3")
    shown = tools.run(tool, "--describe", "--topic", name)
    assert "PartitionCount: 3\tReplicationFactor: 1\tConfigs: retention.ms=1000000" in shown
    assert re.findall(r"Partition: (\d)\tLeader: 0\tReplicas: 0\tIsr: 0", shown) == ["0", "1", "2"]
    tools.run(tool, "--delete", "--topic", name)
    assert name not in tools.run(tool, "--list").split()


def test_configs(tools: Tools, topic: str) -> None:
    """K1: kafka-configs changes a config and shows where it comes from."""
    tool = "kafka.admin.ConfigCommand"
    of_topic = ("--entity-type", "topics", "--entity-name", topic)
    tools.run(tool, *of_topic, "--alter", "--add-config", "max.message.bytes=5000,cleanup.policy=[compact,delete]")
    shown = tools.run(tool, *of_topic, "--describe")
    assert "max.message.bytes=5000 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:max.message.bytes=5000" in shown
    assert "cleanup.policy=compact,delete" in shown
    of_broker = tools.run(tool, "--entity-type", "brokers", "--entity-name", "0", "--describe", "--all")
    assert "group.initial.rebalance.delay.ms=0" in of_broker


def test_console_producer(tools: Tools, broker: Serving, name: str) -> None:
    """K1: what kafka-console-producer sent, Python reads."""
    keyed = ("--reader-property", "parse.key=true", "--reader-property", "key.separator=:")
    tools.run(f"{TOOLS}.ConsoleProducer", "--topic", name, *keyed, given="a:1\nb:2\n")
    consumer = KafkaConsumer(bootstrap_servers=broker.address, auto_offset_reset="earliest", consumer_timeout_ms=9000)
    consumer.assign([TopicPartition(name, 0)])
    records = [next(consumer) for _ in range(2)]
    consumer.close()
    assert [(record.key, record.value) for record in records] == [(b"a", b"1"), (b"b", b"2")]


def test_console_consumer(tools: Tools, topic: str) -> None:
    """K1: what Python sent, kafka-console-consumer prints, and its group has read it."""
    shown = [
        argument
        for name in ("timestamp", "offset", "partition", "key")
        for argument in ("--formatter-property", f"print.{name}=true")
    ]
    count = ("--max-messages", "3", "--timeout-ms", "20000")
    tool = f"{TOOLS}.consumer.ConsoleConsumer"
    printed = tools.run(tool, "--topic", topic, "--group", topic, "--from-beginning", *count, *shown)
    assert printed.splitlines() == [
        f"CreateTime:{T0 + number}\tPartition:0\tOffset:{number}\tk\tv{number}" for number in range(3)
    ]
    described = tools.run(f"{TOOLS}.consumer.group.ConsumerGroupCommand", "--group", topic, "--describe")
    assert described.split("\n")[2].split()[:6] == [topic, topic, "0", "3", "3", "0"]


def test_consumer_groups(tools: Tools, topic: str) -> None:
    """K1: kafka-consumer-groups resets the offsets of a group, shows them, and deletes the group."""
    tool = f"{TOOLS}.consumer.group.ConsumerGroupCommand"
    of_group = ("--group", topic)
    tools.run(tool, *of_group, "--reset-offsets", "--topic", f"{topic}:0", "--to-offset", "1", "--execute")
    shown = tools.run(tool, *of_group, "--describe").split("\n")
    assert shown[2].split()[:6] == [topic, topic, "0", "1", "3", "2"]  # Group, topic, partition, offset, end, lag.
    assert topic in tools.run(tool, "--list").split()
    assert "was successful" in tools.run(tool, *of_group, "--delete")


def test_a_tool_as_a_process(broker: Serving, topic: str) -> None:
    """K1: kafka-topics, started as its shell script starts it."""
    done = run_process(f"{TOOLS}.TopicCommand", "--bootstrap-server", broker.address, "--list")
    assert (done.returncode, done.stderr) == (0, "")
    assert topic in done.stdout.split()


def test_groups(tools: Tools) -> None:
    """K1: kafka-groups lists, if only its heading."""
    assert tools.run(f"{TOOLS}.GroupsCommand", "--list").split()[:3] == ["GROUP", "TYPE", "PROTOCOL"]


def test_get_offsets(tools: Tools, topic: str) -> None:
    """K1: kafka-get-offsets finds the end, and an offset by its time."""
    assert tools.run(f"{TOOLS}.GetOffsetShell", "--topic", topic) == f"{topic}:0:3\n"
    assert tools.run(f"{TOOLS}.GetOffsetShell", "--topic", topic, "--time", str(T0 + 1)) == f"{topic}:0:1\n"


def test_delete_records(tools: Tools, topic: str, tmp_path: Path) -> None:
    """K1: kafka-delete-records moves the beginning."""
    file = tmp_path / "offsets.json"
    file.write_text(json.dumps({"version": 1, "partitions": [{"topic": topic, "partition": 0, "offset": 2}]}))
    said = tools.run(f"{TOOLS}.DeleteRecordsCommand", "--offset-json-file", str(file))
    assert f"partition: {topic}-0\tlow_watermark: 2" in said


def test_log_dirs(tools: Tools, topic: str) -> None:
    """K1: kafka-log-dirs shows the size of a partition."""
    said = tools.run(f"{TOOLS}.LogDirsCommand", "--describe", "--topic-list", topic)
    [found] = json.loads(said.splitlines()[-1])["brokers"]
    [folder] = found["logDirs"]
    assert [each["partition"] for each in folder["partitions"]] == [f"{topic}-0"]
    assert folder["partitions"][0]["size"] > 0


def test_broker_api_versions(tools: Tools) -> None:
    """K1: kafka-broker-api-versions finds every API that we list usable in its newest version."""
    said = tools.run(f"{TOOLS}.BrokerApiVersionsCommand")
    usable = {int(key): int(newest) for key, newest in re.findall(r"\((\d+)\): .*\[usable: (\d+)\]", said)}
    assert usable == {int(row.key): row.max_version for row in advertised()}


def test_cluster(tools: Tools, broker: Serving) -> None:
    """K1: kafka-cluster and kafka-features are answered."""
    assert re.match(r"Cluster ID: \S+$", tools.run(f"{TOOLS}.ClusterTool", "cluster-id"))
    said = tools.run_alone(f"{TOOLS}.FeatureCommand", "--bootstrap-server", broker.address, "describe")
    assert "Feature: group.version" in said


def test_performance_tools(tools: Tools, name: str) -> None:
    """K1: what kafka-producer-perf-test wrote, kafka-consumer-perf-test reads to the last record."""
    sizes = ("--num-records", "20000", "--record-size", "100", "--throughput", "-1")
    said = tools.run(f"{TOOLS}.ProducerPerformance", "--topic", name, *sizes)
    assert "20000 records sent" in said
    said = tools.run(f"{TOOLS}.ConsumerPerformance", "--topic", name, "--num-records", "20000", "--timeout", "20000")
    assert said.splitlines()[-1].split(", ")[4] == "20000"


def test_end_to_end_latency(tools: Tools, topic: str) -> None:
    """L4: kafka-e2e-latency waits for each record in turn, and gets it."""
    count = ("--num-records", "50", "--record-size", "100", "--producer-acks", "all")
    assert "99th" in tools.run(f"{TOOLS}.EndToEndLatency", "--topic", topic, *count)


def test_dump_log(tools: Tools, broker: Serving, topic: str, tmp_path: Path) -> None:
    """K2: batches as the broker sends them are a log that kafka-dump-log reads: offsets, epoch, checksums."""
    file = tmp_path / "00000000000000000000.log"
    file.write_bytes(fetched(broker, topic))
    said = tools.run_alone(f"{TOOLS}.DumpLogSegments", "--files", str(file), "--print-data-log")
    batches = [line for line in said.splitlines() if line.startswith("baseOffset")]
    assert [re.search(r"baseOffset: (\d+) lastOffset: \1", line) is not None for line in batches] == [True] * 3
    assert all("magic: 2" in line and "isvalid: true" in line for line in batches)
    assert re.findall(r"offset: (\d) CreateTime: (\d+) .*payload: (\S+)", said) == [
        (str(number), str(T0 + number), f"v{number}") for number in range(3)
    ]


def fetched(broker: Serving, topic: str) -> bytes:
    """All of a topic's first partition, byte for byte."""
    part = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    request = FetchRequest(
        max_wait_ms=0, min_bytes=0, max_bytes=1 << 20, topics=[FetchTopic(topic=topic, partitions=[part])]
    )
    body = messages.encode_request(Key.FETCH, 11, request)
    host, port = broker.address.split(":")
    with socket.create_connection((host, int(port)), 10) as connection, connection.makefile("rb") as answers:
        connection.sendall(b"".join(header.frame_request(Key.FETCH, 11, 1, "test", body)))
        (size,) = struct.unpack(">i", answers.read(4))
        answer = memoryview(answers.read(size))
    _, start = header.decode_response_header(Key.FETCH, 11, answer)
    response = messages.decode_response(Key.FETCH, 11, answer[start:])
    return bytes(response.responses[0].partitions[0].records)
