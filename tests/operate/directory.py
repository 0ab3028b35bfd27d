"""Real data directories for tests: written by a broker without its sockets, copied as if it had been killed."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from tests.log.log_world import batch, read_all
from typer.testing import CliRunner

from holdfast.broker.running import AllSettings, BrokerEnvironment, Opened, opened
from holdfast.broker.settings import BrokerSettings
from holdfast.cli.main import app
from holdfast.io.disk import RealDirectory
from holdfast.io.envelope import seal, unseal
from holdfast.io.objects.local.objects import LocalObjects
from holdfast.io.objects.open import open_objects
from holdfast.log.partition.partition import PartitionLog
from holdfast.log.settings import LogSettings
from holdfast.operate.place import topic_names
from holdfast.wal import WalSettings

CHUNK = 64 << 10
SIZE = 1000  # Of each record, where nothing else is said.
ENDS = {0: 100, 1: 100, 2: 80}  # Of what `write` writes, by partition.
SETTINGS = AllSettings(
    broker=BrokerSettings(offsets_topic_num_partitions=1),
    log=LogSettings(close_timeout_ms=8000),
    wal=WalSettings(chunk_size_max=CHUNK, zero_ahead_size=4096),
)
Records = dict[str, list[tuple[int, bytes]]]


def around(data: Path, store: str | None = None) -> BrokerEnvironment:
    objects = open_objects(store or str(data / "objects"))
    return BrokerEnvironment.real(RealDirectory(data / "wal"), objects, lambda: RealDirectory(data / "quarantine"))


def in_broker(data: Path, work: Callable[[Opened], Coroutine[Any, Any, Any]], store: str | None = None) -> Any:
    """Do something with a broker on a data directory, and stop it cleanly."""

    async def run() -> Any:
        async with opened(around(data, store), SETTINGS) as broker:
            return await work(broker)

    return asyncio.run(run())


def partition(broker: Opened, number: int, topic: str = "orders") -> PartitionLog:
    return broker.context.topics.get(topic).partition(number)


def value(topic: str, number: int, offset: int, size: int = 0) -> bytes:
    return f"{topic}-{number} {offset} ".encode().ljust(size, b".")


async def append(log: PartitionLog, number: int, count: int, size: int = 0, topic: str = "orders") -> None:
    """Append batches of one record that tell their offset."""
    for _ in range(count):
        await log.append(batch(value(topic, number, log.marks.log_end, size)))


def expected(number: int, start: int, end: int, size: int = 0) -> list[tuple[int, bytes]]:
    return [(offset, value("orders", number, offset, size)) for offset in range(start, end)]


def read_orders(data: Path, store: str | None = None) -> Records:
    """Everything in the topic, partition by partition; what cannot be read is there as the reason."""

    async def read(broker: Opened) -> Records:
        found: Records = {}
        for number, log in enumerate(broker.context.topics.get("orders").logs):
            found[str(number)] = await read_all(log) if isinstance(log, PartitionLog) else [(-1, str(log).encode())]
        return found

    found: Records = in_broker(data, read, store)
    return found


def write(data: Path, target: Path, *, flush: tuple[int, ...] = (1, 2), size: int = SIZE) -> None:
    """A killed broker's directory: partition 0 is all tail, 1 has two segments and a tail, 2 is all segments."""

    async def fill(broker: Opened) -> None:
        await broker.context.topics.create("orders", 3, {})
        logs = [partition(broker, number) for number in range(3)]
        for part in range(2):
            for number, log in enumerate(logs):
                await append(log, number, 40, size)
                if number in flush:
                    await log.flush()
            assert part in (0, 1)
        await append(logs[0], 0, 20, size)
        await append(logs[1], 1, 20, size)
        shutil.copytree(data, target)

    in_broker(data, fill)


def run(*words: object) -> tuple[int, str]:
    """A command; its exit code and what it said."""
    done = CliRunner().invoke(app, [str(word) for word in words])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.output


def serve(*options: object) -> tuple[int, str]:
    """`holdfast serve` as a process of its own, which is expected to refuse."""
    command = [sys.executable, "-m", "holdfast.cli", "serve", "--listen", "127.0.0.1:0", *map(str, options)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stderr


def repair(data: Path, *options: str) -> tuple[int, list[dict[str, Any]], dict[str, Any]]:
    """`holdfast repair --json`: the exit code, the items, the summary."""
    code, output = run("repair", data, "--json", *options)
    lines = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    assert lines, output
    return code, lines[:-1], lines[-1]


def flip(path: Path, position: int) -> None:
    with path.open("rb+") as file:
        file.seek(position)
        byte = file.read(1)[0]
        file.seek(position)
        file.write(bytes([byte ^ 0xFF]))


def topic_folder(data: Path, number: int, kind: str) -> Path:
    """Where the objects of a partition of `orders` are."""
    names = topic_names(LocalObjects(data / "objects"))
    [topic_id] = [topic_id for topic_id, name in names.items() if name == "orders"]
    return data / "objects" / kind / topic_id.hex / str(number)


def newer_envelope(data: bytes, kind: str) -> bytes:
    """The same object, sealed by a release of the future."""
    return seal(kind, 99, unseal("x", kind, 98, data))


def content(directory: Path) -> dict[str, bytes]:
    """All files but the lock, which says who has it."""
    files = (path for path in directory.rglob("*") if path.is_file() and path.name != "LOCK")
    return {str(path.relative_to(directory)): path.read_bytes() for path in files}
