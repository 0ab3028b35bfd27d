"""A broker under measurement: what its process uses, and what it asks of its store."""

from __future__ import annotations

import atexit
import os
import re
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from benchmarks.operate.load import NotAcknowledged, produce

from holdfast.testing.process import RunningBroker

_TICKS = os.sysconf("SC_CLK_TCK")
_SAID_COUNT = 20  # Lines of a broker that failed.
_HELD_BACK = re.compile(r"^holdfast_producers_held_back_seconds_total\{[^}]*\} (\S+)", re.MULTILINE)
_REQUESTS = re.compile(r"^holdfast_store_seconds_count\{[^}]*\} (\S+)", re.MULTILINE)


class Measured:
    """One broker with its metrics port, whose store requests can be counted."""

    def __init__(self, data: Path, settings: Sequence[str] = ()) -> None:
        options = [word for each in settings for word in ("--set", each)]
        self.broker = RunningBroker(data, options=["--metrics", "127.0.0.1:0", *options])
        atexit.register(self.broker.close)  # Also when a measurement fails.

    def start(self) -> float:
        """Start it; seconds until it serves."""
        began = time.monotonic()
        self.broker.start()
        return time.monotonic() - began

    def produce(self, topic: str, partitions: int, size: int) -> float:
        """Send so many bytes; seconds until all were acknowledged. If some are not, what the broker said is told."""
        try:
            return produce(self.broker.bootstrap, topic, partitions, size)
        except NotAcknowledged as failure:
            failure.add_note("\n".join(["the broker said last:", *self.broker.said[-_SAID_COUNT:]]))
            raise

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.broker.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def memory_mib(self) -> float:
        status = Path(f"/proc/{self.broker.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        assert found
        return int(found[1]) / 1024

    def file_handles(self) -> int:
        return len(os.listdir(f"/proc/{self.broker.pid}/fd"))

    def store_requests(self) -> int:
        return round(sum(map(float, _REQUESTS.findall(self._metrics()))))

    def _metrics(self) -> str:
        [said] = [line for line in self.broker.said if "metrics at " in line][-1:]
        url = said.rpartition(" ")[2]
        with urllib.request.urlopen(url, timeout=60) as answer:
            return str(answer.read().decode())

    def held_back_seconds(self) -> float:
        """How long producers had to wait for room, as the broker says."""
        return sum(map(float, _HELD_BACK.findall(self._metrics())))

    def recovery_seconds(self) -> float:
        """What the broker itself says that reading its write-ahead log took."""
        [said] = [line for line in self.broker.said if "recovered: " in line][-1:]
        found = re.search(r"bytes in ([0-9.]+) s", said)
        assert found
        return float(found[1])
