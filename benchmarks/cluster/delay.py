"""A child of the benchmark: a TCP proxy that stands for the way to a store.

    delay.py PORT TARGET MILLISECONDS

Half of the time goes by in each direction. Pieces follow one another: it is latency, and no limit to the bandwidth. For
each line on stdin it tells how many requests there were of each kind, as JSON: clients send a request in a piece of its
own.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import socket
import sys
from collections import Counter

_PIECE_SIZE = 1 << 18
_PIECES_MAX = 256  # Under way in one direction.
_REQUEST = re.compile(rb"(PUT|GET|HEAD|DELETE|POST) (\S+) HTTP/1")
_LIST = b"list-type="

counts: Counter[str] = Counter()


def count(piece: bytes) -> None:
    """Note a request that begins here."""
    found = _REQUEST.match(piece)
    if found is None:
        return
    method, path = found.groups()
    kind = "list" if _LIST in path else method.decode().lower()
    counts[kind] += 1
    if kind == "put" and b"/wal/" in path:
        counts["rounds"] += 1


async def _carry(source: asyncio.StreamReader, sink: asyncio.StreamWriter, seconds: float, *, counted: bool) -> None:
    loop = asyncio.get_running_loop()
    under_way: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(_PIECES_MAX)

    async def read() -> None:
        piece = b"-"
        while piece:
            try:
                piece = await source.read(_PIECE_SIZE)
            except OSError:
                piece = b""
            if counted:
                count(piece)
            await under_way.put((loop.time() + seconds, piece))

    reading = asyncio.ensure_future(read())
    try:
        while True:
            due, piece = await under_way.get()
            if (left := due - loop.time()) > 0:
                await asyncio.sleep(left)
            if not piece:
                return
            sink.write(piece)
            await sink.drain()
    except OSError:
        return
    finally:
        reading.cancel()
        with contextlib.suppress(OSError, RuntimeError):
            sink.close()


async def run(port: int, target: int, seconds: float) -> None:
    tasks: set[asyncio.Task[None]] = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            onward, back = await asyncio.open_connection("127.0.0.1", target)
        except OSError:
            writer.close()
            return
        for each in (writer, back):
            each.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for source, sink in ((reader, back), (onward, writer)):
            task = asyncio.ensure_future(_carry(source, sink, seconds / 2, counted=source is reader))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(accept, "127.0.0.1", port)
    print("ready", flush=True)
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while await lines.readline():
        print(json.dumps(counts), flush=True)
    server.close()  # Whoever started us has ended.


if __name__ == "__main__":
    asyncio.run(run(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]) / 1000))
