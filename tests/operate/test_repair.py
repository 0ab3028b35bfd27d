"""`holdfast repair`: what is lost is itemised first, nothing changes until exactly that is accepted, and then
everything that was not itemised is there."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.broker.inside import InsideBroker
from tests.broker.wire import Wire, batch, fetch, produce
from tests.log.log_world import read_all
from tests.operate.directory import (
    ENDS,
    SETTINGS,
    SIZE,
    append,
    content,
    expected,
    flip,
    in_broker,
    partition,
    read_orders,
    repair,
    run,
    serve,
    topic_folder,
)

from holdfast.broker.running import Opened
from holdfast.cluster.auth import set_user
from holdfast.cluster.auth_log import AuthLog
from holdfast.cluster.identity import read_cluster
from holdfast.io.chance import SeededChance
from holdfast.io.clock import SystemClock
from holdfast.io.objects.local.objects import LocalObjects
from holdfast.io.versions import VersionRetries
from holdfast.operate.place import topic_names
from holdfast.protocol.api import Key
from holdfast.security.logins.scram import make_verifier
from holdfast.security.secret import Secret
from holdfast.segment.manifest.load import load_manifest
from holdfast.types import PartitionId


def chunks(data: Path) -> list[Path]:
    return sorted((data / "wal").glob("*.wal"))


def home_of(data: Path, number: int) -> PartitionId:
    found: PartitionId = in_broker(data, lambda broker: _home(broker, number))
    return found


async def _home(broker: Opened, number: int) -> PartitionId:
    return partition(broker, number).home


def segments(data: Path, number: int) -> list[Path]:
    return sorted(topic_folder(data, number, "segments").glob("*.seg"))


def manifests(data: Path, number: int) -> list[Path]:
    return sorted(topic_folder(data, number, "manifests").glob("0*.json"))


def only_in(data: Path, chunk: Path) -> dict[int, set[int]]:
    """The offsets that this chunk of the write-ahead log has and no segment, by partition."""
    found: dict[int, set[int]] = {}
    for number in ENDS:
        stored = b"".join(each.read_bytes() for each in segments(data, number))
        there = re.findall(rb"orders-%d \d+ " % number, chunk.read_bytes())
        found[number] = {int(each.split()[1]) for each in there if each not in stored}
    return found


def lost(items: list[dict[str, Any]]) -> dict[int, set[int]]:
    """The offsets that are itemised as lost, by partition."""
    found: dict[int, set[int]] = {0: set(), 1: set(), 2: set()}
    for each in items:
        if each["kind"] in ("offsets", "diverged"):
            found[int(each["where"].rpartition("-")[2])] |= set(range(each["start"], each["end"]))
    return found


def check_repaired(data: Path) -> dict[int, set[int]]:
    """Accept what is listed; all that is not itemised must be there, as it was, and the result is sound."""
    before = content(data)
    code, items, summary = repair(data)
    assert code == 1
    assert not summary["repaired"]
    assert content(data) == before, "A look has changed something."
    code, again, done = repair(data, "--accept-loss", summary["token"])
    assert (code, again, done["repaired"]) == (0, items, True)
    gone = lost(items)
    found = read_orders(data)
    for number, end in ENDS.items():
        wanted = [each for each in expected(number, 0, end, SIZE) if each[0] not in gone[number]]
        assert found[str(number)] == wanted, f"partition {number}: {items}"
    assert repair(data)[0] == 0
    assert run("log", "verify", data)[0] == 0
    originals = [path for path in (data / "quarantine").rglob("*") if path.is_file()]
    kept = [path.read_bytes() for path in originals]
    for name, bytes_ in before.items():  # Never deleted: what is not where it was is in quarantine.
        if not name.endswith(("LOCK", "newest.json", "garbage/now", "garbage/believed.json")):
            assert ((data / name).exists() and (data / name).read_bytes() == bytes_) or bytes_ in kept, name
    return gone


def test_a_sound_directory_needs_no_repair(data: Path) -> None:
    """O2: nothing is found, nothing is changed."""
    before = content(data)
    code, items, summary = repair(data)
    assert (code, items, summary["token"]) == (0, [], None)
    assert content(data) == before


def test_a_damaged_frame_in_a_closed_chunk(data: Path) -> None:
    """O2: the broker refuses to start; one batch is lost, by its offset; those behind it stay at their offsets."""
    flip(chunks(data)[-3], 30_000)
    assert "damaged" in run("wal", "verify", data / "wal")[1]
    gone = check_repaired(data)
    assert sum(map(len, gone.values())) <= 1


def test_a_missing_chunk(data: Path) -> None:
    """O2: what only that chunk had is lost, by offsets; what is in segments is not."""
    chunk = max(chunks(data)[:-1], key=lambda each: len(only_in(data, each)[0]))
    only_there = only_in(data, chunk)
    assert only_there[0]
    chunk.unlink()
    assert check_repaired(data) == only_there


def test_a_missing_newest_chunk_is_told_from_its_marks(data: Path) -> None:
    """O2: without the newest chunk nothing says that there was more, unless a mark does: this is the limit of what
    one disk can tell of itself."""
    chunks(data)[-1].unlink()
    code, items, _ = repair(data)
    assert (code, items) == (0, [])


@pytest.mark.parametrize("position", [100, 5000, 20_000, -10, -60, -400])
def test_a_damaged_segment(data: Path, position: int) -> None:
    """O2: in its header, its batches, its index or its footer: at most the offsets near the damage are lost."""
    segment = segments(data, 1)[0]
    flip(segment, position if position > 0 else segment.stat().st_size + position)
    gone = check_repaired(data)
    assert gone[1] <= set(range(40))
    assert len(gone[1]) <= 1


def test_a_missing_segment(data: Path) -> None:
    """O2: its offsets are lost, those around it are not, and its offsets are never given again."""
    segments(data, 2)[0].unlink()
    segments(data, 1)[1].unlink()
    gone = check_repaired(data)
    assert gone == {0: set(), 1: set(range(40, 80)), 2: set(range(40))}


def test_a_damaged_newest_manifest_loses_nothing(data: Path) -> None:
    """O2: the segments that it listed are found in the store."""
    flip(manifests(data, 2)[-1], 300)
    assert check_repaired(data) == {0: set(), 1: set(), 2: set()}


def test_all_manifests_damaged(data: Path) -> None:
    """O2: the partition is put together from its segments and the write-ahead log."""
    for path in manifests(data, 1):
        flip(path, 300)
    assert check_repaired(data) == {0: set(), 1: set(), 2: set()}


def test_a_manifest_that_is_gone_and_its_segment_too(data: Path) -> None:
    """O2: the mark in the write-ahead log says how much there was, though nothing else does."""
    shutil.copytree(data, data.parent / "older")
    in_broker(data, _nothing)  # A clean stop flushes, purges, and so saves the marks.
    manifests(data, 2)[-1].unlink()
    segments(data, 2)[-1].unlink()
    gone = check_repaired(data)
    assert gone[2] == set(range(40, 80))


async def _nothing(_: Opened) -> None:
    return None


def test_many_damages_at_once(data: Path) -> None:
    """O2: everything is itemised together, and accepted together. The test of O2."""
    flip(chunks(data)[-2], 20_000)
    flip(segments(data, 1)[1], 9000)
    segments(data, 2)[1].unlink()
    flip(manifests(data, 1)[-1], 200)
    check_repaired(data)


def test_only_exactly_this_loss_is_accepted(data: Path) -> None:
    """O2: a token of other damage, or none, changes nothing."""
    segments(data, 2)[0].unlink()
    _, _, first = repair(data)
    segments(data, 2)[0].unlink()
    before = content(data)
    code, _, second = repair(data, "--accept-loss", first["token"])
    assert (code, second["repaired"]) == (1, False)
    assert second["token"] != first["token"]
    assert content(data) == before
    code, output = run("repair", data)
    assert code == 1
    assert "LOST  offsets [40, 80) of orders-2" in output
    assert f"--accept-loss {second['token']}" in output


def test_a_running_broker_is_not_repaired(data: Path) -> None:
    """O2, W1: its directory is locked."""

    async def try_it(_: Opened) -> tuple[int, str]:
        return run("repair", data)

    code, output = in_broker(data, try_it)
    assert code == 1
    assert "is in use by process" in output


def test_a_partition_that_was_set_aside_comes_back(data: Path) -> None:
    """O2: its manifest was damaged when the broker started, so its tail went to quarantine; the repair puts both
    together, and nothing is lost."""
    flip(manifests(data, 1)[-1], 300)
    assert b"is in quarantine" in read_orders(data)["1"][0][1]
    assert len(list((data / "quarantine").glob("*.tail"))) == 1
    assert read_orders(data)["0"] == expected(0, 0, 100, SIZE)
    assert check_repaired(data) == {0: set(), 1: set(), 2: set()}

    async def go_on(broker: Opened) -> None:
        await append(partition(broker, 1), 1, 5, SIZE)

    in_broker(data, go_on)
    assert read_orders(data)["1"] == expected(1, 0, 105, SIZE)


def test_clients_of_a_partition_that_is_set_aside_are_told_of_its_storage(data: Path) -> None:
    """O2, L3: whoever reads, writes or asks hears of the storage, not that there is no such partition."""
    flip(manifests(data, 1)[-1], 300)
    with InsideBroker(data, LocalObjects(data / "objects"), wal=SETTINGS.wal) as inside, Wire(inside.port) as wire:
        assert fetch(wire, "orders", 0, partitions=[1]).error_code == 56
        assert fetch(wire, "orders", 0, partitions=[0]).error_code == 0
        assert produce(wire, "orders", batch(b"x"), partition=1).error_code == 56
        wanted = [{"partition_index": 1, "current_leader_epoch": -1, "timestamp": -1}]
        topics = [{"name": "orders", "partitions": wanted}]
        [[found]] = [
            each.partitions
            for each in wire.ask(Key.LIST_OFFSETS, 7, replica_id=-1, isolation_level=0, topics=topics).topics
        ]
        assert found.error_code == 56


def test_the_way_from_start_to_start_by_the_sentences(data: Path) -> None:
    """O2: after a repair the partition takes records where it ended, in a higher epoch."""
    segments(data, 2)[1].unlink()
    home = home_of(data, 2)
    epoch = load_manifest(LocalObjects(data / "objects"), home).epoch
    _, _, summary = repair(data)
    repair(data, "--accept-loss", summary["token"])
    manifest = load_manifest(LocalObjects(data / "objects"), home)
    assert manifest.epoch > epoch
    assert manifest.flushed == 80

    async def go_on(broker: Opened) -> None:
        await append(partition(broker, 2), 2, 1, SIZE)

    in_broker(data, go_on)
    assert read_orders(data)["2"] == expected(2, 0, 40, SIZE) + expected(2, 80, 81, SIZE)


def test_a_store_from_before_the_topic_was_made(data: Path, tmp_path: Path) -> None:
    """O2, O4: the whole store is older than the log: the broker refuses to start, in one sentence; the repair names
    what is lost, and keeps the log's own part of it."""
    shutil.rmtree(data / "objects" / "meta")
    code, output = serve("--data", data)
    assert code == 1
    assert len([line for line in output.splitlines() if line.startswith("holdfast:")]) == 1
    assert "knows nothing of" in output
    assert "holdfast repair" in output
    code, items, summary = repair(data)
    assert {each["kind"] for each in items} == {"topic"}
    assert repair(data, "--accept-loss", summary["token"])[0] == 0
    in_broker(data, _nothing)
    assert list((data / "quarantine").rglob("*.wal"))


