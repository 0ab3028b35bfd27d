"""`holdfast log stat|dump|verify` on closed, live and damaged partitions, in data directories and in stores."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from typer.testing import CliRunner, Result

from holdfast.cli.main import app
from holdfast.cluster.metadata import Topic, create_topic
from holdfast.cluster.metadata_log import MetadataLog
from holdfast.io.chance import SeededChance
from holdfast.io.clock import SystemClock
from holdfast.io.disk import RealDirectory
from holdfast.io.objects import Objects
from holdfast.io.objects.open import open_objects
from holdfast.io.versions import VersionRetries
from holdfast.log.logs import Logs
from holdfast.log.settings import LogSettings
from holdfast.record.build import build
from holdfast.record.records import Record
from holdfast.types import PartitionId

TOPIC, OTHER = UUID(int=7), UUID(int=9)
HOMES = [PartitionId(TOPIC, 0), PartitionId(TOPIC, 1), PartitionId(OTHER, 0)]
START_MS = 1_700_000_000_000
COUNT = 10  # Records of a batch.


def holdfast(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["log", *map(str, arguments)])


def json_lines(*arguments: object) -> list[dict[str, Any]]:
    done = holdfast(*arguments, "--json")
    assert done.exit_code == 0, done.output
    return [json.loads(line) for line in done.stdout.splitlines()]


def batch(number: int) -> bytearray:
    """Every batch has another codec than the one before it, and is the next of one producer."""
    first = number * COUNT
    records = [Record(b"key", b"value %d" % (first + each), START_MS + first + each) for each in range(COUNT)]
    return build(records, codec=number % 5, producer_id=5, producer_epoch=0, base_sequence=first)


async def fill(data: Path, store: Objects | None = None) -> Logs:
    """Three partitions: 40 batches of each in several segments, 5 more in the tail."""
    objects = store or open_objects(str(data / "objects"))
    settings = LogSettings(segment_size_max=2000)
    logs = await Logs.open(RealDirectory(data / "wal"), objects, settings, background=False)
    for home in HOMES:
        partition = await logs.partition(home)
        await asyncio.gather(*(partition.append(batch(number)) for number in range(40)))
        while await partition.flush():
            pass
        await asyncio.gather(*(partition.append(batch(number)) for number in range(40, 45)))
    return logs


def live(data: Path, look: Callable[[Logs], Awaitable[None] | None], store: Objects | None = None) -> None:
    """Look while the logs are open."""

    async def run() -> None:
        logs = await fill(data, store)
        done = look(logs)
        if done is not None:
            await done
        await logs.close()

    asyncio.run(run())


@pytest.fixture
def closed(tmp_path: Path) -> Path:
    """A data directory whose logs were closed: nothing is left in the tails."""
    live(tmp_path, lambda logs: None)
    return tmp_path


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    """A data directory as it is after the process was killed: taken as a copy while the logs are open."""
    live(tmp_path / "first", lambda logs: copy(tmp_path / "first", tmp_path / "copy"))
    return tmp_path / "copy"


def copy(source: Path, target: Path) -> None:
    shutil.copytree(source, target)


def segments(data: Path, home: PartitionId = HOMES[0]) -> list[Path]:
    return sorted((data / "objects" / home.segments).iterdir())


def manifests(data: Path, home: PartitionId = HOMES[0]) -> list[Path]:
    return sorted((data / "objects" / home.manifests).glob("0*.json"))


def flip(path: Path, position: int) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= 0xFF
    path.write_bytes(content)


def problems(place: object, *options: object) -> list[dict[str, Any]]:
    """What `verify` finds wrong; it must say the same to people."""
    done = holdfast("verify", place, *options, "--json")
    verdict = json.loads(done.stdout)
    assert (done.exit_code, verdict["sound"]) == ((1, False) if verdict["problems"] else (0, True)), done.output
    told = holdfast("verify", place, *options).stdout.splitlines()
    assert len(told) == len(verdict["problems"]) + 1
    for line, problem in zip(told, verdict["problems"], strict=False):
        assert line.startswith(f"{problem['verdict']}: {problem['name']}")
        assert problem["what"] in line
        assert problem["position"] is None or f" {problem['position']}: " in line
    found: list[dict[str, Any]] = verdict["problems"]
    return found


# stat


def test_stat_tells_the_marks_of_a_live_log(tmp_path: Path) -> None:
    """L6: log start, flushed, the end of the tail, segments, bytes, records, epochs and times, without a lock."""

    def look(logs: Logs) -> None:
        facts = json_lines("stat", tmp_path)
        assert [(each["topic_id"], each["partition"]) for each in facts] == [(str(t), p) for t, p in HOMES]
        assert facts[0] | {"bytes": 0, "tail_bytes": 0, "segments": 0, "manifest_version": 0} == {
            "topic": None,
            "topic_id": str(TOPIC),
            "partition": 0,
            "log_start": 0,
            "flushed": 400,
            "log_end": 450,
            "segments": 0,
            "bytes": 0,
            "records": 400,
            "tail_batches": 5,
            "tail_bytes": 0,
            "tail_records": 50,
            "epochs": [{"epoch": 0, "start": 0}],
            "first_timestamp": START_MS,
            "last_timestamp": START_MS + 449,
            "manifest_version": 0,
        }
        assert facts[0]["bytes"] == sum(path.stat().st_size for path in segments(tmp_path))
        assert facts[0]["segments"] == len(segments(tmp_path)) > 2
        assert facts[0]["tail_bytes"] == sum(len(batch(number)) for number in range(40, 45))

    live(tmp_path, look)


def test_stat_follows_a_moved_log_start(closed: Path) -> None:
    """L6: records that are deleted are not counted any more."""

    async def delete() -> None:
        logs = await Logs.open(RealDirectory(closed / "wal"), open_objects(str(closed / "objects")))
        await (await logs.partition(HOMES[0])).delete_records(450)
        await logs.close()

    asyncio.run(delete())
    facts = json_lines("stat", closed, "--topic", TOPIC, "--partition", 0)[0]
    assert (facts["log_start"], facts["flushed"], facts["segments"], facts["records"]) == (450, 450, 0, 0)
    assert (facts["first_timestamp"], facts["last_timestamp"]) == (None, None)
    assert holdfast("stat", closed, "--partition", 0).stdout.splitlines()[1].split()[-2:] == ["-", "-"]


def test_stat_reads_well_without_colour(closed: Path) -> None:
    """L6: one line for each partition, nothing cut off."""
    done = holdfast("stat", closed)
    heading, *lines = done.stdout.splitlines()
    assert "\x1b[" not in done.stdout
    assert heading.split()[:6] == ["topic", "topic", "id", "partition", "log", "start"]
    assert [line.split()[:6] for line in lines] == [["-", str(t), str(p), "0", "450", "450"] for t, p in HOMES]
    assert lines[0].split()[-2:] == ["2023-11-14T22:13:20.000Z", "2023-11-14T22:13:20.449Z"]


def test_an_unclean_stop_shows_as_an_epoch_in_the_tail(killed: Path) -> None:
    """L6: the epoch of a tail counts before any manifest says it."""

    async def go_on() -> None:
        logs = await Logs.open(RealDirectory(killed / "wal"), open_objects(str(killed / "objects")), background=False)
        await (await logs.partition(HOMES[0])).append(batch(45))
        (facts,) = json_lines("stat", killed, "--topic", TOPIC, "--partition", 0)
        assert facts["epochs"] == [{"epoch": 0, "start": 0}, {"epoch": 1, "start": 450}]
        assert facts["log_end"] == 460
        await logs.close()

    asyncio.run(go_on())


@pytest.mark.parametrize(
    ("options", "count"), [([], 3), (["--topic", TOPIC], 2), (["--partition", 0], 2), (["--topic", OTHER.hex], 1)]
)
def test_topic_and_partition_choose(closed: Path, options: list[object], count: int) -> None:
    """L6: all partitions, those of one topic, or one of each."""
    assert len(json_lines("stat", closed, *options)) == count


def test_a_store_alone_shows_all_but_the_tail(tmp_path: Path) -> None:
    """L6: a bucket needs no data directory; what only the write-ahead log has is not made up."""
    store = open_objects(f"memory://{tmp_path.name}")

    def look(logs: Logs) -> None:
        for place in (store.url, f"memory://{tmp_path.name}"):
            facts = json_lines("stat", place)
            assert [(each["flushed"], each["log_end"], each["tail_records"]) for each in facts] == [
                (400, None, None)
            ] * 3
            assert {each["kind"] for each in json_lines("dump", place)} == {"segment"}
            assert problems(place) == []
        assert json_lines("stat", tmp_path, "--store", store.url)[0]["log_end"] == 450

    live(tmp_path, look, store)


def test_a_store_in_a_directory_can_be_named_by_path_or_url(closed: Path) -> None:
    """L6: the same store, however it is named."""
    objects = closed / "objects"
    assert json_lines("stat", objects) == json_lines("stat", objects.as_uri())


# dump


def test_dump_has_one_line_for_each_segment_and_tail(tmp_path: Path) -> None:
    """L2: the segments tile from log start to flushed, the tail goes on there."""

    def look(logs: Logs) -> None:
        for home in HOMES:
            lines = json_lines("dump", tmp_path, "--topic", home.topic_id, "--partition", home.partition)
            assert [each["kind"] for each in lines] == ["segment"] * len(segments(tmp_path, home)) + ["tail"]
            assert [each["base"] for each in lines] == [0, *(each["end"] for each in lines[:-1])]
            assert (lines[-1]["base"], lines[-1]["end"], lines[-1]["batches"]) == (400, 450, 5)

    live(tmp_path, look)


def test_dump_of_batches_shows_every_batch_with_its_place(tmp_path: Path) -> None:
    """L2: batches tile their segment, in offsets and in bytes; those of the tail are named by their entry."""

    def look(logs: Logs) -> None:
        lines = json_lines("dump", tmp_path, "--topic", TOPIC, "--partition", 1, "--batches")
        batches = [each for each in lines if each["kind"] == "batch"]
        assert [(each["base"], each["end"]) for each in batches] == [(n * 10, n * 10 + 10) for n in range(45)]
        assert [each["size"] for each in batches] == [len(batch(number)) for number in range(45)]
        assert [each["codec"] for each in batches[:5]] == ["none", "gzip", "snappy", "lz4", "zstd"]
        assert all(each["crc_ok"] and each["records"] == COUNT for each in batches)
        assert [each["base_sequence"] for each in batches] == [each["base"] for each in batches]
        assert (batches[44]["producer_id"], batches[44]["leader_epoch"]) == (5, 0)
        (first, second), tail = batches[:2], batches[40:]
        assert (first["position"], second["position"]) == (44, 44 + first["size"])
        assert [each["entry"] for each in tail] == list(range(tail[0]["entry"], tail[0]["entry"] + 5))

    live(tmp_path, look)


def test_dump_for_people_names_the_partition_and_says_how_many(closed: Path) -> None:
    """L2: one line each, however wide the terminal is."""
    first, heading, *lines, summary = holdfast("dump", closed, "--topic", OTHER, "--batches").stdout.splitlines()
    assert first == f"topic {OTHER} partition 0: log start 0, flushed 450, log end 450, epochs 0@0"
    assert heading.split()[:3] == ["kind", "base", "end"]
    count = len(segments(closed, HOMES[2]))
    assert summary == f"{count} segments, 1 tail, 45 batches"
    assert sum(line.startswith("segment ") for line in lines) == count
    assert all("  ok   2023-11-14T" in line for line in lines if line.startswith("batch "))


def test_dump_goes_on_behind_a_damaged_batch(closed: Path) -> None:
    """L2: what is wrong is a line of its own, and the bad batch is marked."""
    before = [
        each for each in json_lines("dump", closed, "--partition", 0, "--batches") if each["topic_id"] == str(TOPIC)
    ]
    flip(segments(closed)[1], 44 + 70)
    after = json_lines("dump", closed, "--topic", TOPIC, "--partition", 0, "--batches")
    assert [each for each in after if each["kind"] != "problem"] == [
        each | ({"crc_ok": False} if not other.get("crc_ok", True) else {})
        for each, other in zip(before, [each for each in after if each["kind"] != "problem"], strict=True)
    ]
    assert sum(each["kind"] == "problem" for each in after) == 2
    assert "PROBLEM" in holdfast("dump", closed, "--topic", TOPIC, "--partition", 0, "--batches").stdout


# verify


def test_a_sound_log_is_sound_closed_live_and_killed(closed: Path, killed: Path, tmp_path: Path) -> None:
    """L2: nothing is wrong where nothing is wrong."""
    assert holdfast("verify", closed).stdout.startswith("sound: 3 partitions, ")
    assert json.loads(holdfast("verify", killed, "--json").stdout)["tail_records"] == 150
    found: list[dict[str, Any]] = []
    live(tmp_path / "live", lambda logs: found.extend(problems(tmp_path / "live")))
    assert found == []


def test_everything_is_looked_at(closed: Path) -> None:
    """L2: a verdict says of how much it is one."""
    verdict = json.loads(holdfast("verify", closed, "--json").stdout)
    files = [path for home in HOMES for path in segments(closed, home)]
    assert (verdict["partitions"], verdict["segments"], verdict["records"]) == (3, len(files), 1350)
    assert (verdict["batches"], verdict["bytes"]) == (135, sum(path.stat().st_size for path in files))


def test_every_byte_of_a_segment_counts(closed: Path) -> None:
    """L2: whichever byte of a segment is changed, it is found, with the segment's name and a place not behind it."""
    path = segments(closed)[1]
    content = path.read_bytes()
    for position in [*range(0, len(content), 97), *range(len(content) - 300, len(content), 13)]:
        flip(path, position)
        found = json.loads(holdfast("verify", closed, "--partition", 0, "--topic", TOPIC, "--json").stdout)["problems"]
        assert found, position
        assert all(each["name"].endswith(path.name) for each in found)
        path.write_bytes(content)


