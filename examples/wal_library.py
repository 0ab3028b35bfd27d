"""Kill -9 and come back: a child process appends to a write-ahead log, reports each ack, and is killed on the way.

The parent opens the log again and shows that every entry the child reported as durable is there, in order.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile

from holdfast.io.disk import RealDirectory
from holdfast.wal import LogId, Wal

ACKS_BEFORE_THE_KILL = 1_000


def append_for_ever(path: str) -> None:
    """The child: append, make durable, and only then say so."""
    wal = Wal.open(RealDirectory(path))
    index = wal.state.next_index
    while True:
        wal.append(LogId(1, index), [payload_of(index)])
        wal.sync()
        print(index, flush=True)
        index += 1


def payload_of(index: int) -> bytes:
    return f"entry {index}".encode()


def kill_in_the_middle(path: str) -> int:
    """Start the child, read its acks, kill it without warning; the number of entries it has acknowledged."""
    command = [sys.executable, __file__, path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        acked = 0
        for line in child.stdout:
            acked = int(line) + 1
            if acked == ACKS_BEFORE_THE_KILL:
                child.kill()  # SIGKILL: no handler runs, nothing is closed. What is left in the pipe is still read.
        print(f"killed process {child.pid} with SIGKILL; it had acknowledged {acked} entries")
    return acked


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="holdfast-demo-") as path:
        acked = kill_in_the_middle(path)
        with Wal.open(RealDirectory(path)) as wal:
            entries = [(log_id.index, bytes(payload)) for log_id, payload in wal.read(0, wal.state.next_index)]
    print(f"opened it again: {len(entries)} entries are there")
    assert entries == [(index, payload_of(index)) for index in range(len(entries))], "an entry is not what was written"
    assert len(entries) >= acked, "an acknowledged entry was lost"
    print(f"all {acked} acknowledged entries are there, in order, byte for byte")
    if len(entries) > acked:
        print(f"{len(entries) - acked} more were written but not yet acknowledged when the process died")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        append_for_ever(sys.argv[1])
    else:
        main()
