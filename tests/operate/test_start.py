"""A start that cannot succeed ends, and says why; one that is told to stop does; a half-done repair is finished."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from uuid import UUID

import pytest
from tests.operate.directory import ENDS, SIZE, expected, read_orders, serve

from holdfast.cluster.identity import CLUSTER, encode_cluster
from holdfast.io.disk import RealDirectory
from holdfast.io.objects.local.objects import LocalObjects
from holdfast.log.errors import NewLog
from holdfast.log.logs import Logs
from holdfast.testing.process import RunningBroker
from holdfast.types import PartitionId


def test_a_wrong_address_for_subscribers_ends_the_start(tmp_path: Path) -> None:
    """O1, S2: it is told in one sentence; nothing waits for a port that will never be there."""
    code, output = serve("--data", tmp_path, "--set", "subscribe.listen=nowhere")
    assert code == 1
    assert "'nowhere' is no address" in output


def test_a_repair_that_ended_before_its_last_rename_is_finished(data: Path) -> None:
    """O2: the repaired log is whole and has no name yet; a broker that began an empty one would hide its records."""
    (data / "wal").rename(data / "wal.repaired")
    with RunningBroker(data) as broker:
        assert broker.stop() == 0
        assert any("the repaired log is in place now" in line for line in broker.said)
    assert not (data / "wal.repaired").exists()
    assert read_orders(data) == {str(n): expected(n, 0, end, SIZE) for n, end in ENDS.items()}


@pytest.mark.parametrize("which", [signal.SIGTERM, signal.SIGINT])
def test_a_start_that_is_told_to_stop_does(tmp_path: Path, which: signal.Signals) -> None:
    """O4: the store takes a request and never answers it; the start does not wait for it, and the log is let go."""
    command = [sys.executable, "-m", "holdfast.cli", "serve", "--data", tmp_path, "--store", "s3://bucket"]
    with socket.create_server(("127.0.0.1", 0)) as store:
        here = {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{store.getsockname()[1]}", "AWS_REGION": "here"}
        here |= {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
        words = [*map(str, command), "--listen", "127.0.0.1:0"]
        with subprocess.Popen(words, env={**os.environ, **here}, stderr=subprocess.PIPE, text=True) as server:
            try:
                taken, _ = store.accept()
                server.send_signal(which)
                _, said = server.communicate(timeout=15)  # Far less than the store's own time-out.
            finally:
                server.kill()
                taken.close()
    assert (server.returncode, said.splitlines()[-1].partition("holdfast: ")[2]) == (
        0,
        "stopped before anybody was served",
    )
    RealDirectory(tmp_path / "wal").lock("a test").release()


def test_a_new_log_on_a_store_that_is_in_use_is_refused(data: Path, tmp_path: Path) -> None:
    """O4: what was acknowledged last is in a log that is not here: never silently. Accepted by name it goes on with
    what the store has; from then on the log is no longer new."""
    store = ["--store", str(data / "objects")]
    code, output = serve("--data", tmp_path / "new", *store)
    assert code == 1
    assert "the write-ahead log is new, but the store" in output
    assert "--take-over" in output
    for option in (["--take-over"], []):
        with RunningBroker(tmp_path / "new", options=[*store, *option]) as broker:
            assert broker.stop() == 0
        assert any("the write-ahead log is new" in line for line in broker.said) == bool(option)
    ends = {0: 0, 1: 80, 2: 80}
    wanted = {str(n): expected(n, 0, end, SIZE) for n, end in ends.items()}
    assert read_orders(tmp_path / "new", str(data / "objects")) == wanted


def test_a_first_start_that_was_cut_off_is_no_reason_to_refuse(tmp_path: Path) -> None:
    """O4: the store has the cluster's name and nothing else; with a partition in it, a log that is new is refused."""
    objects = LocalObjects(tmp_path / "objects")
    objects.put_if_absent(CLUSTER, [encode_cluster("ab" * 16)])

    async def open_and_close(folder: str) -> str:
        logs = await Logs.open(RealDirectory(tmp_path / folder), objects, background=False, take_over=False)
        await logs.partition(PartitionId(UUID(int=1), 0))
        await logs.close()
        return logs.identity.cluster

    for _ in range(2):
        assert asyncio.run(open_and_close("wal")) == "ab" * 16
    for _ in range(2):  # What a refused start leaves behind is no log of this store.
        with pytest.raises(NewLog):
            asyncio.run(open_and_close("new"))