def test_a_damaged_batch_is_named_by_position_and_offset(closed: Path) -> None:
    """L2: the interval whose crc is wrong, and the batch in it."""
    path = segments(closed)[0]
    flip(path, 44 + 100)
    interval, damaged = problems(closed)
    assert interval["name"] == damaged["name"] == f"{HOMES[0].segments}{path.name}"
    assert (interval["position"], damaged["position"]) == (44, 44)
    assert interval["what"].startswith("the crc of bytes 44 to ")
    assert damaged["what"] == "the crc of the batch at offset 0 is wrong"


def test_a_changed_leader_epoch_is_found_though_no_batch_crc_covers_it(closed: Path) -> None:
    """L2: offset and epoch of a batch lie outside its own crc."""
    flip(segments(closed)[0], 44 + 15)
    (found,) = problems(closed)
    assert found["what"].startswith("the crc of bytes 44 to ")


def test_a_missing_segment_is_found(closed: Path) -> None:
    """L2: the manifest lists it, the store does not have it."""
    path = segments(closed)[1]
    path.unlink()
    (found,) = problems(closed)
    assert found["name"].endswith(path.name)
    assert "is not in the store" in found["what"]
    assert found["verdict"] == "lost"


@pytest.mark.parametrize("size", [-1, 1])
def test_a_segment_that_is_too_short_or_too_long_is_found(closed: Path, size: int) -> None:
    """L2: the manifest knows how many bytes there are."""
    path = segments(closed)[1]
    content = path.read_bytes()
    path.write_bytes(content[:size] if size < 0 else content + b"!")
    found = problems(closed)
    assert found[0]["what"] == f"it has {len(content) + size} bytes, the manifest says {len(content)}"