def test_a_quarantine_file_that_is_gone_is_a_loss(data: Path) -> None:
    """O2: what was in quarantine, and is not there any more, is itemised."""
    flip(manifests(data, 1)[-1], 300)
    assert b"is in quarantine" in read_orders(data)["1"][0][1]
    [file] = (data / "quarantine").glob("*.tail")
    file.unlink()
    _, items, summary = repair(data)
    [item] = [each for each in items if each["kind"] == "offsets"]
    assert item["where"].endswith(file.name)
    assert repair(data, "--accept-loss", summary["token"])[0] == 0
    assert read_orders(data)["1"] == expected(1, 0, 80, SIZE)


def test_another_cluster_s_store_is_nothing_to_repair(data: Path) -> None:
    """O1: one clear sentence, from the broker and from the repair; both ways round. The test of O1."""
    other = data.parent / "other"
    in_broker(other, _nothing)
    for wal, store in ((data, other), (other, data)):
        code, output = serve("--data", wal, "--store", store / "objects")
        assert code == 1
        assert "belongs to cluster" in output.splitlines()[-1]
        code, output = run("repair", wal, "--store", store / "objects")
        assert code == 1
        assert "another cluster's store" in output


def test_the_newest_metadata_is_damaged(data: Path) -> None:
    """O2: the version before it is taken; topics that only it knew get a name from their id, with all their records,
    and no producer id is handed out twice."""
    last_id = max(in_broker(data, _new_producer_id) for _ in range(3))
    versions = sorted((data / "objects" / "meta").glob("0*.json"))
    before = [path for path in versions if b"orders" not in path.read_bytes()]
    for path in versions[len(before) :]:
        flip(path, 200)
    code, items, summary = repair(data)
    assert code == 1
    assert {each["kind"] for each in items} == {"metadata"}
    assert repair(data, "--accept-loss", summary["token"])[0] == 0
    names = topic_names(LocalObjects(data / "objects"))
    [name] = [name for name in names.values() if name.startswith("recovered-")]

    async def read(broker: Opened) -> list[list[tuple[int, bytes]]]:
        return [await read_all(partition(broker, number, name)) for number in ENDS]

    assert in_broker(data, read) == [expected(number, 0, end, SIZE) for number, end in ENDS.items()]
    assert in_broker(data, _new_producer_id) > last_id
    assert repair(data)[0] == 0


