"""What pages say, as JSON: the same that clients, metrics and the store say."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException
from confluent_kafka.admin import AdminClient, NewTopic
from tests.broker.wire import wait_for
from tests.console.asking import Place
from tests.console.seeding import COMMITTED, HELD, LATE, ORDERS

from holdfast.console.table import ROUTES


def metrics(place: Place) -> dict[str, float]:
    with urllib.request.urlopen(f"http://127.0.0.1:{place.port + 1}/metrics") as answer:
        lines = answer.read().decode().splitlines()
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if not line.startswith("#")}


def test_overview_says_what_is_wrong_and_which_broker_it_speaks_of(place: Place) -> None:
    """V6."""
    page = place.asked.page("/")
    assert page["findings"][0]["text"] == (
        f"{LATE + HELD} records wait for a transaction to be decided: read-committed consumers stand still."
    )
    assert page["broker"].keys() >= {"cluster", "version"}
    assert (page["brokers"][0]["is_this"], page["brokers"][0]["is_owner"]) == (True, True)
    assert page["figures"]["topics"] == 4
    assert page["figures"]["wal_size"] + page["figures"]["until_held_back"] == page["figures"]["wal_size_max"]
    assert {"Produce", "CreateTopics"} <= {each["api"] for each in page["apis"]}


def test_marks_are_those_of_the_metrics(place: Place) -> None:
    """V6: numbers on pages equal those of metrics, at the same moment. The test of V6."""
    told, [row, *_] = metrics(place), place.asked.page("/topics/orders")["rows"]
    for mark in ("log_start", "flushed", "last_stable", "high_watermark", "log_end"):
        assert row[mark] == told[f'holdfast_partition_{mark}{{partition="0",topic="orders"}}'], mark
    assert row["high_watermark"] == ORDERS + LATE + HELD
    assert row["last_stable"] == ORDERS
    assert row["flushed"] == ORDERS
    assert row["undecided"] == [
        {"producer_id": row["undecided"][0]["producer_id"], "first_offset": ORDERS, "transactional_id": "billing-1"}
    ]


def test_topics_are_filtered_sorted_and_cut_by_the_broker(place: Place) -> None:
    """V1."""
    names = lambda path: [each["name"] for each in place.asked.page(path)["rows"]]  # noqa: E731
    assert names("/topics") == ["clicks", "customers", "orders", "payments"]
    assert names("/topics?filter=ORD") == ["orders"]
    assert names("/topics?sort=-records")[0] == "orders"
    assert names("/topics?start=3") == ["payments"]
    assert "__consumer_offsets" in names("/topics?internal=true")
    assert place.asked.ask("/topics?start=x").status == 400


def test_topics_say_who_reads_them_and_how_far_behind(place: Place) -> None:
    """V1: the group that is behind most, and by how much, as of a few seconds ago."""
    lag = place.asked.page("/groups/billing")["lag"]
    assert lag == ORDERS + LATE + HELD - COMMITTED + ORDERS // 2 - 10
    told = lambda page: {each["name"]: each for each in page["rows"]}  # noqa: E731
    place.asked.wait_for("/topics", lambda page: told(page)["orders"]["lag"] == lag)
    rows = told(place.asked.page("/topics"))
    assert (rows["orders"]["groups"], rows["orders"]["behind"]) == (1, "billing")
    assert (rows["clicks"]["groups"], rows["clicks"]["lag"]) == (0, None)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_says_why_it_moved_on(place: Place, protocol: str) -> None:
    """V6: who came, who left, and when."""
    group = f"moves-{protocol}"
    conf = place.conf | {"group.id": group, "group.protocol": protocol, "auto.offset.reset": "earliest"}
    consumer = Consumer(conf)
    consumer.subscribe(["payments"])
    wait_for(lambda: consumer.poll(0.1) is not None, 60)
    joined = place.asked.page(f"/groups/{group}")["moves"]
    assert joined[-1]["why"].endswith("has joined")
    assert 0 <= time.time() * 1000 - joined[-1]["at_ms"] < 60_000
    consumer.close()
    wait_for(lambda: "has left" in place.asked.page(f"/groups/{group}")["moves"][0]["why"], 60)


def test_reads_of_a_partition_are_counted_by_place(place: Place) -> None:
    """V6: those of this one, beside those of all."""
    before = place.asked.page("/topics/customers/1")["own_reads"]
    place.asked.page("/topics/customers/records?partition=1&from=start")
    after = place.asked.page("/topics/customers/1")["own_reads"]
    assert sum(after.values()) > sum(before.values())
    assert set(after) <= {"buffer", "in-flight", "spilled", "cache", "store"}


def test_what_was_run_beside_the_broker_has_left_its_last_word(place: Place, tmp_path: Path) -> None:
    """V6: a verification and a backup of the store that the broker serves; what damage says is not hidden."""
    data = Path(place.broker.data)
    audit = ["audit", "payments", "--path", str(data), "--master", "none"]
    for command in (["log", "verify", str(data)], ["backup", str(data), str(tmp_path / "backup")], audit):
        subprocess.run([sys.executable, "-m", "holdfast", *command, "--report"], check=True, capture_output=True)
    rows = {each["kind"]: each for each in place.asked.page("/proof/reports")["rows"]}
    assert rows.keys() >= {"verify", "backup", "audit"}
    assert rows["audit"]["facts"] == {"payments-0": [100.0, 0, 0, 0]}
    assert rows["verify"]["said"].startswith("sound: ")
    assert str(tmp_path / "backup") in rows["backup"]["said"]
    assert all(each["is_good"] and 0 <= time.time() * 1000 - each["at_ms"] < 120_000 for each in rows.values())
    (data / "objects" / "reports" / "verify.json").write_bytes(b"{}")
    rows = {each["kind"]: each for each in place.asked.page("/proof/reports")["rows"]}
    assert (rows["verify"]["is_good"], rows["backup"]["is_good"]) == (False, True)


def test_what_keeps_the_log_is_named(place: Place) -> None:
    """V6: the oldest first; and how many were told at once that they are durable."""
    page = place.asked.page("/wal")
    assert "orders-0" in {each["partition"] for each in page["pins"]}
    assert [each["entry"] for each in page["pins"]] == sorted(each["entry"] for each in page["pins"])
    assert all(each["size"] >= each["own_size"] > 0 for each in page["pins"])
    assert sum(page["told"]) > 0
    assert place.asked.page("/store")["garbage"] >= 0


def test_errors_in_answers_are_told_by_api_and_code(place: Place) -> None:
    """V6: as they are in metrics; how long a store may be away is known while somebody produces."""
    admin = AdminClient(place.conf)
    with pytest.raises(KafkaException):
        admin.create_topics([NewTopic("orders", 1)])["orders"].result(20)
    page = place.asked.page("/")
    [row] = [each for each in page["apis"] if each["api"] == "CreateTopics"]
    told = metrics(place)['holdfast_errors_total{api="CreateTopics",code="TOPIC_ALREADY_EXISTS"}']
    assert row["errors"]["TOPIC_ALREADY_EXISTS"] == told > 0
    figures = page["figures"]
    assert (figures["store_away_s"], figures["store_failures"]) == (None, 0)


def test_chunks_are_told_with_what_pins_each(place: Place) -> None:
    """V6: the oldest unflushed entry of each partition lies in one of them."""
    page = place.asked.page("/wal")
    rows = page["chunk_rows"]
    assert len(rows) == page["chunks"]
    assert [each for row in rows for each in row["pinned_by"]] == [each["partition"] for each in page["pins"]]
    assert sum(each["size"] for each in rows) <= page["size"]


def test_lag_on_the_page_is_that_of_the_command_line(place: Place) -> None:
    """V6: `holdfast group offsets`, at the same moment."""
    command = [sys.executable, "-m", "holdfast", "group", "offsets", "billing", "--bootstrap", place.broker.bootstrap]
    done = subprocess.run([*command, "--json"], check=True, capture_output=True, text=True)
    told = [json.loads(line) for line in done.stdout.splitlines()]
    shown = place.asked.page("/groups/billing")["rows"]
    assert {(each["topic"], each["partition"]): each["lag"] for each in shown} == {
        (each["topic"], each["partition"]): each["lag"] for each in told
    }


def test_no_more_searches_than_four_at_once(place: Place) -> None:
    """V5: whoever comes fifth hears so, and nobody waits."""
    path = "/topics/orders/records?from=start&text=nothing-like-this"
    with ThreadPoolExecutor(24) as pool:
        told = list(pool.map(lambda _: place.asked.ask(path), range(96)))
    assert {each.status for each in told} == {200, 503}
    assert "4 searches are under way" in next(each for each in told if each.status == 503).text
    assert place.asked.ask(path).status == 200


def test_configs_come_with_their_source(place: Place) -> None:
    """V6."""
    rows = {each["name"]: each for each in place.asked.page("/topics/orders/configs")["rows"]}
    assert (rows["retention.ms"]["value"], rows["retention.ms"]["source"]) == ("86400000", "topic")
    assert rows["cleanup.policy"]["source"] == "default"


def test_segments_tile_what_is_flushed_down_to_batches_that_are_held_against_their_crc(place: Place) -> None:
    """V6."""
    page = place.asked.page("/topics/orders/0")
    assert [page["segments"][0]["base"], page["segments"][-1]["end"]] == [0, page["marks"]["flushed"]]
    found = place.asked.page("/topics/orders/0/segments/0")
    assert found["findings"] == []
    assert found["batches"][0]["base"] == 0
    assert all(each["sound"] for each in found["batches"])
    assert found["segment"]["object"].startswith("segments/")
    place.asked.page("/topics/orders/records?partition=0&from=start")
    tiles = place.asked.page("/topics/orders/0")["segments"]
    assert tiles[0]["first_codec"] == "none"  # It is in the cache now.
    assert {each["first_codec"] for each in tiles} <= {"none", None}
    versions = place.asked.page("/topics/orders/0/manifests")["rows"]
    assert versions[-1]["changed"] == ["the first"]
    assert any("1 segments added" in each["changed"] for each in versions)
    assert place.asked.ask(f"/topics/orders/0/segments/{ORDERS + 1}").status == 404


def test_rounds_are_kept_with_their_bytes_and_their_time(place: Place) -> None:
    """V6."""
    before = metrics(place)["holdfast_wal_rounds_total"]
    page = place.asked.page("/wal")
    assert before <= page["rounds_all"] <= metrics(place)["holdfast_wal_rounds_total"]
    assert all(each["ms"] > 0 and each["size"] > 0 for each in page["rounds"])
    assert page["kept_size"] > 0
    assert sum(count for _, count in page["buckets"]) == page["fsync"]["count"]


def test_what_is_not_there_is_said_to_be_not_there(place: Place) -> None:
    """V6."""
    for path in ("/nothing", "/topics/nothing", "/topics/orders/9", "/topics/orders/x", "/static/x/app.js"):
        assert place.asked.ask(path).status == 404, path
    assert place.asked.ask("/", method="DELETE").status == 405


def test_a_change_is_on_a_stream_within_a_second(place: Place) -> None:
    """V4: as server-sent events, at the same address."""
    asked = urllib.request.Request(f"http://127.0.0.1:{place.port}/topics", headers={"Accept": "text/event-stream"})
    with urllib.request.urlopen(asked, timeout=10) as stream:
        assert stream.headers["Content-Type"] == "text/event-stream"
        first = json.loads(stream.readline().removeprefix(b"data: "))
        assert first["rows"][0]["name"] == "clicks"
        stream.readline()
        second = json.loads(stream.readline().removeprefix(b"data: "))  # Ages grow.
    assert 900 <= second["at_ms"] - first["at_ms"] <= 2500


def test_only_so_many_streams_are_open(place: Place) -> None:
    """V5: sixteen, and the next is told so; whoever leaves makes room. The test of V5."""
    asked = urllib.request.Request(f"http://127.0.0.1:{place.port}/wal", headers={"Accept": "text/event-stream"})
    streams = [urllib.request.urlopen(asked, timeout=10) for _ in range(16)]
    for each in streams:
        each.readline()
    told = place.asked.ask("/wal", Accept="text/event-stream")
    assert told.status == 503
    assert "16 pages are followed already" in told.json["error"]
    assert place.asked.ask("/wal").status == 200
    for each in streams:
        each.close()
    place.asked.wait_for("/wal", lambda _: _stream_status(place) == 200)


def test_no_more_streams_are_open_than_sixteen_although_all_come_at_once(place: Place) -> None:
    """V5: each has its place before its answer begins, and gives it back."""
    asked = f"GET /wal HTTP/1.1\r\nHost: 127.0.0.1:{place.port}\r\nAccept: text/event-stream\r\n\r\n".encode()

    def opened() -> int:
        links = [socket.create_connection(("127.0.0.1", place.port), 20) for _ in range(40)]
        for each in links:
            each.sendall(asked)
        told = [each.recv(12).decode() for each in links]
        for each in links:
            each.close()
        assert set(told) <= {"HTTP/1.1 200", "HTTP/1.1 503"}
        assert told.count("HTTP/1.1 200") <= 16
        return told.count("HTTP/1.1 200")

    for _ in range(6):
        wait_for(lambda: opened() == 16)  # At once also where one leaves while a piece is sent, which may take 30 s.


def _stream_status(place: Place) -> int:
    asked = urllib.request.Request(f"http://127.0.0.1:{place.port}/wal", headers={"Accept": "text/event-stream"})
    try:
        with urllib.request.urlopen(asked, timeout=10) as stream:
            stream.readline()
            return int(stream.status)
    except urllib.error.HTTPError as failure:
        return failure.code


def test_the_same_address_is_a_page_for_a_browser(place: Place) -> None:
    """V6: and every answer has what keeps other sites away."""
    for route in ROUTES:
        path = route.path.format(topic="orders", partition=0, base=0, offset=0, group="billing")
        told = place.asked.ask(path, Accept="text/html,application/xhtml+xml")
        assert (told.status, told.headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert "<script" in told.text
        assert "orders" not in told.text
    headers: Any = told.headers
    assert headers["content-security-policy"].startswith("default-src 'self'; frame-ancestors 'none'")
    assert headers["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in headers


def test_a_name_that_is_not_ours_is_not_answered(place: Place) -> None:
    """V2: whoever points their own name at this machine reads nothing."""
    for host in ("evil.example", f"evil.example:{place.port}", "127.0.0.1.evil.example", ""):
        assert place.asked.ask("/topics", Host=host).status == 421, host
    for host in (f"localhost:{place.port}", f"127.0.0.1:{place.port}", f"[::1]:{place.port}"):
        assert place.asked.ask("/topics", Host=host).status == 200, host


def found(place: Place, query: str, path: str = "/topics/orders/records") -> Any:
    return place.asked.page(f"{path}?{query}")


def at(page: Any) -> list[str]:
    return [f"{each['partition']}@{each['offset']}" for each in page["rows"]]


def test_records_are_found_by_what_is_known_of_them(place: Place) -> None:
    """V6: key, text, JSON path, header, offset, state; also across partitions."""
    assert at(found(place, "from=start&key=key-123")) == ["0@123", "2@61"]
    assert at(found(place, "from=start&key=key-123&partition=0")) == ["0@123"]
    assert at(found(place, "from=start&json=order=77&partition=0")) == ["0@77"]
    assert at(found(place, "from=start&header=trace=t-5")) == ["0@5"]
    assert at(found(place, "from=start&text=undecided+3")) == ["0@603"]
    assert at(found(place, "from=offset+10&partition=0&rows=2")) == ["0@10", "0@11"]
    assert len(at(found(place, "from=start&state=undecided"))) == LATE
    kept = found(place, "from=start&state=aborted", "/topics/payments/records")["rows"]
    assert [each["value"] for each in kept] == [f"aborted {number}" for number in range(4)]
    last = found(place, "partition=0")["rows"][-1]
    assert (last["key"], last["place"], last["state"]) == (f"late-{HELD - 1}", "write-ahead log", "")
    for wrong in ("from=x", "from=offset+x", "from=time+x", "state=x", "size=x", "rows=0", "cursor=x", "partition=9"):
        assert place.asked.ask(f"/topics/orders/records?{wrong}").status == 400, wrong


def test_a_search_goes_on_from_its_cursor(place: Place) -> None:
    """V6: every record once, in order, and then it says that it is at the end."""
    page = found(place, "from=start&partition=0&rows=200")
    seen = at(page)
    while not page["ended"]:
        page = found(place, f"partition=0&rows=200&cursor={page['cursor']}")
        seen += at(page)
    assert seen == [f"0@{number}" for number in range(ORDERS + LATE + HELD)]
    assert page["looked_at"]["records"] > 0


def test_time_is_looked_up_in_the_index(place: Place) -> None:
    """V6."""
    first = found(place, "from=offset+300&partition=0&rows=1")["rows"][0]
    assert found(place, f"from=time+{first['ms']}&partition=0&rows=1")["rows"][0]["ms"] >= first["ms"]
    assert at(found(place, "from=time+-1d&partition=0&rows=1")) == ["0@0"]


def test_one_record_is_told_whole(place: Place) -> None:
    """V6: as text and as bytes."""
    one = place.asked.page("/topics/orders/0/records/17")
    assert bytes.fromhex(one["raw"]).decode() == one["value"]
    assert json.loads(one["value"])["order"] == 17
    assert one["headers"] == [["trace", "t-17"]]
    assert place.asked.ask("/topics/orders/0/records/99999").status == 404


def test_a_timeline_is_in_the_order_of_time(place: Place) -> None:
    """V6: over all partitions of several topics, one key followed."""
    page = found(place, "topics=orders,payments,customers&from=start&rows=200", "/timeline")
    times = [each["ms"] for each in page["rows"]]
    assert times == sorted(times)
    assert {each["topic"] for each in page["rows"]} >= {"orders", "customers"}
    followed = found(place, "topics=customers,clicks&from=start&key=c5", "/timeline")["rows"]
    assert {(each["topic"], each["key"]) for each in followed} == {("customers", "c5"), ("clicks", "c5")}


def test_lag_is_in_records_and_in_time(place: Place) -> None:
    """V6: the age of the very record that is to be read next; the same lag as in metrics."""
    page = place.asked.page("/groups/billing")
    row = next(each for each in page["rows"] if each["partition"] == 0)
    next_one = place.asked.page(f"/topics/orders/0/records/{COMMITTED}")
    assert (row["committed"], row["lag"]) == (COMMITTED, ORDERS + LATE + HELD - COMMITTED)
    assert row["next_ms"] == next_one["ms"]
    assert abs(page["at_ms"] - next_one["ms"] - row["lag_s"] * 1000) < 1000
    labels = '{group="billing",partition="0",topic="orders"}'
    assert metrics(place)[f"holdfast_group_lag_records{labels}"] == row["lag"]
    listed = next(each for each in place.asked.page("/groups")["rows"] if each["group"] == "billing")
    assert (listed["group"], listed["lag"], listed["topics"]) == ("billing", page["lag"], ["orders"])


def test_transactions_say_what_they_hold_back(place: Place) -> None:
    """V6: the open ones first."""
    [first, second] = place.asked.page("/transactions")["rows"]
    assert (first["id"], first["state"], first["held_back"]) == ("billing-1", "Ongoing", LATE + HELD)
    assert first["partitions"][0]["first_offset"] == ORDERS
    assert (second["id"], second["state"]) == ("refunds-1", "CompleteAbort")


def test_the_store_is_told_by_calls_and_by_objects(place: Place) -> None:
    """V6: the numbers of metrics; what lies there, decoded, and nothing of users."""
    calls = {(each["operation"], each["kind"]): each["count"] for each in place.asked.page("/store")["calls"]}
    assert calls["put", "segments"] >= 1
    rows = place.asked.page("/store/objects?prefix=manifests/")["rows"]
    one = place.asked.page(f"/store/objects?name={rows[0]['name']}")
    assert json.loads(one["text"])["holdfast"] == "manifest"
    for wrong in ("prefix=auth/", "name=auth/newest.json", "name=cluster.json", "name=meta/../auth/x.json"):
        assert place.asked.ask(f"/store/objects?{wrong}").status in (400, 404), wrong