def test_two_segments_with_their_names_exchanged_are_found(closed: Path) -> None:
    """L2: a sound segment in the place of another one is not the one the manifest means."""
    one, two = segments(closed)[:2]
    one.rename(one.parent / "aside")
    two.rename(one)
    (one.parent / "aside").rename(two)
    assert {each["name"].rpartition("/")[2] for each in problems(closed)} >= {one.name, two.name}


def test_a_damaged_manifest_is_found_and_the_others_are_checked(closed: Path) -> None:
    """L2: one partition that cannot be read does not hide another."""
    path = manifests(closed)[-1]
    flip(path, 200)
    flip(segments(closed, HOMES[2])[0], 44 + 100)
    first, *others = problems(closed)
    assert first["name"].endswith(path.name)
    assert all(each["name"].startswith(HOMES[2].segments) for each in others)
    assert len(others) == 2


def test_a_gap_between_store_and_write_ahead_log_is_found(killed: Path) -> None:
    """L2: a store older than the log's purge point: offsets are in no segment and in no tail."""

    async def go_on() -> None:
        logs = await Logs.open(RealDirectory(killed / "wal"), open_objects(str(killed / "objects")), background=False)
        opened = [await logs.partition(home) for home in HOMES]  # A tail that nobody opens pins the log.
        await logs.flush_all()
        logs.purge()
        await opened[0].append(batch(45))
        # The purge has freed a chunk: its file must be gone before the copy, not in the middle of it.
        await asyncio.to_thread(logs._ground.journal._wal.wait_worker_idle, 10)
        copy(killed, killed.parent / "later")
        await logs.close()

    asyncio.run(go_on())
    later = killed.parent / "later"
    assert problems(later) == []
    assert json_lines("stat", later, "--topic", TOPIC)[0]["log_end"] == 460
    manifests(later)[-1].unlink()
    (found,) = problems(later)
    assert found["name"] == "the write-ahead log"
    assert found["what"] == f"partition {TOPIC.hex}/0 goes on at offset 450 where 400 is expected"


