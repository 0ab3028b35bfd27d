"""What a log's directory says, in a form that can be kept: every record, the state, and all entries."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from holdfast.io.disk import RealDirectory
from holdfast.wal import Wal
from holdfast.wal.inspect import RecordLine, dump


def listing(directory: RealDirectory) -> dict[str, Any]:
    """The dump of a directory, and what an open of a copy of it finds."""
    records = [_shown(line) for line in dump(directory)]
    return {"records": records, **opened(directory)}


def _shown(line: RecordLine) -> str:
    """Facts only: the words of a listing may change."""
    ignored = " ignored" if "ignored" in line.detail else ""
    return f"{line.chunk} {line.offset} {line.kind} {line.first} {line.last} {line.size} {line.round}{ignored}"


def opened(directory: RealDirectory) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as copy:
        for name in directory.names():
            (Path(copy) / name).write_bytes((Path(directory.path) / name).read_bytes())
        with Wal.open(RealDirectory(copy)) as wal:
            state = wal.state
            return {
                "clean": wal.opened.clean,
                "cut": list(wal.opened.cut) if wal.opened.cut else None,
                "state": [str(state.vote), str(state.last), str(state.committed), str(state.purged)],
                "user data": state.user_data.decode(),
                "entries": [
                    f"{entry.log_id} {bytes(entry.payload).decode()}" for entry in wal.read(state.first_index, 1 << 60)
                ],
            }
