"""What is only in rounds is seen from the store alone: without a broker, and while one writes."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import pytest
from tests.cluster.leaders_world import TOPIC as LED
from tests.cluster.leaders_world import LeadersWorld
from tests.cluster.test_leaders import two_lives
from tests.cluster.test_many import leaders, many, start
from tests.cluster.test_pair import QUICK, Cluster
from tests.kill.numbers import TOPIC
from tests.log.log_world import HOME, fill, in_loop
from tests.rounds.test_store_log import a_world
from tests.support.broker_process import COMMAND, BrokerProcess
from tests.support.s3_server import S3Server, missing

from holdfast.client import Client
from holdfast.cluster.served_store import StoreElsewhere
from holdfast.io.objects import Objects
from holdfast.log.rounds.errors import SeriesBroken
from holdfast.log.rounds.format import decode_round, encode_round
from holdfast.operate.place import open_place
from holdfast.operate.wal_tails import read_round_tails
from holdfast.record.build import Record, build
from holdfast.segment.manifest.load import load_manifest
from holdfast.types import PartitionId


def ends(objects: Objects) -> list[int]:
    """The ends of the batches that are in no segment, as the store tells them."""
    tails = read_round_tails(objects)
    assert tails is not None
    assert not tails.problems
    return [each.header.end_offset for each in tails.of(HOME).above(load_manifest(objects, HOME).flushed)]


@in_loop
async def test_the_tail_of_a_live_log_is_seen_and_left_alone() -> None:
    """C4: all that is acknowledged, in order, also over several lives; whoever looks writes nothing."""
    world = a_world()
    assert read_round_tails(world.objects) is None
    partition = await (await world.open()).partition(HOME)
    await fill(partition, 3)
    before = world.names("")
    assert ends(world.objects) == [1, 2, 3]
    assert world.names("") == before
    await partition.flush()
    await fill(partition, 2, start=3)
    partition = await (await world.reopen()).partition(HOME)
    await fill(partition, 1, start=5)
    assert ends(world.objects) == [4, 5, 6]


@in_loop
async def test_a_round_that_is_missing_is_not_passed_over() -> None:
    """C4, D8: below a seal it is damage; above the last of a live log it may be on its way."""
    world = a_world()
    partition = await (await world.open()).partition(HOME)
    await fill(partition, 4)
    rounds = world.names("wal/")
    await world.reopen()
    world.objects.delete(rounds[-2])
    with pytest.raises(SeriesBroken):
        read_round_tails(world.objects)


@in_loop
async def test_rounds_behind_one_that_never_came_do_not_count() -> None:
    """C3, C4: they are not acknowledged; nor are those beyond a seal."""
    world = a_world()
    partition = await (await world.open()).partition(HOME)
    await fill(partition, 3)
    newest = world.names("wal/")[-1]
    objects = world.objects
    data, folder, number = objects.get(newest), newest[:-20], int(newest[-20:])
    found = decode_round(newest, data)
    stray = found.header._replace(number=number + 2)
    objects.put_if_absent(f"{folder}{number + 2:020}", encode_round(stray, found.rows))
    assert ends(objects) == [1, 2, 3]
    await world.reopen()
    assert ends(objects) == [1, 2, 3]


def test_tools_count_what_a_killed_broker_left_in_rounds(tmp_path: Path) -> None:
    """C4: `log stat`, `log verify`, `audit` of a bucket whose brokers are all gone; an archive has it."""
    store = tmp_path / "store"
    settings = ("wal.place=store", f"serve.store={store}", "subscribe.listen=none")
    with BrokerProcess(tmp_path / "b", settings=settings) as broker:
        with Client(broker.address) as client:
            client.create_topics({"t": 1})
            client.produce({("t", 0): build([Record(value=b"x")] * 7)})
        broker.kill()
    with pytest.raises(StoreElsewhere, match=f"give --store {store}"):
        open_place(str(tmp_path / "b"), None)
    for place in (str(store), str(tmp_path / "b")):
        more = [] if place == str(store) else ["--store", str(store)]
        [line] = said("log", "stat", place, *more, "--topic", "t", "--json")
        assert (line["tail_records"], line["log_end"]) == (7, 7)
        [line] = said("log", "verify", place, *more, "--json")
        assert line["sound"]
        assert line["tail_records"] >= 7
    [line] = said("audit", "--path", str(store), "--json")
    assert (line["offsets"], line["missing"], line["sound"]) == (7, 0, True)
    archive = [COMMAND, "archive", "t", str(tmp_path / "lake"), "--path", str(store)]
    done = subprocess.run(archive, capture_output=True, check=True, text=True)
    assert "7 rows added" in done.stdout
    assert "in no segment" not in done.stderr


@in_loop
async def test_a_partition_that_has_moved_and_come_back_is_seen_once() -> None:
    """C4, C12: what an earlier stay has left is flushed, there and elsewhere; the tail is with who leads it now."""
    world, first, second = await two_lives()
    home, made = PartitionId(LED, 0), 0
    for leader, other in ((first, second), (second, first), (first, second)):
        await leader.follow()
        await fill(leader.open[home], 3, start=made)
        made += 3
        if made < 9:
            await leader.topics.hand_over(home, other.life)
    tails = read_round_tails(world.objects)
    assert tails is not None
    assert [each.header.end_offset for each in tails.of(home).above(0)] == [7, 8, 9]
    assert load_manifest(world.objects, home).flushed == 6


@pytest.mark.parametrize("seed", range(6))
@in_loop
async def test_all_that_is_acknowledged_is_seen_without_any_of_them(seed: int) -> None:
    """C4: lives come, hand over, are ended and killed; whoever looks at the store in between finds all of it."""
    world = LeadersWorld(seed)
    await world.begin(faults=True)
    seen = 0
    for step in range(300):
        await world.happen()
        if step % 25 == 24:
            seen += check_seen(world)
    assert seen > 0
    world.fault_share = 0.0
    await world.check()


def check_seen(world: LeadersWorld) -> int:
    acked = set(world.acked)
    tails = read_round_tails(world.objects)
    assert tails is None or not tails.problems
    for home in {home for home, _ in acked}:
        at = flushed = load_manifest(world.objects, home).flushed
        for each in tails.of(home).above(flushed) if tails else ():
            assert each.header.base_offset <= at, "there is a gap in the tail"
            at = max(at, each.header.end_offset)
        assert max(offset for where, offset in acked if where == home) < at, "an acknowledged record is not seen"
    return len(acked)


def until_moved(cluster: Cluster, store: str, number: int) -> None:
    """Wished for until it is seen: the balance may want it elsewhere in the next moment."""
    deadline = time.monotonic() + 60
    while leaders(cluster, 1) != [number]:
        assert time.monotonic() < deadline, "a partition was not moved"
        subprocess.run([COMMAND, "cluster", "move", store, f"{TOPIC}:0", str(number)], check=True)
        time.sleep(0.2)


@pytest.mark.s3
def test_tools_see_what_brokers_left_that_gave_it_to_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C4, C12: a partition has moved there and back, with records behind each move; then all brokers are killed."""
    if reason := missing():
        pytest.skip(reason)
    with S3Server() as server:
        server.tell(monkeypatch)
        store = f"s3://{server.fresh_bucket()}"
        with many(tmp_path, *QUICK, store=store) as cluster:
            start(cluster, 1, 2)
            with Client(cluster.bootstrap, patience_s=60) as client:
                client.create_topics({TOPIC: 1})
                order = [1, 2] if leaders(cluster, 1) == [1] else [2, 1]
                for number in (order[0], order[1], order[0]):
                    until_moved(cluster, store, number)
                    producer = client.init_producer_id()
                    numbers = {"producer_id": producer.id, "producer_epoch": producer.epoch, "base_sequence": 0}
                    client.produce({(TOPIC, 0): build([Record(value=b"x")] * 4, **numbers)})
            for each in cluster.brokers.values():
                each.kill()
        [line] = said("log", "stat", store, "--topic", TOPIC, "--json")
        assert line["log_end"] == 12
        assert line["tail_records"] < 12, "it was flushed before it moved"
        assert said("log", "verify", store, "--json")[0]["sound"]
        [line] = said("audit", "--path", store, TOPIC, "--json")
        assert (line["offsets"], line["missing"], line["sound"]) == (12, 0, True)


def said(*words: str) -> list[dict[str, object]]:
    done = subprocess.run([COMMAND, *words], capture_output=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]