def test_a_partition_that_only_the_write_ahead_log_knows_is_found(killed: Path) -> None:
    """L2: acknowledged batches without a manifest are not a partition that was never there."""
    shutil.rmtree(killed / "objects" / HOMES[2].manifests)
    (found,) = problems(killed)
    assert (
        found["what"] == f"it has batches of partition {HOMES[2].path.rstrip('/')}, which has no manifest in the store"
    )


def test_damage_to_the_write_ahead_log_is_found_beside_a_sound_store(killed: Path) -> None:
    """L2: the tail is a part of the log."""
    (chunk,) = (killed / "wal").glob("*.wal")
    flip(chunk, 300)
    (found,) = problems(killed)
    assert found["name"] == "the write-ahead log"
    assert found["what"].startswith(f"{chunk.name} is damaged at byte ")
    done = holdfast("stat", killed)
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith(f"holdfast: {chunk.name} is damaged at byte ")


def test_a_write_ahead_log_beside_another_clusters_store_is_found(closed: Path, tmp_path: Path) -> None:
    """L2: offsets of two clusters do not continue one another."""
    live(tmp_path / "other", lambda logs: None)
    found = problems(closed, "--store", tmp_path / "other" / "objects")
    assert "it belongs to cluster " in found[0]["what"]


def test_offsets_that_another_leader_wrote_too_are_found(killed: Path) -> None:
    """L2: the tail of a broker whose partition was taken over was acknowledged, and is in no segment."""

    async def take_over() -> None:
        objects = open_objects(str(killed / "objects"))
        logs = await Logs.open(RealDirectory(killed.parent / "elsewhere"), objects, background=False)
        await (await logs.partition(HOMES[0])).append(batch(40))
        await logs.close()

    asyncio.run(take_over())
    diverged, *_ = problems(killed)
    assert diverged["name"] == "the write-ahead log"
    assert diverged["what"] == f"another leader wrote offsets [400, 450) of partition {TOPIC.hex}/0, too"


