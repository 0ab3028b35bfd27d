"""Where each event is: partition and offset, as they came with the acknowledgement."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from holdfast.demo.events import TOPIC, Events
from holdfast.errors import Corrupt

NOWHERE = -1


class Ledger:
    """By the event's number; -1 where nothing was acknowledged."""

    def __init__(self, events: Events) -> None:
        self.events = events
        self.partitions = np.full(events.count, NOWHERE, np.int64)
        self.offsets = np.full(events.count, NOWHERE, np.int64)

    @property
    def acked(self) -> int:
        return int(np.count_nonzero(self.offsets != NOWHERE))

    def note(self, values: Any, partitions: list[int], offsets: list[int]) -> None:
        """Acknowledgements, as the client was told of them."""
        numbers = self.events.numbers_of(values)
        if (numbers < 0).any() or (self.offsets[numbers] != NOWHERE).any() or len(np.unique(numbers)) < len(numbers):
            raise Corrupt("the broker acknowledged an event that was never sent, or one event twice")
        self.partitions[numbers] = partitions
        self.offsets[numbers] = offsets

    def write(self, path: Path) -> None:
        """The list that `holdfast audit --expect` takes: topic, partition, offset."""
        import pyarrow as pa
        from pyarrow import csv

        there = self.offsets != NOWHERE
        columns = {"topic": [TOPIC] * int(there.sum()), "p": self.partitions[there], "o": self.offsets[there]}
        options = csv.WriteOptions(include_header=False, delimiter=" ", quoting_style="none")
        csv.write_csv(pa.table(columns), path, options)
