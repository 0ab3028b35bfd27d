"""A stream reader called as Spark calls it, without Spark: offsets go through JSON, each run has its own reader."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

from pyspark import cloudpickle
from pyspark.sql.types import LongType, StringType, StructField, StructType

from holdfast.spark.source.options import parse
from holdfast.spark.source.stream import StreamReader

SCHEMA = StructType([StructField("topic", StringType()), StructField("offset", LongType())])
Row = tuple[str, int]


class Driven:
    """A stream with a checkpoint: `run` reads what is there, in micro-batches, and ends."""

    def __init__(self, path: Path | str, **options: str) -> None:
        self._options = {"path": str(path), "startingOffsets": "earliest", **options}
        self.offsets: list[str] = []  # The checkpoint's offset log.
        self.done = 0  # How many of its batches are committed.

    def reader(self, **options: str) -> StreamReader:
        return StreamReader(parse({**self._options, **options}, stream=True), SCHEMA)

    def run(self, **options: str) -> list[Row]:
        """The rows of all micro-batches of one run. A batch that was begun before is read again first."""
        reader = self.reader(**options)
        reader.prepareForTriggerAvailableNow()
        if not self.offsets:
            self.offsets = [json.dumps(reader.initialOffset())]
        rows = []
        while True:
            if self.done == len(self.offsets) - 1:
                start = json.loads(self.offsets[-1])
                end = json.dumps(reader.latestOffset(start, reader.getDefaultReadLimit()))
                if end == self.offsets[-1]:
                    return rows
                self.offsets.append(end)
            rows += self.read(reader, self.done)
            self.done += 1

    def read(self, reader: StreamReader, batch: int) -> list[Row]:
        """One micro-batch, planned on the driver and read by copies of the reader."""
        start, end = (json.loads(each) for each in self.offsets[batch : batch + 2])
        parts: list[Any] = pickle.loads(pickle.dumps(reader.partitions(start, end)))
        executor = pickle.loads(cloudpickle.dumps(reader))
        return [
            (row["topic"], row["offset"]) for part in parts for rows in executor.read(part) for row in rows.to_pylist()
        ]
