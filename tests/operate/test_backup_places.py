"""A backup destroys nothing: its target is empty or a backup of the same cluster, and apart from its source."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka import Producer
from tests.operate.directory import SIZE, content, expected, in_broker, read_orders, run, topic_folder
from tests.operate.test_backup import read_all

from holdfast.errors import Rejected, Unavailable
from holdfast.io.disk import RealDirectory
from holdfast.io.objects.faulty import Call, FailBefore, FaultyObjects, WrongByte, once
from holdfast.io.objects.local.objects import LocalObjects
from holdfast.operate.backup.apart import check_apart
from holdfast.operate.backup.run import back_up
from holdfast.operate.data_lock import held
from holdfast.testing.process import RunningBroker


def refused(*words: object) -> str:
    """A command that must not do anything; what it said."""
    code, output = run(*words)
    assert code == 1, output
    return output


def test_beside_a_running_broker_nothing_but_a_backup_is_written_to(tmp_path: Path) -> None:
    """O4: onto itself, into itself, swapped, under another name, over another cluster, over somebody's files: each is
    refused in a sentence, and every acknowledged record is still there."""
    data, other, files, copy = (tmp_path / name for name in ("data", "other", "files", "copy"))
    in_broker(other, lambda _: asyncio.sleep(0))
    files.mkdir()
    (files / "letter.txt").write_text("dear")
    link = tmp_path / "link"
    link.symlink_to(data)
    before = content(other)
    with RunningBroker(data) as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap})
        wanted = [b"%d" % number for number in range(500)]
        for value in wanted:
            producer.produce("orders", value)
        assert producer.flush(60) == 0
        assert run("backup", data, copy)[0] == 0
        for target in (data, link, data / "objects", data / "new", link / "wal", tmp_path):
            assert "the same place, or one is inside the other" in refused("backup", data, target)
        for store in (data / "objects", (data / "objects").as_uri(), link / "objects" / "x", tmp_path):
            assert "the same place" in refused("backup", data, tmp_path / "new", "--backup-store", store)
        assert "is itself a backup" in refused("backup", copy, data)
        assert "the same place" in refused("restore", copy, copy / "new")
        for source in (other, data):
            assert "is no backup, and not empty" in refused("backup", source, data if source == other else other)
        assert "is no backup, and not empty" in refused("backup", data, files)
        assert "is no backup, and not empty" in refused("backup", data, tmp_path / "new", "--backup-store", files)
        assert "no whole backup" in refused("restore", data, tmp_path / "newer")
        assert not (tmp_path / "newer").exists()
        broker.kill()
        broker.start()
        assert sorted(read_all(broker, "orders", 1)) == sorted(wanted)
        assert broker.stop() == 0
    assert content(other) == before
    assert [path.name for path in files.iterdir()] == ["letter.txt"]


def test_a_backup_that_a_broker_runs_on_is_left_alone(data: Path, tmp_path: Path) -> None:
    """O4, W1: while it runs it holds the folder; afterwards its log has chunks that no backup wrote."""
    copy = tmp_path / "copy"
    assert run("backup", data, copy)[0] == 0
    with held(copy, "serve"):
        assert "is in use by process" in refused("backup", data, copy)
    with RunningBroker(copy) as broker:
        assert "a broker has run on it" in refused("backup", data, copy)
        assert broker.stop() == 0
    before = content(copy)
    assert "a broker has run on it" in refused("backup", data, copy)
    assert content(copy) == before


def test_nothing_goes_that_a_backup_did_not_write(data: Path, tmp_path: Path) -> None:
    """O4: somebody's files among the backup's stay, be they in its folder, its store or its quarantine."""
    copy = tmp_path / "copy"
    assert run("backup", data, copy)[0] == 0
    mine = [copy / "notes.txt", copy / "quarantine" / "mine.tail", copy / "objects" / "segments" / "mine.seg"]
    mine += [copy / "objects" / "meta" / "mine.json"]
    for path in mine:
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine")
    assert run("backup", data, copy)[0] == 0
    assert all(path.read_text() == "mine" for path in mine)
    assert read_orders(copy)["1"] == expected(1, 0, 100, SIZE)


def test_what_a_backup_that_was_broken_off_has_written_is_known(data: Path, tmp_path: Path) -> None:
    """O4: wherever it ends, the target is not whole, is still a backup, and is brought up to date by the next one:
    also what it had copied and the source has no more goes."""
    copy, again = tmp_path / "copy", tmp_path / "again"
    for puts in range(1, 12, 3):
        shutil.rmtree(copy, ignore_errors=True)
        left = [None] * puts

        def cut_off(call: Call, left: list[None] = left) -> FailBefore | None:
            return FailBefore() if call.kind == "put" and not (left and left.pop() is None) else None

        target = FaultyObjects(LocalObjects(copy / "objects"), cut_off)
        with pytest.raises(Unavailable):
            back_up(RealDirectory(data / "wal"), data, LocalObjects(data / "objects"), copy, target)
        assert "no whole backup" in refused("restore", copy, again)
        names = set(content(copy / "objects")) - {"backup.json"}
        assert len(names) >= puts
        assert names <= set(json.loads((copy / "backup.json").read_bytes())["objects"])
        for name in names:
            if name.startswith("manifests/"):  # As a deleted topic goes; the next one finds nothing of it.
                (data / "objects" / name).rename(tmp_path / "kept")
                assert "backed up" in run("backup", data, copy)[1]  # And says so where another version needs it.
                assert not (copy / "objects" / name).exists()
                (tmp_path / "kept").rename(data / "objects" / name)
                break
        assert run("backup", data, copy)[0] == 0
    assert run("restore", copy, again)[0] == 0
    assert read_orders(again)["1"] == expected(1, 0, 100, SIZE)


def test_a_backup_of_the_release_before_is_restored_and_not_written_to(data: Path, tmp_path: Path) -> None:
    """O4, O5: format 1 knows no list of what it wrote."""
    copy = tmp_path / "copy"
    assert run("backup", data, copy)[0] == 0
    note = json.loads((copy / "backup.json").read_bytes())
    (copy / "backup.json").write_text(json.dumps({"format": 1, "cluster": note["cluster"]}))
    (copy / "objects" / "backup.json").unlink()
    before = content(copy)
    assert "made by an earlier release: it can be restored" in refused("backup", data, copy)
    assert content(copy) == before
    assert run("restore", copy, tmp_path / "again")[0] == 0
    assert read_orders(tmp_path / "again")["0"] == expected(0, 0, 100, SIZE)
    (copy / "backup.json").write_text(json.dumps(note | {"format": 99}))
    assert "format version 99" in refused("restore", copy, tmp_path / "third")
    assert "format version 99" in refused("backup", data, copy)


def test_the_store_of_another_backup_is_not_taken(data: Path, tmp_path: Path) -> None:
    """O4: of the same cluster, even: the names that were written there are in the other's list."""
    stores = [tmp_path / "one-store", tmp_path / "two-store"]
    for name, store in zip(("one", "two"), stores, strict=True):
        assert run("backup", data, tmp_path / name, "--backup-store", store)[0] == 0
    before = content(stores[1])
    assert "another backup" in refused("backup", data, tmp_path / "one", "--backup-store", stores[1])
    assert content(stores[1]) == before


