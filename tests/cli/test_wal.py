"""`holdfast wal stat|dump|verify` on closed, live and damaged logs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from holdfast.cli.main import app
from holdfast.io.disk import RealDirectory
from holdfast.wal import LogId, Vote, Wal, WalSettings


def holdfast(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def fill(wal: Wal) -> None:
    wal.save_vote(Vote(2, 7))
    wal.append(LogId(1, 0), [b"a" * 100, b"b" * 100, b"c" * 100])
    wal.append(LogId(2, 3), [b"d" * 100])
    wal.truncate(3)
    wal.commit(LogId(1, 1))
    wal.purge(LogId(1, 0))
    wal.save_user_data(b"mine")
    wal.sync()


@pytest.fixture
def closed(tmp_path: Path) -> Path:
    with Wal.open(RealDirectory(tmp_path)) as wal:
        fill(wal)
    return tmp_path


def damage(path: Path, byte: int) -> str:
    """Change one byte of the oldest chunk."""
    chunk = min(path.glob("*.wal"))
    content = bytearray(chunk.read_bytes())
    content[byte] ^= 0xFF
    chunk.write_bytes(content)
    return chunk.name


def test_stat_tells_the_state(closed: Path) -> None:
    """W9: chunks, entries, state and size."""
    facts = json.loads(holdfast("wal", "stat", closed, "--json").stdout)
    assert facts.pop("on_disk_size") == sum(file.stat().st_size for file in closed.iterdir())
    assert facts == {
        "chunks": 1,
        "entries": 2,
        "closed": True,
        "vote": {"epoch": 2, "node": 7},
        "purged": {"epoch": 1, "index": 0},
        "committed": {"epoch": 1, "index": 1},
        "last": {"epoch": 1, "index": 2},
        "user_data_size": 4,
    }


def test_stat_reads_well_without_colour(closed: Path) -> None:
    """W9: the same for people."""
    done = holdfast("wal", "stat", closed)
    assert "\x1b[" not in done.stdout
    lines = dict(line.rsplit(maxsplit=1) for line in done.stdout.splitlines())
    assert (lines["entries"], lines["last"], lines["closed"], lines["vote"]) == ("2", "1:2", "yes", "2:7")


def test_dump_has_one_line_for_each_record_and_a_summary(closed: Path) -> None:
    """W9: position, kind, log ids, size and crc of every record."""
    heading, *lines, summary = holdfast("wal", "dump", closed).stdout.splitlines()
    assert heading.split()[:2] == ["position", "kind"]
    kinds = [line.split()[1] for line in lines]
    assert kinds == ["head", "vote", "append", "append", "truncate", "commit", "purge", "state", "padding", "marker"]
    assert "1:0 to 1:2" in lines[2]
    assert all("  ok " in line for line in lines)
    assert summary.startswith("10 records, ")
    assert summary.endswith(" 1 head, 1 vote, 2 append, 1 truncate, 1 commit, 1 purge, 1 state, 1 padding, 1 marker")


def test_dump_as_json_is_one_object_a_line(closed: Path) -> None:
    """W9: records tile the chunk, and talk stays off stdout."""
    done = holdfast("wal", "dump", closed, "--json")
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert [record["position"] for record in records[1:]] == [
        record["position"] + record["size"] for record in records[:-1]
    ]
    assert (records[3]["first"], records[3]["crc_ok"]) == ({"epoch": 2, "index": 3}, True)
    assert done.stderr.startswith("10 records, ")


def test_verify_says_that_a_sound_log_is_sound(closed: Path) -> None:
    """W7: and exits with 0."""
    done = holdfast("wal", "verify", closed)
    assert (done.exit_code, done.stdout) == (0, "sound: 1 chunk, 2 entries, last 1:2\n")
    assert json.loads(holdfast("wal", "verify", closed, "--json").stdout)["sound"] is True


def test_verify_says_where_acknowledged_bytes_are_damaged(closed: Path) -> None:
    """W7: with file, byte, expected and found; exit code 1."""
    appended = json.loads(holdfast("wal", "dump", closed, "--json").stdout.splitlines()[2])
    name = damage(closed, appended["byte"] + 60)
    done = holdfast("wal", "verify", closed, "--json")
    verdict = json.loads(done.stdout)
    assert (done.exit_code, verdict["sound"]) == (1, False)
    assert (verdict["file"], verdict["byte"]) == (name, appended["byte"])
    assert verdict["expected"].startswith("crc32c 0x")
    assert verdict["found"].startswith("crc32c 0x")
    done = holdfast("wal", "verify", closed)
    assert (done.exit_code, done.stdout) == (1, f"damaged: {verdict['damage']}\n")


def test_dump_shows_where_a_chunk_is_damaged(closed: Path) -> None:
    """W9: the listing goes on to the damage and says what is there."""
    appended = json.loads(holdfast("wal", "dump", closed, "--json").stdout.splitlines()[2])
    damage(closed, appended["byte"] + 60)
    records = [json.loads(line) for line in holdfast("wal", "dump", closed, "--json").stdout.splitlines()]
    assert [(record["kind"], record["crc_ok"]) for record in records[:3]] == [
        ("head", True),
        ("vote", True),
        ("damaged", False),
    ]
    assert records[2]["byte"] == appended["byte"]


def test_stat_of_a_damaged_log_is_a_failure_in_one_sentence(closed: Path) -> None:
    """W7: no figures are made up for a log that would not open."""
    name = damage(closed, 10)
    done = holdfast("wal", "stat", closed)
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith(f"holdfast: {name} is damaged at byte 0: expected ")


@pytest.mark.parametrize("command", ["stat", "dump", "verify"])
def test_a_live_log_can_be_looked_at(tmp_path: Path, command: str) -> None:
    """W9: without taking the lock, and without changing anything."""
    with Wal.open(RealDirectory(tmp_path)) as wal:
        fill(wal)
        before = {file.name: file.stat().st_size for file in tmp_path.iterdir()}
        done = holdfast("wal", command, tmp_path, "--json")
        assert done.exit_code == 0, done.output
        assert {file.name: file.stat().st_size for file in tmp_path.iterdir()} == before
        wal.append(LogId(2, 3), [b"still writable"])
        wal.sync()


def test_many_chunks_are_told_in_order(tmp_path: Path) -> None:
    """W5, W9: a log that rolled over is one log."""
    with Wal.open(RealDirectory(tmp_path), WalSettings(chunk_entries_max=2)) as wal:
        for index in range(10):
            wal.append(LogId(1, index), [b"x"])
        wal.sync()
    records = [json.loads(line) for line in holdfast("wal", "dump", tmp_path, "--json").stdout.splitlines()]
    assert [record["last"]["index"] for record in records if record["kind"] == "append"] == list(range(10))
    assert [record["kind"] for record in records].count("head") == 5
    assert [record["position"] for record in records] == sorted(record["position"] for record in records)


@pytest.mark.parametrize("command", ["stat", "dump", "verify"])
def test_a_directory_without_a_log_is_not_a_sound_one(tmp_path: Path, command: str) -> None:
    """W9: looking in the wrong place is said, not passed."""
    done = holdfast("wal", command, tmp_path)
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == f"holdfast: {tmp_path} holds no write-ahead log\n"
    assert list(tmp_path.iterdir()) == []
