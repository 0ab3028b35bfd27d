"""No page is larger than 8 MiB, whatever is in the records, the names and the members that it shows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from tests.broker.wire import wait_for
from tests.console.asking import Asked

from holdfast.console.answers import PAGE_SIZE_MAX, page_of
from holdfast.console.schemas import Schemas, TopicValues
from holdfast.console.search import ROWS_SIZE_MAX, SearchFilter, TransactionStates, look_through
from holdfast.errors import Rejected
from holdfast.io.calls import ThreadCalls
from holdfast.io.clock import SystemClock
from holdfast.record.build import build
from holdfast.record.records import Record
from holdfast.testing import free_port, running_broker

RECORDS, PARTITIONS = 300, 64
BAD = "\x01"  # One byte, and six in JSON.


@pytest.fixture(scope="module")
def place() -> Iterator[tuple[dict[str, Any], Asked]]:
    """A broker with what is dear to show."""
    port = free_port()
    with running_broker(serve_console_listen=f"127.0.0.1:{port}") as broker:
        conf = {"bootstrap.servers": broker.bootstrap}
        admin = AdminClient(conf)
        for made in admin.create_topics([NewTopic("large", 1), NewTopic("wide", PARTITIONS)]).values():
            made.result(20)
        producer = Producer(conf | {"compression.type": "zstd", "linger.ms": 20, "message.max.bytes": 4_000_000})
        headers = [(BAD * 1000 + str(number), (BAD * 1000).encode()) for number in range(60)]
        for number in range(RECORDS):
            producer.produce("large", BAD * 5000, f"{number}{BAD * 5000}", partition=0, headers=headers)
        for number in range(RECORDS * 4):
            producer.produce("wide", BAD * 3000, BAD * 3000, partition=number % PARTITIONS, timestamp=1 + number)
        producer.produce("large", BAD * 900_000, BAD * 90_000, partition=0)
        producer.flush(60)
        yield conf, Asked(port)


@pytest.mark.parametrize(
    ("path", "records"), [("/topics/large/records", RECORDS + 1), ("/topics/wide/records", RECORDS * 4)]
)
def test_a_search_is_cut_by_the_size_of_its_rows_and_goes_on(place: Any, path: str, records: int) -> None:
    """V5: no record is left out, and none comes twice."""
    _, asked = place
    cursor, seen = "", list[tuple[int, int]]()
    while True:
        told = asked.ask(f"{path}?from=start&rows=200" + (f"&cursor={cursor}" if cursor else ""))
        assert told.status == 200
        assert len(told.text.encode()) < ROWS_SIZE_MAX + (256 << 10)
        page = told.json
        seen += [(each["partition"], each["offset"]) for each in page["rows"]]
        left = sum(each["end"] - each["next"] for each in page["lanes"])
        assert left == records - len(seen)  # It says how far it has looked.
        assert not any("json_size" in each for each in page["rows"])
        cursor = page["cursor"]
        if page["ended"]:
            break
    assert len(seen) == len(set(seen)) == records


def test_what_a_partition_s_rows_hold_is_bounded() -> None:
    """V5: and the search goes on with the record behind the last one."""
    batch = build([Record(b"", BAD.encode() * 1000, 1) for _ in range(100)])
    values = TopicValues(Schemas(None, {}, ThreadCalls(), SystemClock()), "t")
    wanted = SearchFilter(rows_size_max=64 << 10)
    found = look_through([memoryview(batch)], 0, wanted, TransactionStates((), {}), -1, values)
    assert 64 << 10 <= sum(len(json.dumps(each)) for each in found.rows) < 80 << 10
    assert found.stopped_at == len(found.rows) == found.records < 100


def test_one_record_is_a_page_that_can_be_had(place: Any) -> None:
    """V5."""
    _, asked = place
    told = asked.ask(f"/topics/large/0/records/{RECORDS}")
    assert (told.status, len(told.json["value"])) == (200, 900_000)
    assert len(told.text.encode()) < PAGE_SIZE_MAX


def test_members_with_long_names_are_cut(place: Any) -> None:
    """V5."""
    conf, asked = place
    consumer = Consumer(conf | {"group.id": "long", "client.id": BAD * 20_000})
    consumer.subscribe(["wide"])
    wait_for(lambda: consumer.poll(0.05) is None and bool(consumer.assignment()))
    told = asked.ask("/groups/long")
    [member] = told.json["members"]
    assert len(member["assigned"]) == PARTITIONS
    assert len(told.text) < 64 << 10
    consumer.close()


def test_a_page_that_is_too_large_says_so() -> None:
    """V5: what no page has foreseen."""
    assert len(page_of({"a": "x" * (PAGE_SIZE_MAX - 8)})) == PAGE_SIZE_MAX
    with pytest.raises(Rejected, match="ask for less"):
        page_of({"a": "x" * (PAGE_SIZE_MAX - 7)})