async def _new_producer_id(broker: Opened) -> int:
    return await broker.context.producer_ids.next()


def test_metadata_that_knew_of_more_partitions_is_damaged(tmp_path: Path) -> None:
    """O2: the version before it has fewer partitions. Neither the new ones' records are lost, nor those of the others,
    which are in the log only."""
    live, data = tmp_path / "live", tmp_path / "data"

    async def grow(broker: Opened) -> None:
        await broker.context.topics.create("orders", 1, {})
        await append(partition(broker, 0), 0, 20, SIZE)
        await broker.context.topics.add_partitions("orders", 2)
        await append(partition(broker, 1), 1, 10, SIZE)
        shutil.copytree(live, data)

    in_broker(live, grow)
    flip(sorted((data / "objects" / "meta").glob("0*.json"))[-1], 200)
    _, items, summary = repair(data)
    assert {each["kind"] for each in items} == {"metadata"}
    assert repair(data, "--accept-loss", summary["token"])[0] == 0
    assert read_orders(data) == {"0": expected(0, 0, 20, SIZE), "1": expected(1, 0, 10, SIZE)}


def test_all_metadata_is_damaged(data: Path) -> None:
    """O2: nothing is known of the cluster but what lies in its store, and that is all there again."""
    for path in (data / "objects" / "meta").glob("0*.json"):
        flip(path, 150)
    _, _, summary = repair(data)
    assert repair(data, "--accept-loss", summary["token"])[0] == 0
    names = topic_names(LocalObjects(data / "objects"))
    recovered = [name for name in names.values() if name.startswith("recovered-")]
    assert len(recovered) == 3  # The topic of the test, and two of the broker's own.

    async def read(broker: Opened) -> list[list[list[tuple[int, bytes]]]]:
        logs = {name: broker.context.topics.get(name).logs for name in recovered}
        return [[await read_all(each) for each in found] for found in logs.values()]

    assert [expected(number, 0, end, SIZE) for number, end in ENDS.items()] in in_broker(data, read)
    assert repair(data)[0] == 0