def test_a_deleted_topic_is_left_out_and_said(tmp_path: Path) -> None:
    """L2: its objects are going, so what is missing of it is no fault."""

    async def look(logs: Logs) -> None:
        await logs.delete_topic(TOPIC)
        assert [each["topic_id"] for each in json_lines("stat", tmp_path)] == [str(OTHER)]
        done = holdfast("verify", tmp_path)
        assert (done.exit_code, done.stderr) == (0, f"topic {TOPIC} is deleted, and left out here\n")

    live(tmp_path, look)


# The face, and wrong places


@pytest.mark.parametrize("command", ["stat", "dump", "verify"])
def test_every_command_has_an_example(command: str) -> None:
    """L6: help shows how to use it."""
    assert f"holdfast log {command}" in holdfast(command, "--help").stdout.split("Examples:")[1]


@pytest.mark.parametrize("command", ["stat", "dump", "verify"])
def test_a_wrong_place_is_said_in_one_sentence_and_not_made(tmp_path: Path, command: str) -> None:
    """L6: looking in the wrong place must not pass for a sound, empty one."""
    missing = tmp_path / "missing"
    for place in (missing, missing.as_uri()):
        done = holdfast(command, place)
        assert (done.exit_code, done.stdout) == (1, "")
        assert done.stderr.startswith(f"holdfast: {missing} is not a directory")
    done = holdfast(command, tmp_path.as_uri())
    assert (done.exit_code, done.stderr) == (1, f"holdfast: {tmp_path.as_uri()} holds no partitions\n")
    assert list(tmp_path.iterdir()) == []


