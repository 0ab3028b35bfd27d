"""One process at a time changes a data directory, also where its write-ahead log is on the way to its place."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

from tests.operate.directory import (
    SIZE,
    content,
    expected,
    flip,
    in_broker,
    read_orders,
    repair,
    run,
    serve,
    topic_folder,
)

_PAUSING = """
import sys
from pathlib import Path

rename = Path.rename

def pausing(path, target):
    if path.name == "wal.repaired":
        print("paused", flush=True)
        sys.stdin.readline()
    return rename(path, target)

Path.rename = pausing

from holdfast.cli.main import main
main()
"""


def test_nobody_comes_between_the_last_two_steps_of_a_repair(data: Path, tmp_path: Path) -> None:
    """O2, W1: the old log is gone and the new one not yet in place: a broker that began now would begin an empty log,
    or take the last step itself. It is told who is at work; so are another repair and a restore."""
    assert run("backup", data, tmp_path / "copy")[0] == 0
    flip(sorted(topic_folder(data, 1, "manifests").glob("0*.json"))[-1], 300)
    _, _, summary = repair(data)
    words = [sys.executable, "-c", _PAUSING, "repair", str(data), "--accept-loss", summary["token"]]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as repairing:
        try:
            assert repairing.stdout is not None
            assert repairing.stdout.readline() == "paused\n"
            assert not (data / "wal").exists()
            holder = f"{data} is in use by process {repairing.pid} (repair)"
            for others in (["repair", data], ["restore", tmp_path / "copy", data, "--store", tmp_path / "bucket"]):
                code, output = run(*others)
                assert (code, holder in output) == (1, True)
            code, output = serve("--data", data)
            assert (code, holder in output) == (1, True)
            assert not (data / "wal").exists()
            out, _ = repairing.communicate("\n", timeout=60)
        finally:
            repairing.kill()
    assert repairing.returncode == 0
    assert "repaired; the originals are in" in out
    assert read_orders(data)["0"] == expected(0, 0, 100, SIZE)


def test_what_a_refused_start_leaves_does_not_stand_in_the_way_of_a_restore(data: Path, tmp_path: Path) -> None:
    """O4: that start's own words are to restore a backup. A log with anything in it, and what is no log, stays."""
    assert run("backup", data, tmp_path / "copy")[0] == 0
    new = tmp_path / "new"
    code, output = serve("--data", new, "--store", data / "objects")
    assert (code, "restore a backup" in output) == (1, True)
    assert any((new / "wal").iterdir())
    (tmp_path / "empty" / "wal").mkdir(parents=True)
    for number, target in enumerate((new, tmp_path / "empty")):
        store = tmp_path / f"bucket-{number}"
        code, output = run("restore", tmp_path / "copy", target, "--store", store)
        assert code == 0, output
        assert read_orders(target, str(store))["0"] == expected(0, 0, 100, SIZE)
    (tmp_path / "foreign" / "wal").mkdir(parents=True)
    (tmp_path / "foreign" / "wal" / "notes.txt").touch()
    in_broker(tmp_path / "other", lambda _: asyncio.sleep(0))
    for target in (new, tmp_path / "other", tmp_path / "foreign"):
        code, output = run("restore", tmp_path / "copy", target, "--store", tmp_path / "bucket-3")
        assert (code, "is there already" in output) == (1, True)
    assert (tmp_path / "foreign" / "wal" / "notes.txt").exists()


def test_a_log_elsewhere_is_not_restored_into(data: Path, tmp_path: Path) -> None:
    """O4: no log can be put in the place of a link. That is said before anything is copied: a store that was filled
    without its log could neither be served nor restored into again."""
    assert run("backup", data, tmp_path / "copy")[0] == 0
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "wal").symlink_to(tmp_path / "disk")
    for _ in range(2):
        code, output = run("restore", tmp_path / "copy", tmp_path / "new")
        assert (code, "is there already" in output) == (1, True)
        assert not content(tmp_path / "new" / "objects")
        (tmp_path / "disk").mkdir(exist_ok=True)  # Also one that leads to an empty directory.