def test_a_restore_takes_nothing_out_of_a_store(data: Path, tmp_path: Path) -> None:
    """O4: a folder that holds no cluster may still hold somebody's files, under any name."""
    assert run("backup", data, tmp_path / "copy")[0] == 0
    mine = tmp_path / "mine" / "meta" / "mine.json"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    assert "is not empty" in refused("restore", tmp_path / "copy", tmp_path / "new", "--store", tmp_path / "mine")
    assert mine.read_text() == "mine"


def test_a_segment_is_checked_as_it_passes(data: Path, tmp_path: Path) -> None:
    """D8, D9: one that was misread is read again, one that is damaged is said, and a sound copy of it is kept."""
    folder = topic_folder(data, 2, "segments")
    segments = sorted(folder.glob("*.seg"))
    sound = segments[0].read_bytes()
    names = [str(path.relative_to(data / "objects")) for path in segments]
    source = FaultyObjects(LocalObjects(data / "objects"), once("get", names[0], WrongByte(300)))
    copied = LocalObjects(tmp_path / "copy" / "objects")
    made = back_up(RealDirectory(data / "wal"), data, source, tmp_path / "copy", copied)
    assert (made.damaged, copied.get(names[0])) == ({}, sound)
    segments[0].write_bytes(sound[:-1])  # Cut short: its size is another, so it is looked at again.
    code, output = run("backup", data, tmp_path / "copy")
    assert (code, f"{names[0]} is damaged: " in output) == (1, True)
    assert copied.get(names[0]) == sound


