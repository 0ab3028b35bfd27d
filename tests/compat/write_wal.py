"""Wrote the log directories below tests/compat/wal-<version>. They are kept for ever, and never written again.

A new format version gets a new folder: raise `holdfast.wal.format.record.FORMAT_VERSION`, run this,
and commit what it wrote.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))  # So that it runs as a file, too.

from tests.compat.wal_listing import listing

from holdfast.io.chance import SeededChance
from holdfast.io.clock import ManualClock
from holdfast.io.disk import RealDirectory
from holdfast.io.disk.simulated import SimulatedDisk
from holdfast.wal import LogId, Vote, Wal, WalSettings
from holdfast.wal.format.record import FORMAT_VERSION

FOLDER = Path(__file__).parent / f"wal-{FORMAT_VERSION}"
SETTINGS = WalSettings(chunk_size_max=4096, chunk_entries_max=16, zero_ahead_size=256, spares_max=1)


def payload(index: int) -> bytes:
    return b"entry %d, " % index * (1 + index * 7 % 29)


def fill(disk: SimulatedDisk) -> Wal:
    """All kinds of records, two lives, several chunks, one of them recycled. Not closed."""
    wal = Wal.open(disk, SETTINGS, clock=ManualClock(), chance=SeededChance(1), threaded=False)
    wal.save_vote(Vote(1, 3))
    for index in range(30):
        wal.append(LogId(1, index), [payload(index)])
    wal.flush()
    wal.append(LogId(2, 30), [payload(index) for index in range(30, 40)])
    wal.save_user_data(b"kept by whoever uses the log")
    wal.flush()
    wal.purge(LogId(1, 25))
    wal.commit(LogId(2, 33))
    wal.close()
    assert any(name.endswith(".spare") for name in disk.names())  # The next open uses it.
    wal = Wal.open(disk, SETTINGS, clock=ManualClock(), chance=SeededChance(2), threaded=False)
    wal.truncate(36)
    wal.append(LogId(4, 36), [payload(index) for index in range(36, 43)])
    wal.save_vote(Vote(4, 1))
    wal.flush()
    wal.append(LogId(5, 43), [b"", (b"in two ", b"pieces")])
    return wal


def write(name: str, disk: SimulatedDisk) -> None:
    directory = FOLDER / name
    directory.mkdir(parents=True)
    for file in disk.names():
        (directory / file).write_bytes(disk.content(file))
    expected: dict[str, Any] = listing(RealDirectory(directory))
    (FOLDER / f"{name}.json").write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    if FOLDER.exists():
        sys.exit(f"{FOLDER} is there already, and is never written again")
    closed = SimulatedDisk(SeededChance(1))
    fill(closed).close()
    write("closed", closed)
    torn = SimulatedDisk(SeededChance(1))
    wal = fill(torn)
    wal.flush()
    content = torn.content(wal.stat().open_chunk)
    content[wal.stat().open_chunk_size - 3] ^= 0x40  # The last frame did not arrive whole.
    write("torn", torn)


if __name__ == "__main__":
    main()
