"""The commands on our pages that need more than a broker: a real S3 server, two brokers, two clusters that go on.

The lines are taken from the pages; only names are put in: buckets, ports, and addresses of this machine for others'.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.docs.test_shell_blocks import ROOT, lines, run
from tests.support.broker_process import COMMAND
from tests.support.s3_server import S3Server, missing

from holdfast.testing import free_port, running_broker

READING = "holdfast wait && holdfast consume orders --no-follow --values --from earliest"
needs_s3 = [pytest.mark.s3, pytest.mark.skipif(missing() is not None, reason=str(missing()))]


def indented(page: str, part: str) -> list[str]:
    """Commands of ours that stand alone below a heading."""
    text = (ROOT / page).read_text().partition(f"\n## {part}\n")[2].partition("\n## ")[0]
    return re.findall(r"^    (holdfast .*)$", text, re.MULTILINE)


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Server]:
    """With the variables that the guide names."""
    with S3Server() as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.endpoint)
        monkeypatch.setenv("AWS_REGION", server.region)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", server.access_key_id)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", server.secret_access_key)
        yield server


@contextlib.contextmanager
def started(folder: Path, line: str, log: str) -> Iterator[subprocess.Popen[bytes]]:
    """A command that goes on, until the block ends."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
    with (folder / log).open("wb") as said:
        process = subprocess.Popen([COMMAND, *shlex.split(line)[1:]], cwd=folder, env=clean, stdout=said, stderr=said)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
        try:
            assert process.wait(30) in (0, -signal.SIGKILL), (folder / log).read_text()
        except subprocess.TimeoutExpired:
            process.kill()
            raise


def until(holds: Callable[[], bool], seconds: float = 90.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.05)


@pytest.mark.usefixtures("s3")
class TestWithS3:
    pytestmark = needs_s3

    def test_without_a_disk_what_was_acknowledged_outlives_the_machine(self, tmp_path: Path, s3: S3Server) -> None:
        """The line of the guide, twice: the second time with an empty directory, after the first was killed."""
        [line] = indented("docs/guides/running.md", "Without a disk")
        line = line.replace("s3://bucket", f"s3://{s3.fresh_bucket()}")
        store = shlex.split(line)[shlex.split(line).index("--store") + 1]
        bootstrap = f"127.0.0.1:{free_port()}"
        line += f" --listen {bootstrap}"
        with started(tmp_path, line.replace("/tmp/holdfast", str(tmp_path / "one")), "log") as first:
            run(tmp_path, "holdfast wait && echo tea | holdfast produce orders", bootstrap)
            first.kill()
        assert "orders" in run(tmp_path, f"holdfast log stat {store} && holdfast log verify {store}")
        assert "sound: 100.0000 %" in run(tmp_path, f"holdfast audit --path {store} --master none")
        with started(tmp_path, line.replace("/tmp/holdfast", str(tmp_path / "two")), "log"):
            shown = run(tmp_path, READING, bootstrap)
        assert shown.split() == ["tea"]

    def test_two_machines_on_one_bucket(self, tmp_path: Path, s3: S3Server) -> None:
        """Both lines, two addresses of this machine for two machines: one leads, and when it is killed the other."""
        both = indented("docs/guides/running.md", "Several brokers on one store")
        store = f"s3://{s3.fresh_bucket()}"
        names = {"10.0.0.1:9092": f"127.0.0.1:{free_port()}", "10.0.0.2:9092": f"127.0.0.2:{free_port()}"}
        addresses = list(names.values())
        for number, line in enumerate(both):
            for name, address in names.items():
                line = line.replace(name, address)
            line = line.replace("s3://bucket", store).replace("/tmp/holdfast", str(tmp_path / str(number)))
            both[number] = f"{line} --set cluster.takeover_ms=2500 --set cluster.lease_ms=1500"
        with started(tmp_path, both[0], "one") as first:
            run(tmp_path, "holdfast wait && echo tea | holdfast produce orders", addresses[0])
            with started(tmp_path, both[1], "two"):
                until(lambda: run(tmp_path, f"holdfast cluster status {store}/prefix").count("127.0.0.") == 2)
                first.kill()
                began = time.monotonic()
                assert run(tmp_path, READING, addresses[1]).split() == ["tea"]
                assert time.monotonic() - began < 30  # Others are not waited for until they are forgotten, too.

    def test_a_backup_of_a_bucket_is_made_into_a_bucket_and_restored(self, tmp_path: Path, s3: S3Server) -> None:
        page = ROOT / "docs/guides/backup.md"
        asked = [each for each in lines(page) if "s3://" in each]
        assert len(asked) == 4
        stores = {f"s3://{name}": f"s3://{s3.fresh_bucket()}" for name in ("bucket", "other")}
        text = "\n".join(asked).replace("/backup/holdfast", str(tmp_path / "backup"))
        for name, bucket in stores.items():
            text = text.replace(name, bucket)
        into_directory, into_bucket, of_cluster, restoring = text.splitlines()
        store = shlex.split(restoring)[-1]
        bootstrap = f"127.0.0.1:{free_port()}"
        with started(tmp_path, f"holdfast serve --data ./data --store {store} --listen {bootstrap}", "log"):
            run(tmp_path, "holdfast wait && echo tea | holdfast produce orders", bootstrap)
            run(tmp_path, into_directory)
            run(tmp_path, into_bucket.replace(f"{tmp_path}/backup", f"{tmp_path}/second"))
        (tmp_path / "data").rename(tmp_path / "lost")
        elsewhere = f"s3://{s3.fresh_bucket()}/prefix"
        run(tmp_path, restoring.replace(store, elsewhere))
        with started(tmp_path, f"holdfast serve --data ./data --store {elsewhere} --listen {bootstrap}", "log"):
            shown = run(tmp_path, READING, bootstrap)
        assert shown.split() == ["tea"]
        several = f"s3://{s3.fresh_bucket()}/prefix"
        with started(tmp_path, f"holdfast serve --data ./one --store {several} --cluster --listen {bootstrap}", "log"):
            run(tmp_path, "holdfast wait && echo tea | holdfast produce orders", bootstrap)
            run(tmp_path, of_cluster.replace(store, several).replace("/backup/cluster", str(tmp_path / "cluster")))
        assert any((tmp_path / "cluster").rglob("*"))