def test_one_inside_the_other_is_seen_by_any_name(tmp_path: Path) -> None:
    """O4: links, dots, URLs, prefixes of buckets; and places that only look alike are apart."""
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "l").symlink_to(tmp_path / "a" / "b")
    a = str(tmp_path / "a")
    same = [(a, f"{a}/"), (a, f"{a}/b/../new"), (f"{tmp_path}/l", a), (a, f"file://{a}/b/c")]
    same += [("s3://x/a", "s3://x/a/"), ("s3://x/a", "s3://x/a/b"), ("s3://x", "s3://x/a")]
    for here, there in same:
        for pair in ((here, there), (there, here)):
            with pytest.raises(Rejected, match="the same place"):
                check_apart([pair[0]], [pair[1]])
    for here, there in [(a, f"{a}b"), ("s3://x/a", "s3://x/ab"), ("s3://x", "gs://x"), (a, "s3://x"), ("s3://x", a)]:
        check_apart([here], [there])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
def test_a_folder_that_is_mounted_in_a_second_place_is_seen(tmp_path: Path) -> None:
    """O4: `mount --bind` of a folder deep in the source, and of one above it; in a name space of its own."""
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    (tmp_path / "m").mkdir()
    words = (
        "import sys; from holdfast.operate.backup.apart import check_apart; check_apart([sys.argv[1]], [sys.argv[2]])"
    )
    script = 'mount --bind "$1" "$2" || exit 77; exec "$3" -c "$4" "$5" "$6"'
    inside = [("a/b", "a", "m/new"), ("a", "a/b", "m"), ("a/b/c", "a", "m"), ("a/b", "a/b/c", "m/c/d")]
    for bound, source, target in [*inside, ("a/b", "a/x", "m/new")]:
        places = [tmp_path / bound, tmp_path / "m", sys.executable, words, tmp_path / source, tmp_path / target]
        command = ["unshare", "-m", "sh", "-c", script, "sh", *map(str, places)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 77 or done.stderr.startswith("unshare"):
            pytest.skip("mounting is not allowed here")
        assert ("the same place" in done.stderr) == ((bound, source, target) in inside), done.stderr


def test_a_copy_of_a_backup_made_with_any_tool_is_told_what_to_do(data: Path, tmp_path: Path) -> None:
    """O4: it is restored from, and brought up to date, as the backup itself; where it is refused, because it became a
    data directory or lost its marker, the sentence names the file that decides and says what to do with it."""
    copy, other, again = (tmp_path / name for name in ("copy", "other", "again"))
    assert run("backup", data, tmp_path / "backup")[0] == 0
    shutil.copytree(tmp_path / "backup", copy)
    shutil.copytree(tmp_path / "backup", other)
    assert run("restore", copy, tmp_path / "restored")[0] == 0
    assert run("backup", data, copy)[0] == 0
    with RunningBroker(copy) as broker:
        assert broker.stop() == 0
    said = refused("backup", copy, again)
    assert f"remove {copy / 'backup.json'} and try again" in said
    assert "backup.json" in refused("backup", data, copy)
    (copy / "backup.json").unlink()
    assert run("backup", copy, again)[0] == 0
    assert read_orders(again)["1"] == expected(1, 0, 100, SIZE)
    assert "backup.json" in refused("restore", copy, tmp_path / "never")
    assert "backup.json" in refused("backup", data, tmp_path / "never", "--backup-store", other / "objects")
    (other / "backup.json").unlink()
    assert "backup.json" in refused("backup", data, other)
