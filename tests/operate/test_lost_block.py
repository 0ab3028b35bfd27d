"""A lost block at the end of a silent broker's log: every command says so, and nothing is cut in silence."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest
from tests.operate.directory import append, expected, in_broker, partition, read_orders, repair, run, serve

from holdfast.broker.running import Opened
from holdfast.io.disk import RealDirectory
from holdfast.wal.format.record import BLOCK_SIZE
from holdfast.wal.inspect import dump


@pytest.fixture
def silent(tmp_path: Path) -> Path:
    """A directory of a broker that acknowledged 60 small records and was silent for a while when it was killed."""

    async def fill(broker: Opened) -> None:
        await broker.context.topics.create("orders", 1, {})
        await append(partition(broker, 0), 0, 60)
        await asyncio.to_thread(broker.context.logs._ground.journal._wal.wait_worker_idle, 10)
        shutil.copytree(tmp_path / "live", tmp_path / "data")

    in_broker(tmp_path / "live", fill)
    return tmp_path / "data"


def lose(data: Path, before_the_marker: int) -> None:
    *_, marker = dump(RealDirectory(data / "wal"))
    assert (marker.kind, marker.offset % BLOCK_SIZE) == ("marker", 0)
    with (data / "wal" / marker.chunk).open("rb+") as file:
        file.seek(marker.offset - before_the_marker * BLOCK_SIZE)
        file.write(bytes(BLOCK_SIZE))


def test_the_last_records_are_lost(silent: Path) -> None:
    """D10, O2: a start, `wal verify` and `repair` all say damage; repair asks before it gives the records up.
    The test of D10."""
    lose(silent, 1)
    assert "damaged" in run("wal", "verify", silent / "wal")[1]
    code, said = serve("--data", silent)
    assert (code, "damaged" in said) == (1, True)
    code, items, summary = repair(silent)
    assert (code, summary["repaired"]) == (1, False)
    assert "bytes" in {item["kind"] for item in items}
    code, _, summary = repair(silent, "--accept-loss", summary["token"])
    assert (code, summary["repaired"]) == (0, True)
    found = read_orders(silent)["0"]
    assert found == expected(0, 0, len(found))


def test_only_the_proof_is_lost(silent: Path) -> None:
    """D10: nothing acknowledged was in that block: all is sound, and all is there."""
    lose(silent, 0)
    assert run("wal", "verify", silent / "wal")[0] == 0
    assert repair(silent)[0] == 0
    assert read_orders(silent)["0"] == expected(0, 0, 60)
