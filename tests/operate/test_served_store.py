"""A data directory remembers its store: what was left behind by a move is not taken for it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.operate.directory import SIZE, expected, flip, read_orders, run, serve

from holdfast.catalog.store import find_store
from holdfast.cli.serve.workers import check_workers, worker_settings
from holdfast.client import Client
from holdfast.cluster.identity import CLUSTER, encode_cluster
from holdfast.cluster.served_store import (
    NAME,
    StoreElsewhere,
    chosen_store,
    read_served,
    recorded,
    write_served,
)
from holdfast.config import load
from holdfast.errors import Rejected
from holdfast.io.objects.local.objects import LocalObjects
from holdfast.record.build import build
from holdfast.record.records import Record
from holdfast.testing.process import RunningBroker


def refused(*words: object) -> str:
    code, output = run(*words)
    assert code == 1
    return output


def test_objects_that_a_move_has_left_behind_are_not_taken(data: Path, tmp_path: Path) -> None:
    """O4: every command and `serve` name the store that was served last, and take nothing else by themselves."""
    moved = tmp_path / "moved to"
    shutil.copytree(data / "objects", moved)
    with RunningBroker(data, environment={"HOLDFAST_SERVE_STORE": moved.as_uri()}) as broker:
        with Client(broker.bootstrap) as client:
            client.produce({("orders", 2): build([Record(None, b"since")])})
            client.flush_topic("orders")
        assert broker.stop() == 0
    told = f"{data} was last served with the store {moved}: give --store '{moved}'"
    assert told in refused("backup", data, tmp_path / "copy")
    assert told in refused("log", "stat", data)
    assert told in refused("repair", data)
    assert told in refused("user", "list", "--data", data)
    assert told in run("doctor", "--data", data, "--listen", "127.0.0.1:0")[1]
    code, output = serve("--data", data)
    assert code == 1
    assert told in output
    with pytest.raises(StoreElsewhere, match="give --store"):
        check_workers(load(None, {}, [f"serve.data_path={data}"]), 2)
    with pytest.raises(StoreElsewhere, match="give --path"):
        find_store(str(data))

    stranger = LocalObjects(tmp_path / "stranger")
    stranger.put_if_absent(CLUSTER, [encode_cluster("ab" * 16)])
    assert serve("--data", data, "--store", tmp_path / "stranger")[0] == 1
    assert read_served(data) == str(moved), "A store that a broker could not be opened with is written down."

    assert run("backup", data, tmp_path / "copy", "--store", moved)[0] == 0
    assert run("restore", tmp_path / "copy", tmp_path / "again")[0] == 0
    assert read_orders(tmp_path / "again")["2"] == [*expected(2, 0, 80, SIZE), (80, b"since")]


def test_a_directory_with_its_store_in_it_can_be_moved(tmp_path: Path) -> None:
    """O4: by whatever name its objects were given. One that was never served, or before this was written down, too."""
    data = tmp_path / "data"
    assert chosen_store(data, None) == str(data / "objects")
    with RunningBroker(data, options=["--store", (data / "objects").as_uri()], forks=True) as broker:
        assert broker.stop() == 0
    assert (data / NAME).exists()
    there = tmp_path / "there"
    data.rename(there)
    assert run("backup", there, tmp_path / "copy")[0] == 0
    settings = load(None, {}, [f"serve.data_path={there}", "serve.listen=127.0.0.1:9092"])
    assert f"serve.store={there / 'objects'}" in worker_settings(settings, 0, 1)


def test_a_store_is_written_down_by_one_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """O4: relative paths from wherever the broker was started, links, and URLs without what must stay secret."""
    data, other = tmp_path / "data", tmp_path / "other"
    data.mkdir()
    other.mkdir()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to(data)
    assert recorded(data, "other") == recorded(data, other.as_uri()) == str(other)
    assert recorded(data, "link/objects") == recorded(Path("link"), str(data / "objects")) == "objects"
    assert recorded(data, "s3://key:secret@bucket/a/b/") == "s3://bucket/a/b"
    write_served(data, "s3://bucket/a/b")
    assert read_served(data) == "s3://bucket/a/b"

    write_served(data, str(other))
    with pytest.raises(StoreElsewhere):
        chosen_store(data, None)
    (data / "objects").symlink_to(other)  # Moved, and left under its old name.
    assert chosen_store(data, None) == str(data / "objects")
    write_served(data, str(data / "objects"))
    assert chosen_store(data, None) == str(data / "objects")


def test_a_damaged_note_is_no_reason_to_take_the_wrong_store(tmp_path: Path) -> None:
    """O4: whoever names the store goes on, and a broker writes it anew."""
    write_served(tmp_path, "s3://bucket")
    flip(tmp_path / NAME, 80)
    with pytest.raises(Rejected, match=r"cannot be read: .* name it with --store"):
        chosen_store(tmp_path, None)
    assert chosen_store(tmp_path, "s3://bucket") == "s3://bucket"
    write_served(tmp_path, "s3://bucket")
    assert read_served(tmp_path) == "s3://bucket"
