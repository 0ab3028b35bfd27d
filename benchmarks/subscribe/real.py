"""The real thing: a broker process over events on local disk or on the S3 server, read in each way by a process."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.machine import CHECKOUT, around
from benchmarks.subscribe.data import SOURCES
from benchmarks.subscribe.place import a_broker, fill

from holdfast.io.objects.open import open_objects
from holdfast.testing import RunningBroker, free_port

sys.path.insert(0, str(CHECKOUT))
from tests.support.s3_server import S3Server, missing

BATCH_COUNT = 1_000
WAYS = ("stream", "refs", "refs_events", "stream_events", "plain", "kafka")
MOST = {"refs_events": 1_000_000, "stream_events": 1_000_000, "plain": 20_000}  # Slow ways read a part of the events.
LIVE = {
    "live.kafka": ("kafka", "live"),
    "live.one": ("subscription", "live"),
    "live.three": ("subscription", "live,idle-1,idle-2"),
}
LIVE_S, LIVE_ROUNDS = 5, 7  # Short and many: a round in which the machine stands still for a moment is no median.
CHILD_S = 600


def _child(module: str, *words: str) -> dict[str, Any]:
    command = [sys.executable, "-m", f"benchmarks.subscribe.{module}", *words]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, timeout=CHILD_S, check=False)
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@contextmanager
def _stores(directory: Path, *, s3: bool) -> Iterator[dict[str, tuple[str, dict[str, str]]]]:
    """By name: the URL, and the options that a client needs."""
    stores: dict[str, tuple[str, dict[str, str]]] = {"disk": (str(directory / "disk" / "objects"), {})}
    if not s3 or missing():
        yield stores
        return
    with S3Server() as server:
        stores["s3"] = (f"s3://{server.fresh_bucket()}/bench", dict(server.options))
        yield stores


def measure(
    directory: Path, events: int, rounds: int, tell: Callable[[str], None], *, s3: bool
) -> list[dict[str, Any]]:
    rows = _latency(directory / "live", rounds, tell)  # First: what fills the stores is written back long afterwards.
    with _stores(directory, s3=s3) as stores:
        for store, (url, options) in stores.items():
            tell(f"{store}: writing {events:,} events")
            data = directory / store
            asyncio.run(_write(data, url, options, events))
            rows += _measure(data, store, url, options, events, rounds, tell)
    return rows


async def _write(data: Path, url: str, options: dict[str, str], events: int) -> None:
    async with a_broker(data, open_objects(url, options or None)) as (context, _):
        await fill(context, events // len(SOURCES), BATCH_COUNT)


def _measure(
    data: Path, store: str, url: str, options: dict[str, str], events: int, rounds: int, tell: Callable[[str], None]
) -> list[dict[str, Any]]:
    grpc = f"127.0.0.1:{free_port()}"
    words = ["--set", f"subscribe.listen={grpc}", "--set", "log.retention.ms=-1"]
    if options:
        words += ["--store", url]
    environment = {
        "AWS_ENDPOINT_URL": options["endpoint"],
        "AWS_REGION": options["region"],
        "AWS_ACCESS_KEY_ID": options["access_key_id"],
        "AWS_SECRET_ACCESS_KEY": options["secret_access_key"],
        "AWS_ALLOW_HTTP": "true",
    } if options else {}  # fmt: skip
    os.environ.update(environment)
    client = [f"store_{key}={value}" for key, value in {"url": url, **options}.items()] if options else []
    rows = []
    with RunningBroker(data, options=words) as broker:
        given = [f"kafka={broker.bootstrap}", f"grpc={grpc}", *client]
        for number in range(rounds):
            for way in WAYS[:: -1 if number % 2 else 1]:
                tell(f"{store}, round {number + 1} of {rounds}: {way}")
                count = min(events // len(SOURCES) * len(SOURCES), MOST.get(way, events))
                rows.append(
                    {"round": number, "label": f"{store}.{way}", "size": 100, **around(),
                     **_child("reading", way, f"events={count}", *given)}
                )  # fmt: skip
    return rows


def _latency(data: Path, rounds: int, tell: Callable[[str], None]) -> list[dict[str, Any]]:
    """With a broker of its own, on a disk that has nothing left to write."""
    grpc = f"127.0.0.1:{free_port()}"
    rows = []
    with RunningBroker(data, options=["--set", f"subscribe.listen={grpc}"]) as broker:
        given = [f"kafka={broker.bootstrap}", f"grpc={grpc}", f"seconds={LIVE_S}"]
        _child("latency", "subscription", *given, "topics=live")  # What a broker does once is done.
        for number in range(LIVE_ROUNDS if rounds > 1 else 1):
            os.sync()
            for label, (way, topics) in LIVE.items():
                tell(f"latency, round {number + 1}: {label}")
                row = {"round": number, "label": label, "size": 0, **around()}
                rows.append(row | _child("latency", way, *given, f"topics={topics}"))
    return rows
