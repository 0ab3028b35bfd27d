"""What is only in rounds is seen from the store alone: without a broker, and while one writes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from tests.log.log_world import HOME, fill, in_loop
from tests.rounds.test_store_log import a_world
from tests.support.broker_process import COMMAND, BrokerProcess

from holdfast.client import Client
from holdfast.io.objects import Objects
from holdfast.log.rounds.errors import SeriesBroken
from holdfast.log.rounds.format import decode_round, encode_round
from holdfast.operate.wal_tails import read_round_tails
from holdfast.record.build import Record, build
from holdfast.segment.manifest.load import load_manifest


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
    """C4: `log stat`, `log verify`, `audit` of a bucket whose brokers are all gone; an archive says what it lacks."""
    store = tmp_path / "store"
    settings = ("wal.place=store", f"serve.store={store}", "subscribe.listen=none")
    with BrokerProcess(tmp_path / "b", settings=settings) as broker:
        with Client(broker.address) as client:
            client.create_topics({"t": 1})
            client.produce({("t", 0): build([Record(value=b"x")] * 7)})
        broker.kill()
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
    assert "7 acknowledged records of t are in no segment yet" in done.stderr


def said(*words: str) -> list[dict[str, object]]:
    done = subprocess.run([COMMAND, *words], capture_output=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]