def test_a_broker_moves_its_segments_to_a_larger_disk(tmp_path: Path) -> None:
    page = (ROOT / "docs/guides/upgrading.md").read_text()
    [block] = re.findall(r"^```sh\n(cp .*?)^```", page, re.MULTILINE | re.DOTALL)
    copying, serving = block.replace("/mnt/large/objects", str(tmp_path / "large")).splitlines()
    with running_broker(tmp_path / "data") as broker:
        broker.topic("orders", "tea")
    run(tmp_path, copying)
    bootstrap = f"127.0.0.1:{free_port()}"
    with started(tmp_path, f"{serving} --listen {bootstrap}", "log"):
        shown = run(tmp_path, READING, bootstrap)
    assert shown.split() == ["tea"]


def test_lines_for_machines_and_the_doors_of_the_guides(tmp_path: Path) -> None:
    """`serve` as three guides have it: JSON lines, metrics, a console; each says where it is."""
    words = "--log-format json", "--metrics 127.0.0.1:9095", "--console 127.0.0.1:9096"
    pages = "operating.md", "metrics.md", "console.md"
    for word, page in zip(words, pages, strict=True):
        assert any(word in each for each in lines(ROOT / "docs/guides" / page)), page
    given = " ".join(re.sub(r":909\d", ":0", word) for word in words)
    bootstrap = f"127.0.0.1:{free_port()}"
    with started(tmp_path, f"holdfast serve --data ./data {given} --listen {bootstrap}", "log"):
        run(tmp_path, "holdfast wait", bootstrap)
    events = {json.loads(line)["event"] for line in (tmp_path / "log").read_text().splitlines()}
    assert {"recovered", "serving", "metrics", "console", "stopped"} <= events


def test_subscriptions_of_two_places_and_from_a_cursor(tmp_path: Path) -> None:
    """Those that go on are stopped when they have said what was written; a cursor is what the one before told."""
    page = [each for each in lines(ROOT / "docs/guides/subscribe.md") if "--since earliest" not in each]
    [following] = [each for each in page if each.endswith("orders payments")]
    [logs] = [each for each in page if "--since 2h" in each]
    [resuming] = [each for each in page if "--cursor" in each]
    [both] = [each for each in page if "eu=" in each]
    ports = [free_port(), free_port()]
    with (
        running_broker(subscribe_listen=f"127.0.0.1:{ports[0]}") as one,
        running_broker(subscribe_listen=f"127.0.0.1:{ports[1]}") as other,
    ):
        for each in (one, other):
            for topic in ("orders", "payments", "logs-a"):
                each.topic(topic)
        addresses = both.replace("10.0.0.1:9094", f"127.0.0.1:{ports[0]}").replace(
            "10.0.1.1:9094", f"127.0.0.1:{ports[1]}"
        )
        near = f" --address 127.0.0.1:{ports[0]}"
        with (
            started(tmp_path, addresses, "both"),
            started(tmp_path, following + near, "following") as followed,
            started(tmp_path, logs + near, "logs"),
        ):
            number = 0
            while not all("tea" in (tmp_path / each).read_text() for each in ("both", "following", "logs")):
                number += 1
                assert number < 400
                for topic, each in (("orders", one), ("orders", other), ("logs-a", one)):
                    each.write(topic, f"tea {number}")
                time.sleep(0.2)
            followed.terminate()
            followed.wait(30)
            found = re.search(r"cursor\S* +(\S{20,})", (tmp_path / "following").read_text())
            assert found, (tmp_path / "following").read_text()
            one.write("orders", "after the cursor")
            resumed = re.sub(r"--cursor \S+", f"--cursor {found[1]}", resuming) + near
            assert "after the cursor" in run(tmp_path, resumed)


def test_syncs_that_go_on_carry_what_comes(tmp_path: Path) -> None:
    going = [each for each in lines(ROOT / "docs/guides/sync.md") if "--once" not in each and "--dry-run" not in each]
    assert len(going) == 2
    for number, line in enumerate(going):
        with running_broker() as one, running_broker() as other:
            one.topic("orders", "tea")
            line = line.replace("a.example:9092", one.bootstrap).replace("b.example:9092", other.bootstrap)
            with started(tmp_path, line, f"sync-{number}"):
                until(lambda broker=other: "orders" in run(tmp_path, "holdfast topic list", broker.bootstrap))  # type: ignore[misc]
                one.write("orders", "coffee")
                until(lambda broker=other: [each.value for each in broker.read("orders")] == [b"tea", b"coffee"])  # type: ignore[misc]
                if "--both" in line:
                    other.write("orders", "milk")
                    until(lambda broker=one: b"milk" in [each.value for each in broker.read("orders")])  # type: ignore[misc]