def _users(data: Path) -> AuthLog:
    objects = LocalObjects(data / "objects")
    patience = VersionRetries(SystemClock(), SeededChance(7), lambda _: None)
    return AuthLog(objects, read_cluster(objects), "w", patience)


def test_users_and_rules_are_copied_checked_and_repaired(data: Path, tmp_path: Path) -> None:
    """X6, X7: a damaged version is told by verify, and repair goes back to the one before it and says so."""
    mechanism = "SCRAM-SHA-256"
    log = _users(data)
    for name in ("alice", "bob"):
        log.commit(set_user(name, make_verifier(mechanism, Secret("pw"), b"salt")))
    assert run("log", "verify", data)[0] == 0
    assert run("backup", data, tmp_path / "copy")[0] == 0
    assert run("restore", tmp_path / "copy", tmp_path / "again")[0] == 0
    assert _users(tmp_path / "again").value.users.keys() == {"alice", "bob"}
    newest = max((data / "objects" / "auth").glob("0*.json"))
    flip(newest, 200)
    code, output = run("log", "verify", data)
    assert (code, "auth/" in output) == (1, True), output
    code, items, summary = repair(data)
    assert code == 1
    [item] = [each for each in items if each["kind"] == "auth"]
    assert "look at them" in item["what"]
    assert repair(data, "--accept-loss", summary["token"])[0] == 0
    assert _users(data).value.users.keys() == {"alice"}
    assert run("log", "verify", data)[0] == 0