def test_topics_have_names_where_a_broker_keeps_them(closed: Path) -> None:
    """L6: a topic can be asked for by its name, and is shown with it."""
    name_topic(closed / "objects", Topic("orders", TOPIC, 2))
    assert {each["topic"] for each in json_lines("stat", closed)} == {"orders", None}
    assert [each["topic_id"] for each in json_lines("stat", closed, "--topic", "orders")] == [str(TOPIC)] * 2
    assert holdfast("dump", closed, "--topic", "orders").stdout.startswith("topic orders partition 0: ")
    done = holdfast("stat", closed, "--topic", "bestellungen")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == "holdfast: there is no topic bestellungen, and it is no topic id\n"


def name_topic(store: Path, topic: Topic) -> None:
    """What a broker does when a topic is made."""
    objects = open_objects(str(store))
    cluster = json.loads(objects.get("cluster.json"))["cluster"]
    patience = VersionRetries(SystemClock(), SeededChance(1), lambda _: None)
    MetadataLog(objects, cluster, "broker", patience).commit(create_topic(topic))


def test_a_partition_that_is_not_there_is_said(closed: Path) -> None:
    """L6: nothing found is not the same as nothing wrong."""
    done = holdfast("verify", closed, "--topic", UUID(int=1), "--partition", 3)
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.endswith(f"/objects holds no topic {UUID(int=1)} partition 3\n")


def test_nothing_is_changed_by_looking(closed: Path) -> None:
    """L6: not a byte, not a name."""
    before = {path: path.stat().st_mtime_ns for path in closed.rglob("*")}
    for command in (["stat"], ["dump", "--batches"], ["verify"]):
        assert holdfast(*command, closed).exit_code == 0
    assert {path: path.stat().st_mtime_ns for path in closed.rglob("*")} == before
